import { assert, describe, it } from "vitest"
import { nameProblem, textLiteral } from "../../dashboard/src/catalogue/names.ts"
import { enumProblems, enumValue } from "../../dashboard/src/catalogue/sql/enums.ts"
import { functionProblems, newArgument, pathOf, pathText } from "../../dashboard/src/catalogue/sql/functions.ts"
import { createIndexSql, type IndexDraft, indexProblems, newPart } from "../../dashboard/src/catalogue/sql/indexes.ts"
import { createTriggerSql, type TriggerDraft, triggerProblems } from "../../dashboard/src/catalogue/sql/triggers.ts"

describe("names and texts", () => {
  it("have problems that PostgreSQL would not report", () => {
    assert.isUndefined(nameProblem("é".repeat(31), "The table"))
    assert.strictEqual(nameProblem("é".repeat(32), "The table"), `The name ${"é".repeat(32)} is longer than 63 bytes`)
    assert.strictEqual(nameProblem(" ", "The table"), "The table has no name")
    assert.strictEqual(
      nameProblem("a\0b", "The table"),
      "The name of the table has a character that PostgreSQL can't keep"
    )
  })

  it("of texts with a backslash do not depend on standard_conforming_strings", () => {
    assert.strictEqual(textLiteral("it's"), "'it''s'")
    assert.strictEqual(textLiteral("\\'"), "E'\\\\'''")
  })
})

describe("an index", () => {
  const draft: IndexDraft = {
    schema: "public",
    table: "orders",
    name: "",
    method: "btree",
    unique: true,
    parts: [
      { ...newPart("total"), descending: true, nulls: "last" },
      { ...newPart("lower(note)"), kind: "expression" }
    ],
    include: ["id"],
    where: "paid",
    concurrently: true
  }

  it("has what the form says", () => {
    assert.strictEqual(
      createIndexSql(draft),
      'create unique index concurrently on "public"."orders" using "btree" ("total" desc nulls last, (lower(note))) include ("id") where (paid)'
    )
  })

  it("has neither an order nor other columns with a method that can't", () => {
    const operators = { schema: "public", name: "gin_trgm_ops", method: "gin" }
    const parts = draft.parts.map((part) => ({ ...part, operators }))
    assert.strictEqual(
      createIndexSql({ ...draft, unique: false, concurrently: false, method: "gin", parts, where: "", name: "i" }),
      'create index "i" on "public"."orders" using "gin" ("total" "public"."gin_trgm_ops", (lower(note)) "public"."gin_trgm_ops")'
    )
  })

  it("names what is missing", () => {
    assert.deepStrictEqual(indexProblems({ ...draft, parts: [] }), ["The index has no column"])
    assert.deepStrictEqual(indexProblems({ ...draft, parts: [newPart()] }), ["A part of the index is empty"])
    assert.deepStrictEqual(indexProblems({ ...draft, include: ["total"] }), ["The index has the column total already"])
  })
})

describe("an enum", () => {
  it("names what is missing or twice", () => {
    const type = { schema: "public", name: "mood" }
    assert.deepStrictEqual(enumProblems({ ...type, values: [] }), ["The type has no value"])
    assert.deepStrictEqual(enumProblems({ ...type, values: [enumValue(), enumValue("a"), enumValue("a")] }), [
      "A value is empty",
      "Two values are a"
    ])
  })
})

describe("a trigger", () => {
  const draft: TriggerDraft = {
    schema: "public",
    table: "orders",
    name: "touch",
    timing: "before",
    events: ["delete", "update"],
    columns: ["total"],
    each: "row",
    when: "old.total > 5",
    function: { schema: "public", name: "touch" },
    arguments: ["a", "it's"]
  }

  it("has what the form says", () => {
    assert.strictEqual(
      createTriggerSql(draft),
      `create trigger "touch"\n  before update of "total" or delete\n  on "public"."orders"\n  for each row\n  when (old.total > 5)\n  execute function "public"."touch"('a', 'it''s')`
    )
  })

  it("names what PostgreSQL refuses", () => {
    assert.deepStrictEqual(triggerProblems({ ...draft, events: ["truncate"], function: undefined }), [
      "TRUNCATE fires once for a statement only",
      "No function is chosen"
    ])
    assert.deepStrictEqual(triggerProblems({ ...draft, timing: "instead of", events: [] }), [
      "No event fires the trigger",
      "INSTEAD OF has neither a condition nor columns"
    ])
  })
})

describe("a function", () => {
  it("names what is missing", () => {
    assert.deepStrictEqual(
      functionProblems({
        kind: "function",
        schema: "public",
        name: "",
        arguments: [newArgument({ type: "" })],
        returns: "",
        language: "sql",
        volatility: "stable",
        parallel: "safe",
        strict: false,
        definer: false,
        path: undefined,
        body: " ",
        comment: ""
      }),
      ["The function has no name", "An argument has no type", "What it returns is missing", "The body is empty"]
    )
  })

  it("has a search_path as it is typed and as PostgreSQL keeps it", () => {
    assert.deepStrictEqual(pathOf('public, "Odd ""one""",pg_temp'), ["public", 'Odd "one"', "pg_temp"])
    assert.deepStrictEqual(pathOf('""'), [""])
    assert.strictEqual(pathText(["public", 'Odd "one"']), 'public, "Odd ""one"""')
  })
})
