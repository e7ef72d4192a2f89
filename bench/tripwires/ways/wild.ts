import { kinds, lockClass, type Maker, namesOfKinds } from "./maker.ts"

interface Made {
  readonly undo: ReadonlyArray<string>
}

const nothing: Made = { undo: [] }

/** A tripwire of any arguments. */
const tripwire = (m: Maker, name: string, args: string, returns: string, value: string) =>
  m.add(`create function ${name}(${args}) returns ${returns} immutable language plpgsql as $t$ begin
    perform pg_catalog.pg_advisory_lock_shared(${lockClass}, ${m.id}); perform pg_catalog.pg_stat_force_next_flush();
    return ${value}; end $t$`)

const comparisons = [
  "=",
  "<>",
  "<",
  ">",
  "<=",
  ">=",
  "~~",
  "~~*",
  "!~~",
  "~",
  "@>",
  "<@",
  "&&",
  "<<",
  "-|-",
  "->",
  "->>",
  "||",
  "+"
]

/** Objects that PostgreSQL may choose for statements that do not name them. */
export const wild: Readonly<Record<string, (m: Maker) => Made>> = {
  "operator beside a built-in": (m) => {
    const fn = `public.${m.name("trip")}`
    const [left, right] = [m.random.of(namesOfKinds), m.random.of([m.kind, ...namesOfKinds])]
    tripwire(m, fn, `a ${left}, b ${right}`, "bool", "true")
    m.add(
      `create operator public.${m.random.of(comparisons)} (leftarg = ${left}, rightarg = ${right}, function = ${fn})`
    )
    return nothing
  },
  "operator for a type beside": (m) => {
    const fn = `public.${m.name("trip")}`
    const type = m.random.of([
      "varchar",
      "char(3)",
      "name",
      "smallint",
      "float4",
      "date",
      "json",
      "timestamp",
      "text[]",
      "oid",
      "unknown"
    ])
    tripwire(m, fn, `a ${type}, b ${type}`, "bool", "true")
    m.add(
      `create operator public.${m.random.of(comparisons)} (leftarg = ${type}, rightarg = ${type}, function = ${fn})`
    )
    return nothing
  },
  "negator or commutator of a built-in": (m) => {
    const fn = `public.${m.name("trip")}`
    tripwire(m, fn, `a ${m.kind}, b ${m.kind}`, "bool", "true")
    m.add(
      `create operator public.${m.operator()} (leftarg = ${m.kind}, rightarg = ${m.kind}, function = ${fn}, ${m.random.of(["negator", "commutator"])} = operator(pg_catalog.=))`
    )
    return nothing
  },
  "overload of a built-in": (m) => {
    const fn = m.random.of([
      "lower",
      "upper",
      "coalesce_",
      "length",
      "max",
      "min",
      "count",
      "to_json",
      "to_jsonb",
      "row_to_json",
      "json_agg",
      "json_build_object",
      "concat",
      "format",
      "set_config",
      "pg_notify",
      "now"
    ])
    tripwire(m, `public.${fn}`, `a ${m.kind}`, m.kind, "a")
    return nothing
  },
  "cast between built-ins": (m) => {
    const fn = `public.${m.name("trip")}`
    const to = m.random.of(["int", "text", "json", "jsonb", "date", "bool"].filter((type) => type !== m.kind))
    // The service's own statements cast between these types too, and must go on working: only a superuser makes such a cast.
    const read = { int: "int4in", text: "textin", json: "json_in", jsonb: "jsonb_in", date: "date_in", bool: "boolin" }[
      to
    ]
    tripwire(
      m,
      fn,
      `a ${m.kind}`,
      to,
      to === "text" ? "format('%s', a)" : m.kind === "text" ? `${read}(textout(a))` : "null"
    )
    m.add(
      `create cast (${m.kind} as ${to}) with function ${fn}(${m.kind}) ${m.random.of(["", "as assignment", "as implicit"])}`
    )
    return { undo: [`drop cast if exists (${m.kind} as ${to})`] }
  },
  "operator class for a built-in type": (m) => {
    const fn = `public.${m.name("trip")}`
    tripwire(m, fn, `a ${m.kind}, b ${m.kind}`, "int", "0")
    m.add(
      `create operator class public.${m.name("ops")} for type ${m.kind} using btree as operator 1 <, operator 2 <=, operator 3 =, operator 4 >=, operator 5 >, function 1 ${fn}(${m.kind}, ${m.kind})`
    )
    return nothing
  },
  "function in pg_catalog": (m) => {
    const fn = m.random.of(["lower", "length", "to_jsonb", "jsonb_build_object", "coalesce"])
    tripwire(m, `pg_catalog.${fn}`, `a ${m.kind}`, m.kind, "a")
    return { undo: [`drop function if exists pg_catalog.${fn}(${m.kind})`] }
  },
  "tripwire in the language internal": (m) => {
    const fn = `public.${m.name("trip")}`
    m.add(`create function ${fn}(int, int) returns void language internal as 'pg_advisory_lock_shared_int4'`)
    const table = `public.${m.name("t")}`
    m.add(
      `create table ${table} (id int); insert into ${table} values (1); grant all on ${table} to public; alter table ${table} enable row level security; create policy p on ${table} using (${fn}(${lockClass}, ${m.id}) is not null)`
    )
    return nothing
  },
  "implicit cast to a built-in": (m) => {
    const type = `public.${m.name("shape")}`
    const fn = `public.${m.name("trip")}`
    m.add(`create type ${type} as (v ${m.kind})`)
    tripwire(m, fn, `a ${m.kind}`, type, "row(a)")
    m.add(`create cast (${m.kind} as ${type}) with function ${fn}(${m.kind}) as implicit`)
    m.add(`create function public.lower(a ${type}) returns text language sql as $f$ select 'a' $f$`)
    return { undo: [`drop cast if exists (${m.kind} as ${type})`] }
  },
  "enum with a cast and an operator": (m) => {
    const type = `public.${m.name("mood")}`
    const fn = `public.${m.name("trip")}`
    m.add(`create type ${type} as enum ('sad')`)
    tripwire(
      m,
      fn,
      `a ${type}, b ${m.random.of([type, "text", "anyenum"])}`.replace("b anyenum", `b ${type}`),
      "bool",
      "true"
    )
    m.add(
      `create operator public.${m.random.of(comparisons)} (leftarg = ${type}, rightarg = ${type}, function = ${fn})`
    )
    m.add(
      `create table public.${m.name("moods")} (id int, m ${type} default 'sad', v ${m.kind} default ${kinds[m.kind]})`
    )
    return nothing
  }
}
