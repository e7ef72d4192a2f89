import { LRUCache } from "lru-cache"
import { type Catalogue } from "../catalogue/Catalogue.ts"
import { type LiteralPlace } from "./parse/Cursor.ts"
import { literalsIn, parseList } from "./parse/Filter.ts"
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
  /** The query with a distinct mark in place of each literal, and the parameters that replace the marks. */
  readonly marked: () => { readonly pairs: Pairs; readonly params: ReadonlyArray<string> }
}

const clauses: ReadonlySet<string> = new Set(["order", "limit", "offset", "and", "or"])
const whole: ReadonlySet<string> = new Set(["select", "columns", "on_conflict", ...clauses])
const list = /^(?:not\.)?in\./
const digits = /^\d{1,18}$/

/** A literal with the mark that stands for it, and the parameter that the mark becomes. */
interface Literal extends LiteralPlace {
  readonly mark: string
  readonly marked: string
}

/** `n` makes the mark unlike others. */
const markedLiteral = (place: LiteralPlace, n: number): Literal => {
  const mark = `§svc${n}§`
  return place.list ? { ...place, mark: `(${mark})`, marked: arrayLiteral([mark]) } : { ...place, mark, marked: mark }
}

const literalsOf = (key: string, value: string, n: number): ReadonlyArray<Literal> => {
  if (key === "offset") {
    const number = String(7_734_000_000_000 + n)
    const place = { from: 0, to: value.length, param: value, list: false }
    return digits.test(value) ? [{ ...place, mark: number, marked: number }] : []
  }
  const clause = key.slice(key.lastIndexOf(".") + 1)
  if (clause === "and" || clause === "or") {
    return (literalsIn(value) ?? []).map((place, at) => markedLiteral(place, n + at))
  }
  if (whole.has(key) || clauses.has(clause)) return []
  const to = value.length
  const found = literalOf(value)
  if (found !== undefined) return [markedLiteral({ from: found.at, to, param: found.param, list: false }, n)]
  const from = list.exec(value)?.[0].length
  const values = from === undefined ? undefined : parseList(value.slice(from))
  if (from === undefined || values === undefined) return []
  return [markedLiteral({ from, to, param: arrayLiteral(values), list: true }, n)]
}

/** The text between the literals. */
const between = (value: string, literals: ReadonlyArray<Literal>) => [
  ...literals.map(({ from }, at) => value.slice(literals[at - 1]?.to ?? 0, from)),
  value.slice(literals.at(-1)?.to ?? 0)
]

export const rowShape = (pairs: Pairs): RowShape => {
  const all: Array<Literal> = []
  const byPair: Array<ReadonlyArray<Literal>> = []
  let key = ""
  let offset = -1
  for (const [name, value] of pairs) {
    const literals = literalsOf(name, value, all.length)
    // The lengths make the joined text unambiguous.
    key += `${name.length}:${name}${literals.length}~`
    for (const kept of between(value, literals)) key += `${kept.length}:${kept}`
    if (name === "offset" && literals.length > 0) offset = all.length
    all.push(...literals)
    byPair.push(literals)
  }
  return {
    key,
    literals: all.map(({ param }) => param),
    offset,
    marked: () => ({
      pairs: pairs.map(([name, value], pair) => {
        const literals = byPair[pair] ?? []
        const kept = between(value, literals)
        return [name, kept.map((text, at) => `${text}${literals[at]?.mark ?? ""}`).join("")] as const
      }),
      params: all.map((literal) => literal.marked)
    })
  }
}

/** The SQL text for all requests of a shape; a number among the parameters is the index of a literal. */
export interface RowTemplate {
  readonly text: string
  readonly params: ReadonlyArray<string | null | number>
  readonly bounded: boolean
  readonly costly: boolean
}

type Value = RowSql["params"][number]

/** Undefined unless the texts are equal and all marks became parameters. A mark of bytes is what the body becomes. */
export const rowTemplate = (real: RowSql, marked: RowSql, marks: ReadonlyArray<Value>): RowTemplate | undefined => {
  if (real.text !== marked.text || !real.prepare) return undefined
  const params: Array<string | null | number> = []
  for (const param of marked.params) {
    const at = param === null ? -1 : marks.indexOf(param)
    if (at < 0 && param instanceof Uint8Array) return undefined
    params.push(at < 0 ? (param as string | null) : at)
  }
  return marks.every((_, at) => params.includes(at))
    ? { text: real.text, params, bounded: real.bounded === true, costly: real.costly === true }
    : undefined
}

export const filled = ({ text, params, bounded, costly }: RowTemplate, literals: ReadonlyArray<Value>): RowSql => ({
  text,
  params: params.map((param) => (typeof param === "number" ? (literals[param] ?? null) : param)),
  prepare: true,
  bounded,
  costly
})

/** Shapes kept for one catalogue, with a text of a few kB each. */
const maxShapes = 1000
/** A shape with a longer key is not kept. */
const maxKeyLength = 16 * 1024

interface Shapes<A extends object> {
  readonly kept: LRUCache<string, A>
  /** Keys planned once: to keep a shape costs as much as to plan it, so it is kept the second time. */
  readonly seen: LRUCache<string, true>
}

/** Plans by catalogue and by the key of their shape. */
export class ShapeCache<A extends object> {
  private readonly byCatalogue = new WeakMap<Catalogue, Shapes<A>>()

  get(catalogue: Catalogue, key: string): A | undefined {
    return this.byCatalogue.get(catalogue)?.kept.get(key)
  }

  /** `make` is called if the key was planned before. */
  planned(catalogue: Catalogue, key: string, make: () => A | undefined): void {
    if (key.length > maxKeyLength) return
    const shapes = this.of(catalogue)
    if (!shapes.seen.has(key)) {
      shapes.seen.set(key, true)
      return
    }
    const made = make()
    if (made !== undefined) shapes.kept.set(key, made)
  }

  private of(catalogue: Catalogue): Shapes<A> {
    const known = this.byCatalogue.get(catalogue)
    if (known !== undefined) return known
    const made = {
      kept: new LRUCache<string, A>({ max: maxShapes }),
      seen: new LRUCache<string, true>({ max: maxShapes })
    }
    this.byCatalogue.set(catalogue, made)
    return made
  }
}
