import { type Parts, queries, relationOf } from "./queries.ts"

/** Statements of PL/pgSQL with the declarations that they need. */
type Block = (parts: Parts) => readonly [declarations: string, statements: string]

export const blocks: Readonly<Record<string, Block>> = {
  return: ({ value }) => ["", `return ${value};`],
  "return a subquery": ({ value }) => ["", `return (select ${value});`],
  assignment: ({ m, value }) => [`x ${m.kind};`, `x := ${value}; return x;`],
  "assignment by =": ({ m, value }) => [`x ${m.kind};`, `x = ${value}; return x;`],
  "default of a variable": ({ m, value }) => [`x ${m.kind} := ${value};`, "return x;"],
  "default of a constant": ({ m, value }) => [`x constant ${m.kind} not null default ${value};`, "return x;"],
  "default of a record variable": ({ m, value }) => [
    `r record := ${m.random.of([`row(${value})`, `(select q from (values (${value})) q (v))`])};`,
    "return a;"
  ],
  "default of a row variable": ({ m, value }) => {
    const type = `public.${m.name("rec")}`
    m.add(`create type ${type} as (v ${m.kind}, i int)`)
    return [`r ${type} := row(${value}, 1);`, "return r.v;"]
  },
  "default of an enum's variable": ({ m, value }) => {
    const type = `public.${m.name("enum")}`
    m.add(`create type ${type} as enum ('a', 'b')`)
    return [`x ${type} := case when (${value}) is null then 'a' else 'b' end;`, "return a;"]
  },
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
  "SQL's own statements": (parts) => {
    const name = relationOf(parts)
    const { m, value } = parts
    return m.random.of([
      ["", `truncate ${name}; return a;`],
      ["", `analyze ${name}; return a;`],
      ["", `create temp table ${m.name("temp")} on commit drop as select ${value} as v; return a;`],
      ["r record;", `for r in explain analyze select ${value} loop null; end loop; return a;`],
      ["", `set constraints all immediate; return a;`],
      ["", `lock table ${name}; return a;`],
      ["", `insert into ${name} default values; return a;`]
    ] as const)
  },
  "REFRESH MATERIALIZED VIEW": ({ e, m }) => {
    const view = `public.${m.name("mat")}`
    m.add(`create materialized view ${view} as select ${e(m.literal, {})} as v`)
    return ["", `refresh materialized view ${view}; return a;`]
  },
  "element of a table's array": (parts) => {
    const table = `public.${parts.m.name("arrays")}`
    parts.m.add(`create table ${table} as select 1 as id, '{1,2}'::int[] as n; grant all on ${table} to public`)
    return ["", `update ${table} set n[case when (${parts.value}) is null then 1 else 2 end] = 3; return a;`]
  },
  "OUT argument": ({ m, value }) => {
    const name = m.name("out")
    m.add(
      `create function public.${name}(a ${m.kind}, out b ${m.kind}) language plpgsql stable as $s$ begin b := ${value.replaceAll(/\bc\d+_f\d+\.a\b/g, "a")}; end $s$`
    )
    return ["", `return public.${name}(a);`]
  }
}
