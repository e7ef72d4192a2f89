import {
  type AtPath,
  type Condition,
  type Field,
  type OrderTerm,
  type RowQuery,
  type Selected,
  type Test
} from "../../../src/domain/rows/parse/Query.ts"

/** Query trees as `key=value` pairs; `bare` decides whether to omit optional quotes. */
export const rowQueryPairs = (query: RowQuery, bare: () => boolean): Array<readonly [string, string]> => {
  const { selected, key, path, order, name, test } = printer(bare)
  const clauses = <A>(clause: string, list: ReadonlyArray<AtPath<A>>, print: (value: A) => string) =>
    list.map((item) => [path([...item.path.map((at) => name(at)), clause]), print(item.value)] as const)
  return [
    ["select", query.select.map(selected).join(",")],
    ...query.filters.map((filter) => {
      const condition = filter.value
      if (!("conditions" in condition))
        return [key(filter.path, condition.field), test(condition, (value) => value)] as const
      const [operator, ...rest] = logic(condition)
      const inside = condition.conditions.map((part) => printer(bare).condition(part)).join(",")
      return [path([...filter.path.map((at) => name(at)), ...rest, operator]), `(${inside})`] as const
    }),
    ...clauses("order", query.order, (terms) => terms.map(order).join(",")),
    ...clauses("limit", query.limit, (rows) => rows),
    ...clauses("offset", query.offset, (rows) => rows),
    ...(query.columns === undefined ? [] : [["columns", query.columns.map((at) => name(at)).join(",")] as const]),
    ...(query.onConflict === undefined
      ? []
      : [["on_conflict", query.onConflict.map((at) => name(at)).join(",")] as const])
  ]
}

const quoted = (text: string) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`

const logic = (condition: Extract<Condition, { readonly conditions: unknown }>): [string, ...Array<string>] => [
  condition._tag.toLowerCase(),
  ...(condition.negated ? ["not"] : [])
]

const clauseNames = ["select", "columns", "on_conflict", "order", "limit", "offset", "and", "or"]

const printer = (bare: () => boolean) => {
  const path = (parts: ReadonlyArray<string>) => parts.join(".")
  const name = (text: string, keywords: ReadonlyArray<string> = []) =>
    /^[\p{L}\p{N}_$](?:[\p{L}\p{N}_$ -]*[\p{L}\p{N}_$])?$/u.test(text) && !keywords.includes(text) && bare()
      ? text
      : quoted(text)
  const step = (json: Field["json"][number]) =>
    (json.text ? "->>" : "->") +
    (json.index || (/^[a-z{}*/][a-z {}*/"-]*[a-z]$/.test(json.key) && bare()) ? json.key : quoted(json.key))
  const field = ({ name: text, json }: Field, keywords?: ReadonlyArray<string>) =>
    name(text, keywords) + json.map(step).join("")
  const key = (at: ReadonlyArray<string>, of: Field) => path([...at.map((text) => name(text)), field(of, clauseNames)])
  const alias = (text: string | undefined) => (text === undefined ? "" : `${name(text)}:`)
  const cast = (text: string | undefined) => (text === undefined ? "" : `::${text}`)

  const selected = (item: Selected): string => {
    switch (item._tag) {
      case "All":
        return "*"
      case "Count":
        return `${alias(item.alias)}count()${cast(item.cast)}`
      case "Field": {
        const aggregate = item.aggregate === undefined ? "" : `.${item.aggregate}()`
        return `${alias(item.alias)}${field(item.field)}${cast(item.cast)}${aggregate}${cast(item.aggregateCast)}`
      }
      case "Embed": {
        const marks = [
          item.hint === undefined ? "" : `!${name(item.hint, ["inner", "left"])}`,
          item.join === undefined ? "" : `!${item.join}`
        ]
        const start = item.spread ? "..." : alias(item.alias)
        const shown = item.select.map(selected).join(bare() ? "," : " , ")
        return `${start}${name(item.relation, ["count"])}${(bare() ? marks : marks.toReversed()).join("")}(${shown})`
      }
    }
  }

  const test = (condition: Test & { readonly negated: boolean }, literal: (value: string) => string): string => {
    const not = condition.negated ? "not." : ""
    switch (condition._tag) {
      case "Compare": {
        const quantifier = condition.quantifier === undefined ? "" : `(${condition.quantifier})`
        return `${not}${condition.operator}${quantifier}.${literal(condition.value)}`
      }
      case "FullText": {
        const language = condition.language === undefined ? "" : `(${condition.language})`
        return `${not}${condition.operator}${language}.${literal(condition.value)}`
      }
      case "Is":
        return `${not}is.${bare() ? condition.value : condition.value.toUpperCase()}`
      case "In": {
        const item = (value: string) => (/^[^", \t)][^,)]*$/.test(value) && bare() ? value : quoted(value))
        return `${not}in.(${condition.values.map(item).join(",")})`
      }
    }
  }

  const inner = (value: string) =>
    (/^(?:[^"{,)][^,)]*)?$/.test(value) || /^\{[^{}]*\}$/.test(value)) && bare() ? value : quoted(value)
  const condition = (of: Condition): string =>
    "conditions" in of
      ? `${logic(of).toReversed().join(".")}(${of.conditions.map(condition).join(bare() ? "," : ", ")})`
      : `${field(of.field)}.${test(of, inner)}`

  const order = (term: OrderTerm) => {
    const of = term.relation === undefined ? field(term.field) : `${name(term.relation)}(${field(term.field)})`
    return [of, ...(term.direction ? [term.direction] : []), ...(term.nulls ? [term.nulls] : [])].join(".")
  }
  return { selected, key, path, order, name, test, condition }
}
