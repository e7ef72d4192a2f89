import { type Call, domainOf, flatly, glued, plainly, rowType } from "./glue.ts"
import { called, type Expr, lockClass, type Maker } from "./maker.ts"

/** Every way in which PostgreSQL's grammar calls a function of one argument. */
export const calls: Readonly<Record<string, Call>> = {
  "call qualified": (_, f) => plainly(f),
  "call bare": (_, f) => (x) => `${f.name}(${x})`,
  "call quoted": (_, f) => (x) => `"${f.schema}"."${f.name}"(${x})`,
  "call in U& quotes": (_, f) => (x) => `U&"${f.name.replace("c", "\\0063")}"(${x})`,
  "call with named argument": (_, f) => (x) => `${f.schema}.${f.name}(a => ${x})`,
  "call with named argument (:=)": (_, f) => (x) => `${f.name}(a := ${x})`,
  "attribute of an expression": (_, f) => (x) => `(${x}).${f.name}`,
  "attribute of an argument":
    (_, f) =>
    (x, { arg }) =>
      arg === undefined ? `(${x}).${f.name}` : `${arg}.${f.name}`,
  "attribute of a parenthesised argument":
    (_, f) =>
    (x, { arg }) =>
      `(${arg ?? x}).${f.name}`,
  "attribute of a qualified argument":
    (_, f) =>
    (x, { arg, fn }) =>
      arg === undefined || fn === undefined ? `((${x})).${f.name}` : `${fn}.${arg}.${f.name}`,
  "attribute of a positional argument":
    (_, f) =>
    (x, { arg }) =>
      arg === undefined ? `(${x}).${f.name}` : `$1.${f.name}`,
  "attribute of a FROM item": (m, f) => {
    const item = m.random.of<(x: string) => string>([
      (x) => `unnest(array[${x}])`,
      (x) => `coalesce(${x})`,
      (x) => `greatest(${x})`,
      (x) => `rows from (unnest(array[${x}]))`,
      (x) => `lateral unnest(array[${x}])`
    ])
    return flatly(
      (x) => `(select i.${f.name} from ${item(m.kind === "int[]" ? x : x)} i limit 1)`,
      (x) => `(${x}).${f.name}`
    )
  },
  "attribute of a FROM item in parentheses": (_, f) =>
    flatly(
      (x) => `(select (i).${f.name} from coalesce(${x}) i)`,
      (x) => `(${x}).${f.name}`
    ),
  "attribute of a subquery": (_, f) =>
    flatly(
      (x) => `(select ${x}).${f.name}`,
      (x) => `(${x}).${f.name}`
    ),
  "attribute of a case": (_, f) => (x) => `(case when true then ${x} end).${f.name}`,
  "attribute of a coalesce": (_, f) => (x) => `(coalesce(${x})).${f.name}`,
  "attribute of a cast": (m, f) => (x) =>
    m.random.of([`((${x})::${m.kind}).${f.name}`, `(cast(${x} as ${m.kind})).${f.name}`]),
  "attribute of a literal": (m, f) => () => `(${m.literal}).${f.name}`,
  "attribute of an element": (m, f) => (x) =>
    m.kind === "int[]" ? `(${x}).${f.name}` : `((array[${x}])[1]).${f.name}`,
  "attribute of an argument's element": (m, f) => {
    if (m.kind === "int[]") return (x) => `(${x}).${f.name}`
    const g = m.name("g")
    m.add(
      `create function public.${g}(b ${m.kind}[]) returns ${m.kind} stable ${m.random.of([
        `language sql as $g$ select b[1].${f.name} $g$`,
        `language sql as $g$ select $1[1].${f.name} $g$`,
        `return b[1].${f.name}`,
        `language plpgsql as $g$ begin return b[1].${f.name}; end $g$`
      ])}`
    )
    return (x) => m.random.of([`${g}(array[${x}])`, `(array[${x}]).${g}`])
  },
  "attribute of an attribute": (_, f) => (x) => `(${x}).${f.name}.${f.name}`,
  "attribute with a decoy": (m, f) => {
    m.add(`create type public.${f.name}_row as (${f.name} ${m.kind}, b int)`)
    return (x) =>
      m.random.of([
        `(${x}).${f.name}`,
        `case when (row(${x}, 1)::public.${f.name}_row).${f.name} is null then ${x} else (${x}).${f.name} end`
      ])
  },
  TREAT: (m, f) => {
    const d = domainOf(m, f)
    return (x) =>
      m.random.of([`treat(${x} as ${d})`, `case when treat(${x}::public.${d} as text) is null then ${x} else ${x} end`])
  },
  "attribute of a column": (_, f) =>
    flatly(
      (x) => `(select (c).${f.name} from (values (${x})) r (c))`,
      (x) => `(${x}).${f.name}`
    ),
  "attribute of a qualified column": (_, f) =>
    flatly(
      (x) => `(select (r.c).${f.name} from (select ${x} as c) r)`,
      (x) => `(${x}).${f.name}`
    ),
  "attribute of WITH": (_, f) =>
    flatly(
      (x) => `(with r(c) as (select ${x}) select (r.c).${f.name} from r)`,
      (x) => `(${x}).${f.name}`
    ),
  "attribute of a row": (m, f) => {
    const type = rowType(m)
    const g = glued(m, `a public.${type}`, `returns ${m.kind}`, called(f, `($1).v`))
    return m.random.of<Expr>([
      (x) => `(row(${x}, 1)::public.${type}).${g}`,
      (x) => `${g}(row(${x}, 1)::public.${type})`,
      flatly(
        (x) =>
          `(select r.${g} from (select (row(${x}, 1)::public.${type}).*) q, lateral (select (q.v, q.i)::public.${type} as r) s)`,
        (x) => `(row(${x}, 1)::public.${type}).${g}`
      ),
      flatly(
        (x) => `(select (r).${g} from (select row(${x}, 1)::public.${type} as r) s)`,
        (x) => `(row(${x}, 1)::public.${type}).${g}`
      )
    ])
  },
  "attribute of a table's row": (m, f) => {
    const type = m.name("tab")
    m.add(
      `create table public.${type} (v ${m.kind}, i int); insert into public.${type} values (${m.literal}, 1); grant select on public.${type} to public`
    )
    const g = glued(m, `a public.${type}`, `returns ${m.kind}`, called(f, `($1).v`))
    return m.random.of<Expr>([
      () => `(select r.${g} from public.${type} r limit 1)`,
      () => `(select (r).${g} from public.${type} r limit 1)`,
      () => `(select ${type}.${g} from public.${type} limit 1)`,
      () => `(select ${g}(r) from public.${type} r limit 1)`,
      () => `(select ${g}(r.*) from public.${type} r limit 1)`,
      () => `(select (r.*).${g} from public.${type} r limit 1)`,
      () => `(select q.${g} from (select * from public.${type}) q, public.${type} r limit 1)`,
      () => `(select v from public.${type} r order by r.${g} limit 1)`,
      () => `(select max(r.i)::text from public.${type} r group by r.${g} limit 1)::${m.kind}`,
      () => `(table public.${type} limit 0)`
    ])
  },
  "variadic function": (m, f) => {
    const g = glued(
      m,
      `variadic a ${m.kind === "int[]" ? "int" : m.kind}[]`,
      `returns ${m.kind}`,
      called(f, m.kind === "int[]" ? "$1" : "$1[1]")
    )
    return (x) =>
      m.kind === "int[]"
        ? `${g}(variadic ${x})`
        : m.random.of([`${g}(variadic array[${x}])`, `${g}(${x}, ${x})`, `${g}(variadic a => array[${x}])`])
  },
  "default of an argument": (m, f) => {
    const g = glued(
      m,
      `a ${m.kind}, b ${m.kind} default ${called(f, m.literal)}`,
      `returns ${m.kind}`,
      "coalesce($1, $2)"
    )
    return (x) => m.random.of([`${g}(${x})`, `${g}(a => ${x})`, `public.${g}(${x})`, `(${x}).${g}`])
  },
  "default of the only argument": (m, f) => {
    const g = glued(m, `a ${m.kind} default ${called(f, m.literal)}`, `returns ${m.kind}`, "$1")
    return () => `${g}()`
  },
  "default in another notation": (m, f) => {
    const g = glued(
      m,
      `a ${m.kind}, b ${m.kind} default (${m.literal}).${f.name}`,
      `returns ${m.kind}`,
      "coalesce($1, $2)"
    )
    return (x) => `${g}(${x})`
  },
  "polymorphic function": (m, f) => {
    const g = glued(m, "a anyelement", "returns anyelement", called(f, "$1"))
    return (x) => m.random.of([`${g}(${x})`, `(${x}).${g}`])
  },
  "overloaded function": (m, f) => {
    const g = glued(m, `a ${m.kind}`, `returns ${m.kind}`, called(f, "$1"))
    m.glue(`public.${g}`, "a date", "returns date", "$1")
    m.glue(`public.${g}`, `a ${m.kind}, b int`, `returns ${m.kind}`, "$1")
    return (x) => m.random.of([`${g}(${x})`, `(${x}).${g}`])
  },
  "function with OUT": (m, f) => {
    const g = glued(m, `a ${m.kind}, out b ${m.kind}, out c int`, "", `${called(f, "$1")}, 1`)
    return m.random.of<Expr>([
      (x) => `(${g}(${x})).b`,
      flatly(
        (x) => `(select b from ${g}(${x}))`,
        (x) => `(${g}(${x})).b`
      ),
      flatly(
        (x) => `(select (r).b from ${g}(${x}) r)`,
        (x) => `(${g}(${x})).b`
      ),
      (x) => `((${x}).${g}).b`
    ])
  },
  "function returning TABLE": (m, f) => {
    const g = m.name("g")
    m.add(
      `create function public.${g}(a ${m.kind}) returns table (b ${m.kind}, c int) stable language sql as $g$ select ${called(f, "$1")}, 1 $g$`
    )
    return flatly(
      (x) => `(select b from ${g}(${x}))`,
      (x) => `(${x}).${g}`
    )
  },
  "set-returning function": (m, f) => {
    const g = glued(m, `a ${m.kind}`, `returns setof ${m.kind}`, called(f, "$1"))
    return m.random.of<Expr>([
      (x) => `(select c from ${g}(${x}) c limit 1)`,
      (x) => `(select ${g}(${x}) limit 1)`,
      (x) => `(select (${x}).${g} limit 1)`,
      (x) => `(select c from rows from (${g}(${x}), generate_series(1, 1)) r (c, n) limit 1)`,
      (x) => `(select c from ${g}(${x}) with ordinality r (c, n) limit 1)`,
      (x) => `(select l.c from (values (${x})) r (v), lateral ${g}(r.v) l (c) limit 1)`,
      (x) => `(select l.c from (values (${x})) r (v), ${g}(r.v) as l (c) limit 1)`
    ])
  },
  "query in a text": (_, f) => {
    const query = `select ${called(f, "1")}`
    return (x) => `case when query_to_xml('${query.replaceAll("'", "''")}', true, true, '') is not null then ${x} end`
  },
  "built-in that locks": (m) => {
    const way = m.random.of([
      `pg_advisory_lock_shared(${lockOf(m)})`,
      `(${lockOf(m)}).pg_advisory_lock_shared`,
      `(${lockOf(m)}).pg_try_advisory_lock_shared`,
      `(${lockOf(m)}).pg_advisory_lock`,
      `pg_catalog.pg_try_advisory_lock_shared(${lockOf(m)})`
    ])
    return (x) => `case when ((${way})::text) is not null then ${x} end`
  },
  "built-in that locks, of a FROM item": (m) =>
    flatly(
      (x) =>
        `(select case when (i.pg_try_advisory_lock_shared) is not null then ${x} end from coalesce(${lockOf(m)}) i)`,
      (x) => `case when (${lockOf(m)}).pg_try_advisory_lock_shared then ${x} end`
    )
}

/** The one key of 64 bits that PostgreSQL shows as the two keys of the case. */
const lockOf = ({ id }: Maker) => `'${(BigInt(lockClass) << 32n) + BigInt(id)}'::bigint`
