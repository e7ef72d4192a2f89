import * as fc from "fast-check"
import { type Condition, type Field, type RowQuery, type Selected } from "../../../src/domain/rows/parse/Query.ts"

const anything = fc.string({ unit: "binary", maxLength: 8 })
const keywords = fc.constantFrom(
  "and",
  "or",
  "not",
  "order",
  "limit",
  "count",
  "inner",
  "left",
  "select",
  "a b",
  "a-b",
  "é$"
)
const name = fc.oneof(
  anything.filter((text) => text !== "" && !text.includes("\0")),
  keywords,
  fc.string({ unit: fc.constantFrom(...'ab-_$ é.,:()"\\>*!'), minLength: 1, maxLength: 6 })
)
const value = fc.oneof(
  anything,
  fc.string({ unit: fc.constantFrom(...'a1 ,.()"\\{}[]*%:'), maxLength: 12 }),
  fc.constantFrom("{a,b}", '{"a,b",c}', "[1,5)", '{"a": [1, 2]}', "not.null", "eq.1")
)
const option = <A>(arbitrary: fc.Arbitrary<A>) => fc.option(arbitrary, { nil: undefined })
const type = fc.constantFrom("text", "timestamp with time zone", "int8", "my_type$1")

const step = fc.oneof(
  fc.record({
    key: fc.oneof(anything, fc.constantFrom("0", "-1", "a-b", "a b")),
    index: fc.constant(false),
    text: fc.boolean()
  }),
  fc.record({ key: fc.integer().map(String), index: fc.constant(true), text: fc.boolean() })
)
const field: fc.Arbitrary<Field> = fc.record({ name, json: fc.array(step, { maxLength: 2 }) })

const selected = fc.letrec<{ item: Selected }>((tie) => ({
  item: fc.oneof(
    { depthSize: "small" },
    fc.constant<Selected>({ _tag: "All" }),
    fc.record({ _tag: fc.constant("Count" as const), alias: option(name), cast: option(type) }),
    fc
      .record({
        _tag: fc.constant("Field" as const),
        field,
        alias: option(name),
        cast: option(type),
        aggregate: option(
          fc.constantFrom("sum" as const, "avg" as const, "min" as const, "max" as const, "count" as const)
        ),
        aggregateCast: option(type)
      })
      .filter((item) => item.aggregate !== undefined || item.aggregateCast === undefined),
    fc
      .record({
        _tag: fc.constant("Embed" as const),
        relation: name,
        alias: option(name),
        hint: option(name),
        join: option(fc.constantFrom("inner" as const, "left" as const)),
        spread: fc.boolean(),
        select: fc.array(tie("item"), { maxLength: 3 })
      })
      .filter((item) => !item.spread || item.alias === undefined)
  )
})).item

const negated = fc.boolean()
const comparison = fc.constantFrom(...(["eq", "gt", "gte", "lt", "lte", "like", "ilike", "match", "imatch"] as const))
const leaf: fc.Arbitrary<Condition & { readonly field: Field }> = fc.oneof(
  fc.record({
    _tag: fc.constant("Compare" as const),
    negated,
    field,
    operator: comparison,
    quantifier: option(fc.constantFrom("any" as const, "all" as const)),
    value
  }),
  fc.record({
    _tag: fc.constant("Compare" as const),
    negated,
    field,
    operator: fc.constantFrom(...(["neq", "cs", "cd", "ov", "sl", "sr", "nxr", "nxl", "adj", "isdistinct"] as const)),
    quantifier: fc.constant(undefined),
    value
  }),
  fc.record({ _tag: fc.constant("In" as const), negated, field, values: fc.array(value, { maxLength: 4 }) }),
  fc.record({
    _tag: fc.constant("Is" as const),
    negated,
    field,
    value: fc.constantFrom(...(["null", "not_null", "true", "false", "unknown"] as const))
  }),
  fc.record({
    _tag: fc.constant("FullText" as const),
    negated,
    field,
    operator: fc.constantFrom(...(["fts", "plfts", "phfts", "wfts"] as const)),
    language: option(fc.constantFrom("english", "simple", "my_config")),
    value
  })
)
const condition = fc.letrec<{ tree: Condition }>((tie) => ({
  tree: fc.oneof(
    { depthSize: "small" },
    leaf,
    fc.record({
      _tag: fc.constantFrom("And" as const, "Or" as const),
      negated,
      conditions: fc.array(tie("tree"), { minLength: 1, maxLength: 3 })
    })
  )
})).tree

const path = fc.array(
  name.filter((text) => text !== "not"),
  { maxLength: 2 }
)
const clauses = <A>(of: fc.Arbitrary<A>) =>
  fc.uniqueArray(fc.record({ path, value: of }), { selector: (item) => item.path.join("\0"), maxLength: 3 })
const term = fc.record({
  relation: option(name),
  field,
  direction: option(fc.constantFrom("asc" as const, "desc" as const)),
  nulls: option(fc.constantFrom("nullsfirst" as const, "nullslast" as const))
})
const names = option(fc.uniqueArray(name, { minLength: 1, maxLength: 3 }))
const rows = fc.nat().map(String)
/** Any query that the grammar can express. */
export const anyRowQuery: fc.Arbitrary<RowQuery> = fc.record({
  select: fc.array(selected, { minLength: 1, maxLength: 3 }),
  filters: fc.array(fc.record({ path, value: condition }), { maxLength: 3 }),
  order: clauses(fc.array(term, { minLength: 1, maxLength: 3 })),
  limit: clauses(rows),
  offset: clauses(rows),
  columns: names,
  onConflict: names,
  arguments: fc.constant([])
})
