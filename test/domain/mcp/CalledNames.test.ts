import { assert, describe, it } from "vitest"
import { calledNames } from "../../../src/domain/mcp/CalledNames.ts"

const called = (text: string) => {
  const names = calledNames(text)
  return names === undefined ? undefined : [...names.functions, ...[...names.attributes].map((name) => `.${name}`)]
}

describe("the names that a statement calls", () => {
  it.each([
    ["select PG_Sleep -- a comment\n /* and /* another */ */ (1)", ["pg_sleep"]],
    ['select "a ""b"""(1), pg_catalog."pg_sleep"(1)', ['a "b"', "pg_sleep", ".pg_sleep"]],
    ["select $1.f, (t).g, 1.5, t.*", [".f", ".g"]],
    ["select 'f(1)', $$ g(1) $$, $x$ $y$ h(1) $x$ || z(1)", ["z"]],
    ["select e'it\\'s f(1)', E'\\\\' || z(1)", ["z"]],
    ["select 'it''s f(1)', n'x' || z(1)", ["z"]],
    ["select a$x$(1), 1$x$ f(1) $x$", ["a$x$"]],
    ["select 1 in (2), values (3)", ["in", "values"]]
  ])("of %s", (text, names) => assert.deepStrictEqual(called(text), names))

  it("in an escaped string that goes on after a comment", () => {
    // To PostgreSQL the first string ends before `, pg_sleep`.
    assert.deepStrictEqual(called("select E'a' -- comment\n '\\' , ', pg_sleep(1), ' '"), ["pg_sleep"])
    assert.deepStrictEqual(called("select E'a' -- one\n -- two\n\t '\\' , ', pg_sleep(1), ' '"), ["pg_sleep"])
  })

  it.each(['select u&"\\0070g_sleep"(1)', "select U&\"x\" uescape '!'", "select '\\', pg_sleep(1), '"])(
    "are not known of %s",
    (text) => assert.isUndefined(called(text))
  )
})
