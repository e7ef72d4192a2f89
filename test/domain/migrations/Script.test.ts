import { assert, describe, it } from "vitest"
import { type HistoryKeeper } from "../../../src/domain/migrations/History.ts"
import {
  failedStatement,
  keptBefore,
  lineAt,
  type MigrationScript,
  migrationScript,
  offsetOf,
  recordedStatements,
  type ScriptProblem
} from "../../../src/domain/migrations/Script.ts"

const made = (text: string, keeper: HistoryKeeper = "own") => {
  const script = migrationScript(text, keeper)
  assert.notProperty(script, "problem", JSON.stringify(script))
  return script as MigrationScript
}
const refused = (text: string, keeper: HistoryKeeper = "own") => {
  const script = migrationScript(text, keeper)
  assert.property(script, "problem", text)
  return script as ScriptProblem
}

describe("migrationScript", () => {
  it("leaves a file unchanged", () => {
    const text = "create table a ();\n\nselect $1;\ndo $$ begin perform 1; end $$"
    assert.deepInclude(made(text), { text, inTransaction: true })
    assert.strictEqual(made("").text, "")
    assert.deepStrictEqual(made("-- nothing\n;;").pieces, [])
  })

  it("reads only the first line for the no-transaction marker", () => {
    for (const first of ["-- svc: no transaction", "--svc:no-transaction\r", "  -- SVC: No Transaction  "]) {
      assert.isFalse(made(`${first}\nvacuum`).inTransaction, first)
    }
    assert.isTrue(made("\n-- svc: no transaction\nvacuum").inTransaction)
    assert.isTrue(made("-- svc: no transactions\nvacuum").inTransaction)
  })

  it("ends Drizzle's statements at its breakpoints, at the same positions", () => {
    const text = "create table a ()\n--> statement-breakpoint\ncreate table b ()"
    const script = made(text, "drizzle")
    assert.deepStrictEqual(
      script.pieces.map((piece) => piece.text),
      ["create table a ()", "create table b ()"]
    )
    assert.strictEqual(script.text.length, text.length)
    assert.deepStrictEqual(
      script.parts.map((part) => [part.text, text.slice(part.offset, part.offset + part.text.length)]),
      [
        ["create table a ()\n", "create table a ()\n"],
        ["\ncreate table b ()", "\ncreate table b ()"]
      ]
    )
    assert.strictEqual(made(text).pieces.length, 1)
  })

  it("accepts BEGIN and COMMIT around the whole file", () => {
    const script = made("Begin Work;\ncreate table a ();\nEND;\n")
    assert.strictEqual(script.text, "          ;\ncreate table a ();\n   ;\n")
    assert.strictEqual(script.pieces.length, 1)
    made("start transaction; select 1; commit")
  })

  it.each([
    "select 1;\ncommit;\nselect 2",
    "begin isolation level serializable; select 1; commit",
    "begin; select 1; rollback",
    "begin; select 1; commit; begin; select 2; commit",
    "select 1;\n\nrollback",
    "select 1; prepare transaction 'x'",
    "select 1; end"
  ])("sends %j as one text, outside a transaction of the runner's", (text) => {
    for (const keeper of ["own", "supabase", "prisma"] as const) {
      const script = made(text, keeper)
      assert.deepInclude(script, { text, inTransaction: false, controls: true })
      assert.deepStrictEqual(script.parts, [{ text, offset: 0 }])
    }
    // Drizzle has a transaction around all files, which such a file ends.
    assert.deepInclude(made(text, "drizzle"), { inTransaction: true, controls: true })
  })

  it("sends each of Prisma's files as one text", () => {
    assert.deepInclude(made("select 1; select 2", "prisma"), { inTransaction: false, controls: false })
    assert.isFalse(made("begin; select 1; commit", "prisma").inTransaction)
    assert.lengthOf(made("-- svc: no transaction\nselect 1; select 2", "prisma").parts, 2)
  })

  it("knows which statements stay when one fails", () => {
    const text = "select 0; begin; select 2; commit; select 4; begin; select 6; select 7; end; select 9"
    const whole = made(text)
    assert.deepStrictEqual(
      [0, 2, 3, 4, 6, 9].map((index) => keptBefore(whole, 0, index)),
      [0, 0, 0, 4, 4, 9]
    )
    const single = made(`-- svc: no transaction\n${text}`)
    assert.deepStrictEqual(
      [0, 1, 2, 4, 6, 7, 9].map((index) => keptBefore(single, index, index)),
      [0, 1, 1, 4, 5, 5, 9]
    )
    assert.isUndefined(keptBefore(made("select 1; select 2"), 0, 1))
    const drizzles = made(text.replaceAll(";", ";--> statement-breakpoint\n"), "drizzle")
    assert.strictEqual(failedStatement(drizzles, 4, 0), 4)
    assert.deepStrictEqual(
      [2, 4, 6, 9].map((index) => keptBefore(drizzles, index, index)),
      [undefined, 4, 5, 9]
    )
  })

  it("records statements as the command line of Supabase does", () => {
    const text = "-- one\ncreate table a ();\n\n/* two; */ select ';' -- x;\n;\n-- the end\n"
    assert.deepStrictEqual(recordedStatements(text), [
      "-- one\ncreate table a ()",
      "/* two; */ select ';' -- x;",
      "-- the end"
    ])
    assert.deepStrictEqual(recordedStatements("select 1; select 2"), ["select 1", "select 2"])
    assert.deepStrictEqual(recordedStatements(""), [])
  })

  it("accepts transaction keywords in other statements", () => {
    made("savepoint a; rollback to a; rollback work to savepoint a; release a")
    made("create function f() returns int begin atomic select 1; end")
    made("do $$ begin commit; end $$; prepare p as select 1; select 'commit'")
    made('create table "begin" ("commit" int); comment on table "begin" is \'x;commit;\'')
  })

  it("rejects a file that does not end its transaction", () => {
    assert.strictEqual(refused("-- svc: no transaction\nbegin;\nselect 1").line, 2)
    made("-- svc: no transaction\nbegin;\nselect 1;\ncommit;\nvacuum")
    for (const keeper of ["own", "prisma", "supabase", "drizzle"] as const) {
      assert.strictEqual(refused("begin;\nselect 1", keeper).line, 1)
    }
  })

  it("rejects COPY FROM stdin", () => {
    assert.strictEqual(refused("select 1;\ncopy t (a) FROM\nSTDIN").line, 2)
    made("copy t to stdout; copy t from '/tmp/file'")
  })

  it.each(["-- migrate:down", "-- +goose Down", "  --+migrate Down"])(
    "rejects a file that includes its down migration: %s",
    (mark) => {
      assert.strictEqual(refused(`create table a ();\n${mark}\ndrop table a;`).line, 2)
    }
  )
})

describe("positions", () => {
  it("count lines and characters as PostgreSQL does", () => {
    const text = "a\n😀b\r\nc"
    assert.deepStrictEqual(
      [0, 1, 2, 4, 7].map((offset) => lineAt(text, offset)),
      [1, 1, 2, 2, 3]
    )
    // 1-based, an emoji is one character for PostgreSQL and two for JavaScript.
    assert.deepStrictEqual(
      [1, 3, 4, 99].map((position) => offsetOf(text, position)),
      [0, 2, 4, text.length]
    )
  })
})
