import { type Expr, type Fn, type Maker } from "./maker.ts"
import { relations, tableOf } from "./relations.ts"

/** What a body is made of: a name for its argument, and the language of the expression's place. */
interface Parts {
  readonly m: Maker
  readonly e: Expr
  readonly name: string
  /** The expression over the argument. */
  readonly value: string
  /** The argument. */
  readonly a: string
}

/** Statements that are written in SQL and in PL/pgSQL alike: they return one value of the kind. */
type Query = (parts: Parts) => string

/** A relation that evaluates the expression when it is written or read. */
const relationOf = ({ e, m }: Parts) => {
  const name = `public.${m.name("rel")}`
  m.way(relations)(m, e, name)
  return name
}

const plainTable = ({ m }: Parts) => {
  const name = `public.${m.name("plain")}`
  tableOf(m, name)
  return name
}

const queries: Readonly<Record<string, Query>> = {
  SELECT: ({ value }) => `select ${value}`,
  "SELECT FROM": (parts) => `select ${parts.value} from ${plainTable(parts)} r where r.id = 1`,
  "SELECT of a relation": (parts) => `select v from ${relationOf(parts)} r order by r.id limit 1`,
  "SELECT beside a relation": (parts) => `select ${parts.a} from ${relationOf(parts)} r where r.id > 0 limit 1`,
  "SELECT of a join": (parts) =>
    `select ${parts.a} from ${relationOf(parts)} r join ${plainTable(parts)} s on s.id = r.id where r.v is not distinct from s.v limit 1`,
  "SELECT in an expression's WHERE": (parts) =>
    `select v from ${plainTable(parts)} r where (${parts.e("r.v", {})}) is not null limit 1`,
  "ORDER BY the expression": (parts) =>
    `select v from ${plainTable(parts)} r order by (${parts.e("r.v", {})}) is null limit 1`,
  VALUES: ({ value }) => `values (${value})`,
  TABLE: (parts) => {
    const view = `public.${parts.m.name("one")}`
    parts.m.add(`create view ${view} as select ${parts.e(parts.m.literal, {})} as v; grant all on ${view} to public`)
    return `table ${view}`
  },
  INSERT: (parts) =>
    `insert into ${plainTable(parts)} (id, v) select (random() * 1000000000)::int4, ${parts.value} returning v`,
  "INSERT of a relation": (parts) =>
    `insert into ${relationOf(parts)} (id, v) values ((random() * 1000000000)::int4, ${parts.a}) returning v`,
  "INSERT with defaults": (parts) => {
    const name = relationOf(parts)
    return `insert into ${name} (id) values ((random() * 1000000000)::int4) returning v`
  },
  "INSERT of DEFAULT": (parts) =>
    `insert into ${relationOf(parts)} (id, v, t) values ((random() * 1000000000)::int4, default, default) returning v`,
  "INSERT ON CONFLICT": (parts) =>
    `insert into ${plainTable(parts)} as r (id, v) values (1, ${parts.a}) on conflict (id) do update set v = ${parts.e("excluded.v", {})} where r.id > 0 returning v`,
  "INSERT ON CONFLICT DO NOTHING": (parts) =>
    `insert into ${relationOf(parts)} (id, v) values (1, ${parts.a}) on conflict do nothing returning v`,
  "INSERT ON CONFLICT by expression": (parts) => {
    const name = plainTable(parts)
    parts.m.add(`create unique index on ${name} ((${parts.e("v", { flat: true })}))`)
    return `insert into ${name} (id, v) values ((random() * 1000000000)::int4, ${parts.a}) on conflict ((${parts.e("v", { flat: true })})) do nothing returning v`
  },
  "INSERT OVERRIDING": (parts) =>
    `insert into ${plainTable(parts)} (id, v) overriding user value values ((random() * 1000000000)::int4, ${parts.value}) returning v`,
  RETURNING: (parts) =>
    `insert into ${plainTable(parts)} (id, v) values ((random() * 1000000000)::int4, ${parts.a}) returning ${parts.e("v", {})}`,
  "RETURNING OLD, NEW": (parts) =>
    `update ${plainTable(parts)} set t = 'b' where id = 1 returning with (old as o, new as n) ${parts.e("o.v", {})}`,
  UPDATE: (parts) => `update ${plainTable(parts)} r set v = ${parts.value} where id = 1 returning v`,
  "UPDATE of a row": (parts) =>
    `update ${plainTable(parts)} r set (v, t) = (select ${parts.value}, 'b') where id = 1 returning v`,
  "UPDATE FROM": (parts) =>
    `update ${plainTable(parts)} r set t = 'b' from (values (${parts.value})) s (c) where r.id = 1 returning s.c`,
  "UPDATE of a relation": (parts) => `update ${relationOf(parts)} r set t = 'b' where id = 1 returning v`,
  "UPDATE to DEFAULT": (parts) => `update ${relationOf(parts)} r set v = default where id = 1 returning v`,
  DELETE: (parts) => `delete from ${plainTable(parts)} r where id = 3 or (${parts.value}) is null returning v`,
  "DELETE USING": (parts) => `delete from ${relationOf(parts)} r using (values (3)) s (n) where r.id = 1 returning v`,
  MERGE: (parts) =>
    `merge into ${plainTable(parts)} r using (values (1)) s (n) on r.id = s.n when matched and (${parts.value}) is not null then update set v = ${parts.value} when not matched then do nothing returning v`,
  "MERGE into a relation": (parts) =>
    `merge into ${relationOf(parts)} r using (values (7)) s (n) on r.id = s.n when not matched then insert (id, v) values ((random() * 1000000000)::int4, ${parts.a}) when matched then delete returning v`,
  "MERGE NOT MATCHED BY SOURCE": (parts) =>
    `merge into ${plainTable(parts)} r using (values (7)) s (n) on r.id = s.n when not matched by source then update set v = ${parts.value} returning v`,
  "WITH that inserts": (parts) =>
    `with w as (insert into ${relationOf(parts)} (id, v) values ((random() * 1000000000)::int4, ${parts.a}) returning v) select v from w`,
  "WITH that updates": (parts) =>
    `with w as (update ${plainTable(parts)} r set v = ${parts.value} where id = 1 returning v) select v from w`,
  "WITH that deletes": (parts) =>
    `with w as (delete from ${relationOf(parts)} r where id = 1 returning v) select v from w limit 1`,
  "FOR UPDATE": (parts) => `select v from ${relationOf(parts)} r limit 1 for update`,
  "FOR SHARE SKIP LOCKED": (parts) =>
    `select ${parts.value} from ${plainTable(parts)} r limit 1 for share of r skip locked`
}

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

