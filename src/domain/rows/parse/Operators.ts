/** `quantified`: may be followed by `(any)` or `(all)`. `pattern`: `*` in its value stands for `%`. */
const compare = (sql: string, { quantified = false, pattern = false } = {}) =>
  ({ _tag: "Compare", sql, quantified, pattern }) as const
const quantified = { quantified: true }

/** `sql`: the function that makes a text query of the value. May be followed by `(language)`. */
const search = (sql: string) => ({ _tag: "FullText", sql }) as const

/** The operators of filters. The parser, the SQL writer and the cache of shapes (Shapes.ts) all read this table. */
const table = {
  eq: compare("=", quantified),
  neq: compare("<>"),
  gt: compare(">", quantified),
  gte: compare(">=", quantified),
  lt: compare("<", quantified),
  lte: compare("<=", quantified),
  like: compare("like", { quantified: true, pattern: true }),
  ilike: compare("ilike", { quantified: true, pattern: true }),
  match: compare("~", quantified),
  imatch: compare("~*", quantified),
  cs: compare("@>"),
  cd: compare("<@"),
  ov: compare("&&"),
  sl: compare("<<"),
  sr: compare(">>"),
  nxr: compare("&<"),
  nxl: compare("&>"),
  adj: compare("-|-"),
  isdistinct: compare("is distinct from"),
  fts: search("to_tsquery"),
  plfts: search("plainto_tsquery"),
  phfts: search("phraseto_tsquery"),
  wfts: search("websearch_to_tsquery"),
  /** A list `(a,b)`. */
  in: { _tag: "In" },
  /** One of `isWords`. */
  is: { _tag: "Is" }
} as const

type Table = typeof table
type Tagged<Tag> = { [Name in keyof Table]: Table[Name] extends { readonly _tag: Tag } ? Name : never }[keyof Table]
export type Comparison = Tagged<"Compare">
export type FullText = Tagged<"FullText">

/** The words after `is.`, with their SQL. */
export const isWords = {
  null: "null",
  not_null: "not null",
  true: "true",
  false: "false",
  unknown: "unknown"
} as const
export type IsWord = keyof typeof isWords

type Operator =
  | { readonly _tag: "Compare"; readonly name: Comparison; readonly quantified: boolean }
  | { readonly _tag: "FullText"; readonly name: FullText }
  | { readonly _tag: "In" | "Is" }

const byName: ReadonlyMap<string, Operator> = new Map(
  Object.entries(table).map(([name, operator]) => [name, { ...operator, name } as Operator])
)

export const operatorOf = (name: string) => byName.get(name)

export const operatorSql = (name: Comparison | FullText) => table[name].sql

/** Whether the cost of a comparison depends on its value, as that of a regular expression. */
export const isPattern = (name: Comparison) => ["like", "ilike", "match", "imatch"].includes(name)

/** PostgreSQL may take 100 MiB to compile one. */
export const isRegex = (name: Comparison) => name === "match" || name === "imatch"

/** The value that a comparison sends to PostgreSQL. */
export const comparedValue = (name: Comparison, value: string) =>
  table[name].pattern ? value.replaceAll("*", "%") : value

const names = (which: (operator: Table[keyof Table]) => boolean) =>
  Object.entries(table).flatMap(([name, operator]) => (which(operator) ? [name] : []))

const anyOf = (all: ReadonlyArray<string>) => `(?:${all.join("|")})`
const quantifiable = names((one) => one._tag === "Compare" && one.quantified).join("|")
const comparisons = anyOf(names((one) => one._tag === "Compare" && !one.quantified))
const searches = anyOf(names((one) => one._tag === "FullText"))
const literalFilter = new RegExp(
  `^(?:not\\.)?(?:(${quantifiable})(?:\\((?:any|all)\\))?|${comparisons}|${searches}(?:\\([^()]*\\))?)\\.`
)

/** The start of a filter's value, if that is all that follows the operator, and the parameter that replaces it. */
export const literalOf = (filter: string): { readonly at: number; readonly param: string } | undefined => {
  const found = literalFilter.exec(filter)
  if (found === null) return undefined
  const [{ length: at }, name] = found
  const value = filter.slice(at)
  return { at, param: name === undefined ? value : comparedValue(name as Comparison, value) }
}
