import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { shownStatements } from "../../../src/domain/audit/ShownSql.ts"

const shown = (text: string, whole = true) => shownStatements([text], whole)[0] ?? ""

describe("a statement of the audit", () => {
  it("keeps names and numbers, and nothing of strings and comments", () => {
    assert.strictEqual(
      shown(`delete from "order items" -- marker\n where id = 17 and note = 'marker' /* marker /* marker */ */`),
      `delete from "order items" where id = 17 and note = '…'`
    )
    for (const text of [
      "insert into t values (E'a\\'marker', U&'marker', B'1', N'marker', $$marker$$, $a$ $$ marker $a$)",
      "update t set a = 'marker''marker' where b = 'x'",
      "select dblink_connect('password=marker')",
      "select 'a\\' || 'marker'",
      "select 'marker",
      "select 1 /* marker",
      "alter role app password 'marker'",
      'alter role app password "marker"',
      "set app.token = marker",
      'set app.token to "marker"',
      "alter system set primary_conninfo = marker",
      "create user mapping for a server b options (password 'marker')",
      "do $x$ begin perform set_config('a', 'marker', false); end $x$",
      "create function f() returns text language sql set app.key to marker as $$ select 'marker' $$",
      "create subscription s connection 'password=marker' publication p"
    ])
      assert.notInclude(shown(text), "marker", text)
    assert.strictEqual(shown("alter role app password 'x'"), "alter role app …")
    assert.strictEqual(shown("drop table people"), "drop table people")
  })

  it("that was refused is its beginning: what is misspelt may be a value", () => {
    assert.strictEqual(shown('insert into t values ("marker")', false), "insert into t …")
  })

  it("is bounded, and so are all of an entry", () => {
    const long = `select ${"a, ".repeat(5_000)} 1`
    assert.isBelow(shown(long).length, 4_100)
    const all = shownStatements(Array<string>(20).fill(long), true)
    assert.isBelow(all.join("").length, 22_000)
  })

  it("has no text of any string, however it is written", () => {
    const quoted = fc
      .string({ maxLength: 20 })
      .map((text) => `'${text.replaceAll("'", "''")}m4rker${text.includes("\\") ? "\\" : ""}'`)
    const escaped = fc
      .string({ maxLength: 20 })
      .map((text) => `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}m4rker'`)
    const dollar = fc.constantFrom("$$", "$a$", "$A_1$").map((tag) => `${tag} ' m4rker " -- ${tag}`)
    const comment = fc.constantFrom("-- m4rker ' \n", "/* m4rker ' */", "/* /* ' */ m4rker */")
    const plain = fc.constantFrom(" a ", " 17 ", " , ", ' "n"" -- ame" ', " $1 ", " a$b ", "(", ")", " e ", "\n")
    fc.assert(
      fc.property(fc.array(fc.oneof(quoted, escaped, dollar, comment, plain), { maxLength: 12 }), (parts) => {
        assert.notInclude(shown(`select ${parts.join(" ")}`), "m4rker")
      })
    )
  })
})
