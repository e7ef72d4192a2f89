import { assert, describe, it } from "vitest"
import {
  lineAt,
  type MigrationScript,
  migrationScript,
  offsetOf,
  type ScriptProblem
} from "../../../src/domain/migrations/Script.ts"

const made = (text: string, breakpoints = false) => {
  const script = migrationScript(text, breakpoints)
  assert.notProperty(script, "problem", JSON.stringify(script))
  return script as MigrationScript
}
const refused = (text: string) => {
  const script = migrationScript(text, false)
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
    const script = made(text, true)
    assert.deepStrictEqual(
      script.pieces.map((piece) => piece.text),
      ["create table a ()", "create table b ()"]
    )
    assert.strictEqual(script.text.length, text.length)
    assert.strictEqual(made(text).pieces.length, 1)
  })

  it("accepts BEGIN and COMMIT around the whole file", () => {
    const script = made("Begin Work;\ncreate table a ();\nEND;\n")
    assert.strictEqual(script.text, "          ;\ncreate table a ();\n   ;\n")
    assert.strictEqual(script.pieces.length, 1)
    made("start transaction; select 1; commit")
  })

  it.each([
    ["select 1;\ncommit;\nselect 2", 2],
    ["begin;\nselect 1", 1],
    ["begin isolation level serializable; select 1; commit", 1],
    ["begin; select 1; rollback", 1],
    ["begin; select 1; commit; begin; select 2; commit", 1],
    ["select 1;\n\nrollback", 3],
    ["select 1; prepare transaction 'x'", 1],
    ["select 1; abort", 1],
    ["select 1; end", 1]
  ])("rejects %j, which ends its transaction", (text, line) => {
    assert.deepInclude(refused(text), { line })
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
