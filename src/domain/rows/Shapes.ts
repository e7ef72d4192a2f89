import { parseList } from "./parse/Filter.ts"
import { literalOf } from "./parse/Operators.ts"
import { type RowSql } from "./sql/Statement.ts"
import { arrayLiteral } from "../sql/Names.ts"

type Pairs = ReadonlyArray<readonly [string, string]>

/**
 * A query without its literals. Queries with the same `key` differ only in literals, so they share a plan and an SQL
 * text.
 */
export interface RowShape {
  readonly key: string
  /** The literals as statement parameters. */
  readonly literals: ReadonlyArray<string>
  /** Index of the literal that is the offset, or -1. */
  readonly offset: number
  /** The same query with a distinct mark in place of each literal, and the parameters that the marks become. */
  readonly marked: () => { readonly pairs: Pairs; readonly params: ReadonlyArray<string> }
}

const clauses: ReadonlySet<string> = new Set(["order", "limit", "offset", "and", "or"])
const whole: ReadonlySet<string> = new Set(["select", "columns", "on_conflict", ...clauses])
const list = /^(?:not\.)?in\./
const digits = /^\d{1,18}$/

interface Literal {
  readonly pair: number
  readonly before: string
  readonly param: string
  readonly mark: string
  readonly marked: string
}

const literalIn = (key: string, value: string, pair: number): Literal | undefined => {
  const mark = `§svc${pair}§`
  if (key === "offset") {
    const number = String(7_734_000_000_000 + pair)
    return digits.test(value) ? { pair, before: "", param: value, mark: number, marked: number } : undefined
  }
  if (whole.has(key) || clauses.has(key.slice(key.lastIndexOf(".") + 1))) return undefined
  const found = literalOf(value)
  if (found !== undefined) return { pair, before: value.slice(0, found.at), param: found.param, mark, marked: mark }
  const before = list.exec(value)?.[0]
  const values = before === undefined ? undefined : parseList(value.slice(before.length))
  return before === undefined || values === undefined
    ? undefined
    : { pair, before, param: arrayLiteral(values), mark: `(${mark})`, marked: arrayLiteral([mark]) }
}

export const rowShape = (pairs: Pairs): RowShape => {
  const literals: Array<Literal> = []
  let key = ""
  let offset = -1
  for (const [pair, [name, value]] of pairs.entries()) {
    const literal = literalIn(name, value, pair)
    const kept = literal?.before ?? value
    // The lengths make the joined text unambiguous.
    key += `${name.length}:${name}${literal === undefined ? "=" : "~"}${kept.length}:${kept}`
    if (literal === undefined) continue
    if (name === "offset") offset = literals.length
    literals.push(literal)
  }
  return {
    key,
    literals: literals.map(({ param }) => param),
    offset,
    marked: () => {
      const marked = [...pairs]
      for (const { pair, before, mark } of literals) marked[pair] = [pairs[pair]?.[0] ?? "", `${before}${mark}`]
      return { pairs: marked, params: literals.map((literal) => literal.marked) }
    }
  }
}

/** The SQL text for all queries of a shape; a number among the parameters is the index of a literal. */
export interface RowTemplate {
  readonly text: string
  readonly params: ReadonlyArray<RowSql["params"][number] | number>
  readonly bounded: boolean
  readonly costly: boolean
}

/** Undefined unless the texts are equal and all marks became parameters. */
export const rowTemplate = (real: RowSql, marked: RowSql, marks: ReadonlyArray<string>): RowTemplate | undefined => {
  if (real.text !== marked.text) return undefined
  const params = marked.params.map((param) => {
    const at = typeof param === "string" ? marks.indexOf(param) : -1
    return at < 0 ? param : at
  })
  return marks.every((_, at) => params.includes(at))
    ? { text: real.text, params, bounded: real.bounded === true, costly: real.costly === true }
    : undefined
}

export const filled = ({ text, params, bounded, costly }: RowTemplate, literals: ReadonlyArray<string>): RowSql => ({
  text,
  params: params.map((param) => (typeof param === "number" ? (literals[param] ?? null) : param)),
  prepare: true,
  bounded,
  costly
})