/** Statements of PL/pgSQL with the declarations that they need. */
type Block = (parts: Parts) => readonly [declarations: string, statements: string]

const blocks: Readonly<Record<string, Block>> = {
  return: ({ value }) => ["", `return ${value};`],
  "return a subquery": ({ value }) => ["", `return (select ${value});`],
  assignment: ({ m, value }) => [`x ${m.kind};`, `x := ${value}; return x;`],
  "assignment by =": ({ m, value }) => [`x ${m.kind};`, `x = ${value}; return x;`],
  "default of a variable": ({ m, value }) => [`x ${m.kind} := ${value};`, "return x;"],
  "default of a constant": ({ m, value }) => [`x constant ${m.kind} not null default ${value};`, "return x;"],
  "assignment to an element": ({ m, value }) => [
    `x ${m.kind === "int[]" ? "text" : m.kind}[];`,
    `x[1] := ${value}; return a;`
  ],
  "computed subscript of an assignment": ({ m, value }) => [
    "x int[];",
    `x[${m.kind === "int" ? value : `case when (${value}) is null then 1 else 2 end`}] := 1; return a;`
  ],
  "assignment to a field": ({ m, value }) => {
    const type = `public.${m.name("rec")}`
    m.add(`create type ${type} as (v ${m.kind}, i int)`)
    return [`x ${type};`, `x.v := ${value}; return x.v;`]
  },
  "assignment cast to a domain": ({ e, m }) => {
    const type = `public.${m.name("dom")}`
    m.add(`create domain ${type} as ${m.kind} check ((${e("value", { flat: true })}) is not null or true)`)
    return [`x ${type};`, "x := a; return x;"]
  },
  "assignment cast of a type": ({ e, m }) => {
    const type = `public.${m.name("dom")}`
    m.add(
      `create type ${type} as (v ${m.kind}, i int); create function ${type}_cast(t ${type}) returns ${m.kind} language plpgsql as $f$ begin return ${e("t.v", {})}; end $f$; create cast (${type} as ${m.kind}) with function ${type}_cast(${type}) as assignment`
    )
    return [`x ${m.kind}; y ${type};`, "y.v := a; x := y; return x;"]
  },
  "%TYPE": (parts) => [`x ${relationOf(parts)}.v%type;`, `x := ${parts.a}; return x;`],
  "%ROWTYPE": (parts) => [`x ${relationOf(parts)}%rowtype;`, `x.v := ${parts.a}; return x.v;`],
  IF: ({ value }) => ["", `if (${value}) is null then return null; end if; return a;`],
  ELSIF: ({ value }) => [
    "",
    `if false then return null; elsif (${value}) is null then return null; else return a; end if;`
  ],
  CASE: ({ value }) => ["", `case (${value}) is null when true then return null; else return a; end case;`],
  "searched CASE": ({ value }) => ["", `case when (${value}) is null then return null; else return a; end case;`],
  WHILE: ({ value }) => ["n int := 0;", `while (${value}) is not null and n < 1 loop n := n + 1; end loop; return a;`],
  "LOOP EXIT WHEN": ({ value }) => ["", `loop exit when (${value}) is not null or true; end loop; return a;`],
  "CONTINUE WHEN": ({ value }) => ["", `for i in 1..2 loop continue when (${value}) is not null; end loop; return a;`],
  "FOR of numbers": ({ m, value }) => [
    "",
    m.kind === "int"
      ? `for i in 1..${value} loop null; end loop; return a;`
      : `for i in reverse 2..1 + case when (${value}) is null then 1 else 0 end by 1 loop null; end loop; return a;`
  ],
  "FOR of a query": ({ value }) => ["r record;", `for r in select ${value} as c loop return r.c; end loop; return a;`],
  "FOR of EXECUTE": ({ m, name, value }) => [
    "r record;",
    `for r in execute 'select ${value.replaceAll("'", "''").replaceAll(`${name}.a`, "$1").replaceAll(/\ba\b/g, "$1")}' using a loop return a; end loop; return ${m.literal};`
  ],
  "FOR of a cursor": ({ m, value }) => [
    `c cursor (b ${m.kind}) for select ${value} as v;`,
    "for r in c(a) loop return r.v; end loop; return a;"
  ],
  "cursor's argument": ({ m, value }) => [
    `c cursor (b ${m.kind}) for select b as v;`,
    `for r in c(${value}) loop return r.v; end loop; return a;`
  ],
  FOREACH: ({ m, value }) => [
    `x ${m.kind === "int[]" ? "int" : m.kind};`,
    `foreach x in array ${m.kind === "int[]" ? value : `array[${value}]`} loop null; end loop; return a;`
  ],
  "OPEN FOR, FETCH": ({ m, value }) => [
    `c refcursor; x ${m.kind};`,
    `open c for select ${value}; fetch c into x; close c; return x;`
  ],
  "OPEN FOR EXECUTE": ({ m, value }) => [
    `c refcursor; x ${m.kind};`,
    `open c for execute 'select $1' using ${value}; fetch next from c into x; move c; close c; return x;`
  ],
  "SELECT INTO": ({ m, value }) => [`x ${m.kind};`, `select ${value} into strict x; return x;`],
  "INSERT INTO … RETURNING INTO": (parts) => [
    `x ${parts.m.kind};`,
    `insert into ${relationOf(parts)} (id, v) values ((random() * 1000000000)::int4, a) returning v into x; return x;`
  ],
  PERFORM: ({ value }) => ["", `perform ${value}; return a;`],
  "PERFORM FROM": (parts) => ["", `perform v from ${relationOf(parts)} r; return a;`],
  statement: (parts) => {
    const query = parts.m.way(queries)({ ...parts, a: "a" })
    return [
      `x ${parts.m.kind};`,
      /returning/.test(query) && !query.startsWith("with")
        ? `${query} into x; return x;`
        : `${/^with|^select|^values|^table/.test(query) ? `for x in ${query} loop null; end loop` : query}; return a;`
    ]
  },
  EXECUTE: ({ m, name, value }) => [
    `x ${m.kind};`,
    `execute 'select ${value.replaceAll("'", "''").replaceAll(`${name}.a`, "$1").replaceAll(/\ba\b/g, "$1")}' into x using a; return x;`
  ],
  "EXECUTE of a text": ({ m, value }) => [
    `x ${m.kind};`,
    `execute format('select %L::${m.kind}', ${value}) into x; return x;`
  ],
  DO: ({ e, m }) => [
    "",
    `execute $do$ do $$ declare x ${m.kind}; begin x := ${e(m.literal, {})}; end $$ $do$; return a;`
  ],
  CALL: ({ e, m }) => {
    const name = m.name("proc")
    m.add(
      `create procedure public.${name}(inout b ${m.kind}) language ${m.random.of([`plpgsql as $p$ begin b := ${e("b", { arg: "b", fn: name })}; end $p$`, `sql as $p$ select ${e("b", { arg: "b", fn: name })} $p$`])}`
    )
    return [`x ${m.kind} := a;`, `call public.${name}(x); return x;`]
  },
  EXCEPTION: ({ value }) => ["", `begin return ${value}; exception when others then return a; end;`],
  "EXCEPTION's handler": ({ value }) => [
    "",
    `begin raise exception 'x'; exception when raise_exception then return ${value}; end;`
  ],
  RAISE: ({ value }) => ["", `raise debug '%', ${value}; return a;`],
  "RAISE USING": ({ value }) => ["", `raise debug using message = 'x', hint = (${value})::text; return a;`],
  ASSERT: ({ value }) => ["", `assert (${value}) is not null or true, 'x'; return a;`],
  "ASSERT's message": ({ value }) => [
    "",
    `begin assert false, (${value})::text; exception when assert_failure then null; end; return a;`
  ],
  "GET DIAGNOSTICS": ({ m, value }) => [
    `n bigint; x ${m.kind};`,
    `select ${value} into x; get diagnostics n = row_count; return x;`
  ],
  "nested block": ({ m, value }) => ["", `<<inner>> declare x ${m.kind} := ${value}; begin return inner.x; end;`],
  "hidden name": ({ m, value }) => ["a int := 1;", `return ${m.literal}; end; begin return ${value};`],
  "alias of an argument": ({ e, m, name }) => [
    "b alias for $1;",
    m.random.of([`return ${e("b", { arg: "b" })};`, `return ${e("b", { arg: "b", fn: name })};`])
  ],
  "record's field": ({ e, m }) => [
    "r record;",
    m.random.of([`select a as v into r; return ${e("r.v", { arg: "r.v" })};`, `r := row(a); return a;`])
  ],
  "RETURN QUERY": ({ m, value }) => {
    const name = m.name("set")
    m.add(
      `create function public.${name}(a ${m.kind}) returns setof ${m.kind} language plpgsql stable as $s$ begin return query select ${value.replaceAll(/\bc\d+_f\d+\.a\b/g, "a")}; end $s$`
    )
    return ["", `return (select s from public.${name}(a) s limit 1);`]
  },
  "RETURN NEXT": ({ m, value }) => {
    const name = m.name("set")
    m.add(
      `create function public.${name}(a ${m.kind}) returns setof ${m.kind} language plpgsql stable as $s$ begin return next ${value.replaceAll(/\bc\d+_f\d+\.a\b/g, "a")}; return; end $s$`
    )
    return ["", `return (select s from public.${name}(a) s limit 1);`]
  },
  "RETURN QUERY EXECUTE": ({ m, value }) => {
    const name = m.name("set")
    m.add(
      `create function public.${name}(a ${m.kind}) returns setof ${m.kind} language plpgsql stable as $s$ begin return query execute 'select $1' using ${value.replaceAll(/\bc\d+_f\d+\.a\b/g, "a")}; end $s$`
    )
    return ["", `return (select s from public.${name}(a) s limit 1);`]
  },
  "OUT argument": ({ m, value }) => {
    const name = m.name("out")
    m.add(
      `create function public.${name}(a ${m.kind}, out b ${m.kind}) language plpgsql stable as $s$ begin b := ${value.replaceAll(/\bc\d+_f\d+\.a\b/g, "a")}; end $s$`
    )
    return ["", `return public.${name}(a);`]
  }
}

export const bodies: Readonly<Record<string, Body>> = {
  "SQL text": inSql((query) => query),
  "SQL text, the last of two": inSql((query) => `select 1; ${query}`),
  "SQL text, the first of two": inSql((query, { a }) => `${query}; select ${a}`),
  "SQL text with comments": inSql((query) => `/* a */ ${query} -- b\n;`),
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

/** The names of all ways of this file. */
export const bodyWays = [queries, blocks, bodies].flatMap((ways) => Object.keys(ways))
