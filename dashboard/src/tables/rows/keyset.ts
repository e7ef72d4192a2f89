export type Row = Readonly<Record<string, unknown>>

export interface Order {
  readonly column: string
  readonly desc: boolean
}

/** A condition in the language of `/v1/db`, before it is written. */
export type Condition =
  | { readonly tag: "compare"; readonly column: string; readonly operator: string; readonly value: unknown }
  | { readonly tag: "null"; readonly column: string; readonly not: boolean }
  | { readonly tag: "and" | "or"; readonly all: ReadonlyArray<Condition> }

const compare = (column: string, operator: string, value: unknown): Condition => ({
  tag: "compare",
  column,
  operator,
  value
})
const isNull = (column: string, not = false): Condition => ({ tag: "null", column, not })

/** The text of a value. */
export const valueText = (value: unknown) => (typeof value === "object" ? JSON.stringify(value) : String(value))

const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, "\\$&")}"`
/** A name in a list of columns or conditions. */
export const nameText = (name: string) => (/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? name : quoted(name))

/** As an element of `or=(…)`. */
export const conditionText = (condition: Condition): string => {
  switch (condition.tag) {
    case "compare":
      return `${nameText(condition.column)}.${condition.operator}.${quoted(valueText(condition.value))}`
    case "null":
      return `${nameText(condition.column)}.${condition.not ? "not.is.null" : "is.null"}`
    default:
      return `${condition.tag}(${condition.all.map(conditionText).join(",")})`
  }
}

/** As a parameter of the query. */
export const parameterOf = (condition: Condition): readonly [name: string, value: string] => {
  switch (condition.tag) {
    case "compare":
      return [condition.column, `${condition.operator}.${valueText(condition.value)}`]
    case "null":
      return [condition.column, condition.not ? "not.is.null" : "is.null"]
    default:
      return [condition.tag, `(${condition.all.map(conditionText).join(",")})`]
  }
}

/** Rows behind a row in an order; NULL is last ascending, first descending, as in PostgreSQL. None: an empty list. */
const behind = (
  [first, ...rest]: ReadonlyArray<Order>,
  row: Row,
  nullable: ReadonlySet<string>
): ReadonlyArray<Condition> => {
  if (first === undefined) return []
  const { column, desc } = first
  const value = row[column] ?? null
  const inner = behind(rest, row, nullable)
  const same = value === null ? isNull(column) : compare(column, "eq", value)
  const later =
    value === null
      ? desc
        ? [isNull(column, true)]
        : []
      : [compare(column, desc ? "lt" : "gt", value), ...(desc || !nullable.has(column) ? [] : [isNull(column)])]
  return inner.length === 0 ? later : [...later, { tag: "and", all: [same, { tag: "or", all: inner }] }]
}

/** The order of a part, and the conditions that all of its rows meet. */
export type Part = ReadonlyArray<Condition>

/**
 * The rows behind a row, in parts that follow each other: PostgreSQL reads each from an index on the order. An OR alone
 * would be evaluated for every row of the table, so the first column has a bound of its own, and its NULLs are a part of
 * their own.
 */
export const partsBehind = (
  order: ReadonlyArray<Order>,
  row: Row,
  nullable: ReadonlySet<string>
): ReadonlyArray<Part> => {
  const [first, ...rest] = order
  if (first === undefined) return []
  const { column, desc } = first
  const value = row[column] ?? null
  const inner = behind(rest, row, nullable)
  const or = (all: ReadonlyArray<Condition>): Part => (all.length === 0 ? [] : [{ tag: "or", all }])
  if (value === null) {
    const nulls: ReadonlyArray<Part> = inner.length === 0 ? [] : [[isNull(column), ...or(inner)]]
    return desc ? [...nulls, [isNull(column, true)]] : nulls
  }
  const beyond = compare(column, desc ? "lt" : "gt", value)
  const bound: Part =
    inner.length === 0
      ? [beyond]
      : [
          compare(column, desc ? "lte" : "gte", value),
          ...or([beyond, { tag: "and", all: [compare(column, "eq", value), { tag: "or", all: inner }] }])
        ]
  return desc || !nullable.has(column) ? [bound] : [bound, [isNull(column)]]
}

export const reversed = (order: ReadonlyArray<Order>): ReadonlyArray<Order> =>
  order.map(({ column, desc }) => ({ column, desc: !desc }))
