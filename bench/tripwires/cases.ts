import { type Random } from "../isolation/random.ts"
import { allCalls, allRelations } from "./ways/all.ts"
import { bodies } from "./ways/bodies.ts"
import { called, type Expr, type Fn, Maker, namesOfKinds } from "./ways/maker.ts"
import { wraps } from "./ways/syntax.ts"
import { wild } from "./ways/wild.ts"

/** Objects in which a tripwire is hidden, or nothing, and what is asked of them. */
export interface Case {
  readonly id: number
  readonly name: string
  /** Of what is asked for: the first one of the service, or another. */
  readonly schema: string
  readonly kind: string
  readonly ddl: ReadonlyArray<string>
  /** Undoes what does not lie in the schemas that each batch makes again. */
  readonly undo: ReadonlyArray<string>
  readonly ways: ReadonlyArray<string>
  readonly isFunction: boolean
  /** A tripwire is in it. */
  readonly trips: boolean
}

const plain: Expr = (x) => x

/** How many constructs are around the call of the tripwire. */
const depths = [
  [4, 0],
  [5, 1],
  [3, 2],
  [1, 3]
] as const

const around = (m: Maker, e: Expr): Expr => {
  const { random } = m
  if (random.chance(0.5)) return m.way(wraps)(m, e)
  if (random.chance(0.7)) {
    const fn: Fn = { schema: m.schema(), name: m.name("f") }
    m.way(bodies)(m, e, fn, false)
    return m.way(allCalls)(m, fn)
  }
  const relation = `public.${m.name("v")}`
  m.way(allRelations)(m, e, relation)
  const reads = random.of<Expr>([
    (x) => `coalesce((select v from ${relation} limit 1), ${x})`,
    (x) => `case when exists (select from ${relation} r) then ${x} end`,
    (x) => `(select q.v from ${relation} q, (values (${x})) s (c) limit 1)`,
    (x) => `case when ${x} in (select r.v from ${relation} r) then ${x} else ${x} end`
  ])
  return (x, at) => (at.flat === true ? e(x, at) : reads(x, at))
}

/** What is called where nothing is hidden. */
const harmless = (m: Maker): Expr => {
  const { kind, random } = m
  if (random.chance(0.5)) return plain
  const fn: Fn = { schema: m.schema(), name: m.name("calm") }
  m.add(
    random.of([
      `create function ${fn.schema}.${fn.name}(a ${kind}) returns ${kind} stable language sql as $c$ select a $c$`,
      `create function ${fn.schema}.${fn.name}(a ${kind}) returns ${kind} stable return a`,
      `create function ${fn.schema}.${fn.name}(a ${kind}) returns ${kind} stable language plpgsql as $c$ begin return a; end $c$`
    ])
  )
  return (x) => called(fn, x)
}

export const makeCase = (random: Random, id: number): Case => {
  const m = new Maker(random, random.of(namesOfKinds), id)
  const trips = random.chance(0.7)
  const name = `c${id}`
  let e: Expr = trips ? m.way(allCalls)(m, m.tripwire()) : harmless(m)
  for (let depth = random.weighted(depths); depth > 0; depth--) e = around(m, e)
  const isFunction = random.chance(0.5)
  const schema = random.chance(0.2) ? "other" : "public"
  if (isFunction) m.way(bodies)(m, e, { schema, name }, true)
  else m.way(allRelations)(m, e, `${schema}.${name}`)
  return { id, name, schema, kind: m.kind, ddl: m.ddl, undo: [], ways: m.ways, isFunction, trips }
}

/** What PostgreSQL may choose for any statement is made alone, because it makes every other case unclean. */
export const makeWildCase = (random: Random, id: number): Case => {
  const m = new Maker(random, random.of(namesOfKinds), id)
  const { undo } = m.way(wild)(m)
  const name = `c${id}`
  m.way(allRelations)(m, plain, `public.${name}`)
  return { id, name, schema: "public", kind: m.kind, ddl: m.ddl, undo, ways: m.ways, isFunction: false, trips: true }
}
