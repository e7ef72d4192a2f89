import { type Expr, type Fn, type Maker } from "./maker.ts"
import { blocks } from "./plpgsql.ts"
import { type Parts, plainTable, queries, relationOf } from "./queries.ts"

const volatility = ["", "", "stable", "immutable", "volatile"]
const options = [
  "",
  "",
  "",
  "",
  "security definer",
  "set search_path = public",
  "set search_path = ''",
  "set search_path = pg_catalog, public",
  "strict",
  "leakproof",
  "parallel safe",
  "cost 10000",
  "set work_mem = '4MB'",
  "security definer set search_path = public, pg_temp"
]

const argument = (m: Maker, defaults: boolean) => `a ${m.kind}${defaults ? ` default ${m.literal}` : ""}`

/** Makes a function `schema.name(a kind) returns kind`; the argument has a default where it is called from outside. */
type Body = (m: Maker, e: Expr, fn: Fn, outer: boolean) => void

const partsOf = (m: Maker, e: Expr, { name }: Fn, a = "a"): Parts => ({
  m,
  e,
  name,
  a,
  value: e(a, { arg: a, fn: name })
})

const headOf = (m: Maker, { name, schema }: Fn, outer: boolean, more: ReadonlyArray<string> = options) =>
  `create function ${schema}.${name}(${argument(m, outer)}) returns ${m.kind} ${m.random.of(volatility)} ${m.random.of(more)}`

const inSql =
  (write: (query: string, parts: Parts) => string, standard = false): Body =>
  (m, e, fn, outer) => {
    const parts = partsOf(m, e, fn, m.random.of(["a", "a", "$1"]))
    const body = write(m.way(queries)(parts), parts)
    m.add(`${headOf(m, fn, outer)} ${standard ? body : `language sql as $b$ ${body} $b$`}`)
  }

