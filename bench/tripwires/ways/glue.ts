import { called, type Expr, type Fn, type Maker } from "./maker.ts"

export type Call = (m: Maker, f: Fn) => Expr

/** An expression without subqueries instead of one with them, where those are not accepted. */
export const flatly =
  (nested: Expr, flat: Expr): Expr =>
  (x, at) =>
    at.flat === true ? flat(x, at) : nested(x, at)

export const plainly =
  (f: Fn): Expr =>
  (x) =>
    called(f, x)

/** Glue functions are public, so that they are found by every spelling. */
export const glued = (m: Maker, args: string, result: string, value: string, more = ""): string => {
  const name = m.name("g")
  m.glue(`public.${name}`, args, result, value, more)
  return name
}

/** A type with one field, and functions on it. */
export const rowType = (m: Maker) => {
  const type = m.name("row")
  m.add(
    m.random.of([
      `create type public.${type} as (v ${m.kind}, i int)`,
      `create table public.${type} (v ${m.kind}, i int); grant select on public.${type} to public; insert into public.${type} values (${m.literal}, 1)`
    ])
  )
  return type
}

export const domainOf = (m: Maker, f: Fn) => {
  const domain = m.name("d")
  m.add(
    m.random.of([
      `create domain public.${domain} as ${m.kind} check (${called(f, "value")} is not null or value is null)`,
      `create domain public.${domain} as ${m.kind} default ${m.literal} constraint one check (true) constraint two check ((${called(f, "value")} = value) is not false)`,
      `create domain public.${domain}_base as ${m.kind} check (${called(f, "value")} is not null or value is null); create domain public.${domain} as public.${domain}_base`
    ])
  )
  return domain
}
