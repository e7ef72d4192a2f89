import { assert, describe, it } from "vitest"
import { countEdits, type Edits, withEdit } from "../../dashboard/src/tables/rows/edits.ts"
import {
  filterValue,
  filterWords,
  operatorsOf,
  withFilter,
  withNextOrder,
  withoutFilter
} from "../../dashboard/src/tables/rows/filters.ts"
import { conflictOf, saveStatements } from "../../dashboard/src/tables/rows/statements.ts"

const table = { schema: "public", name: 'odd"name', primary_key: ["id"], columns: [] } as unknown as Parameters<
  typeof saveStatements
>[0]
const none: Edits = new Map()
const edit = (edits: Edits, id: number, value: unknown) =>
  withEdit(edits, table, { row: { id, note: null, total: "1.10" }, column: "note", value })

describe("edits", () => {
  it("that return to what was read are none", () => {
    assert.strictEqual(edit(edit(none, 1, "x"), 1, null).size, 0)
    assert.strictEqual(withEdit(none, table, { row: { id: 1, total: "1.10" }, column: "total", value: "1.10" }).size, 0)
    assert.strictEqual(countEdits(edit(edit(none, 1, "x"), 2, "y")), 2)
  })

  it("of any number of rows are at most 20 statements, with every row in one", () => {
    for (const rows of [1, 20, 21, 45, 400]) {
      let edits = none
      for (let id = 1; id <= rows; id++) edits = edit(edits, id, `n${id}`)
      const statements = saveStatements(table, edits)
      assert.isAtMost(statements.length, 20)
      const ids = statements.flatMap(({ params }) => params.filter((value) => /^\d+$/.test(value ?? "")))
      assert.deepStrictEqual(
        ids.map(Number).toSorted((a, b) => a - b),
        Array.from({ length: rows }, (_, at) => at + 1)
      )
    }
  })

  it("contain values as parameters only, and quoted names", () => {
    const [statement] = saveStatements(table, edit(none, 1, "'; drop table x --"))
    assert.notInclude(statement?.sql, "drop")
    assert.include(statement?.sql, '"public"."odd""name"')
  })

  it("name the row of a conflict", () => {
    const edits = edit(edit(none, 5, "x"), 6, "y")
    assert.strictEqual(conflictOf('invalid input syntax for type integer: "changed-row-1-0"', edits)?.row["id"], 6)
    assert.isUndefined(conflictOf('invalid input syntax for type integer: "x"', edits))
  })
})

describe("filters", () => {
  it("say in words what the form has made", () => {
    assert.deepStrictEqual(filterWords(filterValue("ilike", "ann")), ["contains", "ann"])
    for (const text of ["50%", "a_b", "back\\slash"])
      assert.deepStrictEqual(filterWords(filterValue("ilike", text)), ["contains", text])
    assert.strictEqual(filterValue("ilike", "50%_\\"), "ilike.*50\\%\\_\\\\*")
    assert.deepStrictEqual(filterWords(filterValue("in", "a, b")), ["is one of", "a,b"])
    assert.deepStrictEqual(filterWords(filterValue("is.null", "")), ["is NULL", ""])
    assert.deepStrictEqual(filterWords("fts.cat"), ["", "fts.cat"])
  })
  it("contain only in texts", () => {
    const contains = (type: string, values?: ReadonlyArray<string>) =>
      operatorsOf({ type, values }).some(({ words }) => words === "contains")
    for (const type of ["text", "character varying(20)", "citext", "name", "email_domain"])
      assert.isTrue(contains(type))
    for (const type of ["integer", "numeric(20,2)", "timestamp with time zone", "uuid", "jsonb", "text[]", "boolean"])
      assert.isFalse(contains(type), type)
    assert.isFalse(contains("status", ["draft", "paid"]))
  })
  it("of one column can be several", () => {
    const two = withFilter(withFilter({}, ["total", "gt.1"]), ["total", "lt.9"])
    assert.deepStrictEqual(two, { total: ["gt.1", "lt.9"] })
    assert.deepStrictEqual(withoutFilter(two, ["total", "gt.1"]), { total: "lt.9" })
    assert.deepStrictEqual(withoutFilter({ a: "eq.1" }, ["a", "eq.1"]), {})
  })
  it("are sorted up, down, and not at all", () => {
    const up = withNextOrder({ a: "eq.1" }, "b")
    assert.deepStrictEqual(up, { a: "eq.1", order: "b.asc" })
    const down = withNextOrder(up, "b")
    assert.deepStrictEqual(down, { a: "eq.1", order: "b.desc" })
    assert.deepStrictEqual(withNextOrder(down, "b"), { a: "eq.1" })
  })
})