export const bodies: Readonly<Record<string, Body>> = {
  "SQL text": inSql((query) => query),
  "SQL text, the last of two": inSql((query) => `select 1; ${query}`),
  "SQL text, the first of two": inSql((query, { a }) => `${query}; select ${a}`),
  "SQL text with comments": inSql((query) => `/* a */ ${query} -- b\n;`),
  "SQL text that calls a procedure": (m, e, fn, outer) => {
    const name = m.name("proc")
    m.add(
      `create procedure public.${name}(b ${m.kind}) language sql as $p$ select ${e("b", { arg: "b", fn: name })} $p$`
    )
    m.add(`${headOf(m, fn, outer)} language sql as $b$ call public.${name}(a); select a $b$`)
  },
  "namesakes in two schemas": (m, e, fn, outer) => {
    const inner = m.name("inner")
    const [calm, spied] = m.random.of([
      ["public", "other"],
      ["other", "public"]
    ])
    m.add(`create function ${calm}.${inner}(a ${m.kind}) returns ${m.kind} stable language sql as $b$ select a $b$`)
    m.add(
      `create function ${spied}.${inner}(a ${m.kind}) returns ${m.kind} language sql as $b$ select ${e("a", { arg: "a", fn: inner })} $b$`
    )
    const path = m.random.of(["", "", "set search_path = other, public", "set search_path = public, other"])
    const call = m.random.of([`${inner}(a)`, `(a).${inner}`])
    m.add(
      `${headOf(m, fn, outer, [path])} ${m.random.of([`language sql as $b$ select ${call} $b$`, `language plpgsql as $b$ begin return ${call}; end $b$`])}`
    )
  },
  "SQL-standard RETURN": (m, e, fn, outer) => m.add(`${headOf(m, fn, outer)} return ${partsOf(m, e, fn).value}`),
  "BEGIN ATOMIC": inSql((query) => `begin atomic ${query}; end`, true),
  "BEGIN ATOMIC, the first of two": inSql((query, { a }) => `begin atomic ${query}; select ${a}; end`, true),
  "PL/pgSQL": (m, e, fn, outer) => {
    const parts = partsOf(m, e, fn)
    const [declarations, statements] = m.way(blocks)(parts)
    m.add(
      `${headOf(m, fn, outer)} language plpgsql as $b$ ${declarations === "" ? "" : `declare ${declarations}`} begin ${statements} end $b$`
    )
  },
  "PL/pgSQL with a label": (m, e, fn, outer) => {
    const parts = partsOf(m, e, fn)
    const [declarations, statements] = m.way(blocks)(parts)
    m.add(`${headOf(m, fn, outer)} language plpgsql as $b$ #variable_conflict use_variable
      <<outer_block>> ${declarations === "" ? "" : `declare ${declarations}`} begin ${statements} end outer_block $b$`)
  },
  "default of an argument that is written": (m, e, fn, outer) => {
    const table = plainTable(partsOf(m, e, fn))
    const query = `insert into ${table} (id, v) values ((random() * 1000000000)::int4, coalesce(b, a)) returning v`
    m.add(`create function ${fn.schema}.${fn.name}(${argument(m, outer)}, b ${m.kind} default ${e(m.literal, {})}) returns ${m.kind}
      ${m.random.of([`language sql as $b$ ${query} $b$`, `begin atomic ${query}; end`, `language plpgsql as $b$ declare x ${m.kind}; begin ${query} into x; return x; end $b$`])}`)
  },
  "default of an argument that is read": (m, e, fn, outer) =>
    m.add(`create function ${fn.schema}.${fn.name}(${argument(m, outer)}, b ${m.kind} default ${e(m.literal, {})}) returns ${m.kind} stable
      ${m.random.of(["language sql as $b$ select coalesce(b, a) $b$", "return coalesce(b, a)", "language plpgsql as $b$ begin return b; end $b$"])}`),
  "type of an argument": (m, e, fn, outer) => {
    const type = `public.${m.name("dom")}`
    m.add(`create domain ${type} as ${m.kind} check ((${e("value", { flat: true })}) is not null or true)`)
    m.add(
      `create function ${fn.schema}.${fn.name}(a ${type}${outer ? ` default ${m.literal}` : ""}) returns ${m.kind} stable ${m.random.of(["language sql as $b$ select a $b$", "return a"])}`
    )
  },
  "type of the result": (m, e, fn, outer) => {
    const type = `public.${m.name("dom")}`
    m.add(`create domain ${type} as ${m.kind} check ((${e("value", { flat: true })}) is not null or true)`)
    m.add(
      `create function ${fn.schema}.${fn.name}(${argument(m, outer)}) returns ${type} stable ${m.random.of(["language sql as $b$ select a $b$", "return a", "language plpgsql as $b$ begin return a; end $b$"])}`
    )
  },
  "cast of the result": (m, e, fn, outer) => {
    const type = `public.${m.name("res")}`
    m.add(
      `create type ${type} as (v ${m.kind}, i int); create function ${type}_cast(t ${type}) returns ${m.kind} language plpgsql as $f$ begin return ${e("t.v", {})}; end $f$; create cast (${type} as ${m.kind}) with function ${type}_cast(${type}) as ${m.random.of(["assignment", "implicit"])}`
    )
    m.add(
      `create function ${fn.schema}.${fn.name}(${argument(m, outer)}) returns ${m.kind} stable ${m.random.of([`language sql as $b$ select row(a, 1)::${type} $b$`, `return row(a, 1)::${type}`, `language plpgsql as $b$ begin return row(a, 1)::${type}; end $b$`])}`
    )
  },
  "rows of a relation": (m, e, fn, outer) => {
    const name = relationOf(partsOf(m, e, fn))
    if (outer)
      m.add(
        `create function ${fn.schema}.${fn.name}(${argument(m, outer)}) returns setof ${name} ${m.random.of(volatility)} ${m.random.of([`language sql as $b$ select * from ${name} $b$`, `begin atomic select * from ${name}; end`, `language plpgsql as $b$ begin return query select * from ${name}; end $b$`, `language plpgsql as $b$ declare r ${name}; begin for r in select * from ${name} loop return next r; end loop; end $b$`])}`
      )
    else m.add(`${headOf(m, fn, outer)} language sql as $b$ select v from ${name} limit 1 $b$`)
  }
}
