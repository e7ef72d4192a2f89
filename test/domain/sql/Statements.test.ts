import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { checkSingle, leadingKeyword, statementsIn } from "../../../src/domain/sql/Statements.ts"

const texts = (sql: string) => statementsIn(sql).map((piece) => piece.text)

describe("statements", () => {
  const cases: ReadonlyArray<readonly [sql: string, pieces: ReadonlyArray<string>]> = [
    ["select 1", ["select 1"]],
    ["select 1;", ["select 1"]],
    [";; ;\n", []],
    ["-- nothing;\n/* here; /* either; */ */", []],
    ["select 1; select 2", ["select 1", "select 2"]],
    ["select 1 -- one; two\n; select 2", ["select 1 -- one; two", "select 2"]],
    ["/* a; /* b; */ c; */ select 1; select 2", ["select 1", "select 2"]],
    ["select ';', 'it''s;'; x", ["select ';', 'it''s;'", "x"]],
    ["select '\\'; x", ["select '\\'", "x"]],
    ["select E'\\';'; x", ["select E'\\';'", "x"]],
    ["select E'a'\n '\\';'; x", ["select E'a'\n '\\';'", "x"]],
    ["select e'a''\\';'; x", ["select e'a''\\';'", "x"]],
    ["select typee'\\'; x", ["select typee'\\'", "x"]],
    ["select U&'\\0041;'; x", ["select U&'\\0041;'", "x"]],
    ['select ";"";"; x', ['select ";"";"', "x"]],
    ["select $$;$$; x", ["select $$;$$", "x"]],
    ["select $a$;$b$;$$;$a$; x", ["select $a$;$b$;$$;$a$", "x"]],
    ["select $é$;$é$; x", ["select $é$;$é$", "x"]],
    ["select $1; x", ["select $1", "x"]],
    ["select a$$; b$$", ["select a$$", "b$$"]],
    [
      "create rule r as on insert to t do also (select 1; select 2); x",
      ["create rule r as on insert to t do also (select 1; select 2)", "x"]
    ],
    ["select 1); x", ["select 1)", "x"]],
    ["select (1; x", ["select (1; x"]],
    ["select 'never; x", ["select 'never; x"]],
    ["/* never; x", ["/* never; x"]],
    [
      "create function f() returns int begin atomic select case when true then 1 end; select 2; end; x",
      ["create function f() returns int begin atomic select case when true then 1 end; select 2; end", "x"]
    ],
    [
      "CREATE OR REPLACE PROCEDURE p() BEGIN ATOMIC insert into t values (1); END; x",
      ["CREATE OR REPLACE PROCEDURE p() BEGIN ATOMIC insert into t values (1); END", "x"]
    ],
    ["create table begin_atomic(begin int); x", ["create table begin_atomic(begin int)", "x"]]
  ]
  it.each(cases)("splits %s", (sql, pieces) => assert.deepStrictEqual(texts(sql), pieces))

  it("have their offsets", () => {
    const sql = "  select 1; /* x */ select 2"
    for (const piece of statementsIn(sql)) assert.isTrue(sql.startsWith(piece.text, piece.offset))
  })

  const part = fc.constantFrom(
    ..."; ' '' \" ( ) -- /* */ $$ $a$ $1 E' e' U&' \\ \n begin atomic case end create function or replace x 1 é 🙂".split(
      " "
    ),
    " ",
    "\0"
  )
  it("never fails, returns slices of the text in order, and splits no piece further", () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 60 }), (parts) => {
        const sql = parts.join("")
        let end = 0
        for (const { text, offset } of statementsIn(sql)) {
          assert.isTrue(offset >= end && sql.startsWith(text, offset) && text !== "")
          end = offset + text.length
          assert.strictEqual(statementsIn(text).length, 1)
        }
      })
    )
  })

  it("splits joined statements again", () => {
    const piece = fc.constantFrom(
      "select ';'",
      "select $q$;$q$",
      "x -- ;\n",
      'select ";"',
      "select E'\\';'",
      "(select 1)"
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) =>
        assert.deepStrictEqual(
          texts(pieces.join(" ; ")),
          pieces.map((text) => text.trimEnd())
        )
      )
    )
  })

  it.each(["(", "$a", "$a$b$", "'", "/*", "*/", "E'a'\n", "E'\\", " ", "-", "$$", ";", "begin ", '"', "E'a'   x"])(
    "takes no more than linear time for a megabyte of %j",
    (unit) => {
      // Quadratic time would be hours.
      const started = performance.now()
      statementsIn(unit.repeat(Math.ceil(1_000_000 / unit.length)))
      assert.isBelow(performance.now() - started, 15_000)
    }
  )
})

describe("leadingKeyword", () => {
  it.each([
    ["", ""],
    ["/* x */ select 1", "SELECT"],
    ["-- x\nWith a as (select 1) select 2", "WITH"],
    ["(( values (1)))", "VALUES"],
    ["'x'", ""]
  ])("of %s is %s", (sql, keyword) => assert.strictEqual(leadingKeyword(sql), keyword))
})

describe("checkSingle", () => {
  const codeOf = (sql: string) =>
    Effect.match(checkSingle(sql), { onSuccess: () => "ok", onFailure: (error) => error.code })

  it.effect.each([
    ["", "SQL_EMPTY"],
    [" ; -- x", "SQL_EMPTY"],
    ["select 1; select 2", "SQL_MULTIPLE_STATEMENTS"],
    ["select 1; -- done", "ok"],
    ["select '\0'", "SQL_INVALID_TEXT"],
    ["select '\ud800'", "SQL_INVALID_TEXT"],
    ["select '🙂'", "ok"],
    ["copy t from stdin", "SQL_NOT_ALLOWED"],
    ["/* x */ COPY (select 1) to stdout", "SQL_NOT_ALLOWED"],
    ["copy t to '/tmp/x'", "SQL_NOT_ALLOWED"],
    ["copy t from program 'ls'", "SQL_NOT_ALLOWED"],
    ["listen x", "SQL_NOT_ALLOWED"],
    ["unlisten *", "SQL_NOT_ALLOWED"],
    ["notify x", "ok"],
    ["begin", "SQL_NOT_ALLOWED"],
    ["start transaction", "SQL_NOT_ALLOWED"],
    ["commit", "SQL_NOT_ALLOWED"],
    ["commit prepared 'x'", "SQL_NOT_ALLOWED"],
    ["end", "SQL_NOT_ALLOWED"],
    ["rollback", "SQL_NOT_ALLOWED"],
    ["rollback to savepoint a", "SQL_NOT_ALLOWED"],
    ["abort", "SQL_NOT_ALLOWED"],
    ["savepoint a", "SQL_NOT_ALLOWED"],
    ["release a", "SQL_NOT_ALLOWED"],
    ["prepare transaction 'x'", "SQL_NOT_ALLOWED"],
    ["prepare x as select 1", "ok"],
    ["deallocate all", "ok"],
    ["set role anon", "ok"],
    ["discard all", "ok"],
    ["do $$ begin commit; end $$", "ok"]
  ] as const)("%s: %s", ([sql, code]) => Effect.map(codeOf(sql), (got) => assert.strictEqual(got, code)))
})
