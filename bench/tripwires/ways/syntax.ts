import { type Expr, type Maker } from "./maker.ts"

/** What PostgreSQL's grammar puts around an expression: of the same type again. */
type Wrap = (m: Maker, e: Expr) => Expr

const nested =
  (wrap: (inner: string, x: string, m: Maker) => string): Wrap =>
  (m, e) =>
  (x, at) =>
    at.flat === true ? e(x, at) : wrap(e(x, at), x, m)

const flat =
  (wrap: (inner: string, x: string, m: Maker) => string): Wrap =>
  (m, e) =>
  (x, at) =>
    wrap(e(x, at), x, m)

/** An expression that is evaluated for its being null or not. */
const when = (test: (inner: string, x: string, m: Maker) => string) =>
  flat((inner, x, m) => `case when (${test(inner, x, m)}) is not null then ${x} end`)

const whenNested = (test: (inner: string, x: string, m: Maker) => string) =>
  nested((inner, x, m) => `case when (${test(inner, x, m)}) is not null then ${x} end`)

export const wraps: Readonly<Record<string, Wrap>> = {
  parentheses: flat((e) => `((${e}))`),
  COALESCE: flat((e, x) => `coalesce(${e}, ${x})`),
  NULLIF: flat((e) => `nullif(${e}, null)`),
  "CASE WHEN": flat((e, x) => `case when (${e}) is not null then ${x} else ${x} end`),
  "CASE of a value": flat((e, x) => `case ${x} when ${e} then ${x} else ${x} end`),
  "ELSE of CASE": flat((e, x) => `case when ${x} is null then ${x} else ${e} end`),
  "GREATEST, LEAST": flat((e, x, m) => (m.kind === "jsonb" ? e : `${m.random.of(["greatest", "least"])}(${e}, ${x})`)),
  "array and subscript": flat((e, _, m) => (m.kind === "int[]" ? e : `(array[${e}, ${e}])[2]`)),
  slice: when((e, _, m) => (m.kind === "int[]" ? e : `(array[${e}])[1:1]`)),
  "computed subscript": when((e, _, m) => (m.kind === "int" ? `(array[1,2,3])[${e}]` : e)),
  "computed slice": when((e, _, m) => (m.kind === "int" ? `(array[1,2,3])[1:${e}]` : e)),
  "jsonb subscript": when((e, _, m) => (m.kind === "text" ? `('{"a": 1}'::jsonb)[${e}]` : e)),
  "row comparison": when((e, x) => `(${e}, 1) is distinct from (${x}, 2)`),
  "row comparison by order": when((e, x, m) => (m.kind === "jsonb" ? e : `(${e}, 1) < (${x}, 2)`)),
  IN: when((e, x) => `${x} in (${x}, ${e})`),
  "NOT IN": when((e, x) => `${e} not in (${x}, ${x})`),
  BETWEEN: when((e, x) => `${x} between ${e} and ${x}`),
  "BETWEEN SYMMETRIC": when((e, x) => `${x} not between symmetric ${x} and ${e}`),
  "IS DISTINCT FROM": when((e, x) => `${x} is distinct from ${e}`),
  "IS UNKNOWN": when((e) => `((${e}) is null) is not unknown`),
  LIKE: when((e) => `((${e})::text like 'a%')`),
  "ILIKE ESCAPE": when((e) => `((${e})::text not ilike 'a!%' escape '!')`),
  "SIMILAR TO": when((e) => `((${e})::text similar to '(a|b)%')`),
  OVERLAPS: when((e, _, m) => (m.kind === "timestamptz" ? `(${e}, interval '1 day') overlaps (now(), now())` : e)),
  "AT TIME ZONE": when((e, _, m) =>
    m.kind === "timestamptz"
      ? `(${e} at time zone 'UTC')`
      : m.kind === "text"
        ? `now() at time zone coalesce('UTC', ${e})`
        : e
  ),
  "AT LOCAL": when((e, _, m) => (m.kind === "timestamptz" ? `(${e} at local)` : e)),
  EXTRACT: when((e, _, m) => (m.kind === "timestamptz" ? `extract(year from ${e})` : e)),
  POSITION: when((e) => `position('a' in (${e})::text)`),
  OVERLAY: when((e) => `overlay((${e})::text placing 'b' from 1 for 1)`),
  SUBSTRING: when((e) => `substring((${e})::text from 1 for 2)`),
  TRIM: when((e) => `trim(both from (${e})::text)`),
  NORMALIZE: when((e) => `normalize((${e})::text, NFC)`),
  COLLATE: flat((e, _, m) => (m.kind === "text" ? `(${e}) collate "C"` : e)),
  CAST: flat((e, _, m) => `cast(${e} as ${m.kind})`),
  "cast by name": flat((e, _, m) =>
    m.kind === "int" ? `int4(${e})` : m.kind === "text" ? `text(${e})` : `(${e})::${m.kind}`
  ),
  "cast by attribute": when((e) => `(${e}).text`),
  "operand of an operator": when((e, x) => `${e} = ${x}`),
  "operand of OPERATOR": when((e, x) => `${e} operator(pg_catalog.=) ${x}`),
  "AND, OR": when((e, x) => `(${x} is null and false) or (${e}) is not null`),
  NOT: when((e) => `not ((${e}) is null)`),
  "= ANY": when((e, x, m) => (m.kind === "int[]" ? e : `${x} = any (array[${e}])`)),
  JSON_OBJECT: when((e) => `json_object('a': ${e} null on null returning jsonb)`),
  JSON_ARRAY: when((e) => `json_array(${e} absent on null)`),
  JSON_SCALAR: when((e) => `json_scalar((${e})::text)`),
  JSON_SERIALIZE: when((e) => `json_serialize(json_object('a': ${e}))`),
  "JSON()": when((e) => `json(to_json((${e})::text)::text)`),
  "IS JSON": when((e) => `(${e})::text is json object with unique keys`),
  JSON_VALUE: when((e) => `json_value('{"a": 1}'::jsonb, '$.a ? (@ != $x)' passing (${e})::text as x)`),
  "JSON_VALUE DEFAULT": when((e) => `json_value('{}'::jsonb, '$.a' returning text default (${e})::text on empty)`),
  JSON_EXISTS: when((e) => `json_exists(to_jsonb(${e}), '$.a')`),
  JSON_QUERY: when((e) => `json_query(to_jsonb(${e}), '$' with wrapper)`),
  JSON_TABLE: whenNested(
    (e) =>
      `(select count(*) from json_table(to_jsonb(${e}), '$' columns (n for ordinality, a text path '$.a' default 'x' on empty)) j)`
  ),
  JSON_ARRAYAGG: whenNested((e) => `(select json_arrayagg(c order by 1 returning jsonb) from (values (${e})) r (c))`),
  JSON_OBJECTAGG: whenNested((e) => `(select json_objectagg('a' value c) from (values (${e})) r (c))`),
  XMLELEMENT: when((e) => `xmlelement(name a, xmlattributes((${e})::text as b), ${e})`),
  XMLFOREST: when((e) => `xmlforest(${e} as a)`),
  XMLPARSE: when((e) => `xmlparse(content (${e})::text)`),
  XMLPI: when((e) => `xmlpi(name a, (${e})::text)`),
  XMLROOT: when((e) => `xmlroot(xmlelement(name a, ${e}), version '1.0')`),
  XMLSERIALIZE: when((e) => `xmlserialize(content xmlelement(name a, ${e}) as text)`),
  XMLEXISTS: when((e) => `xmlexists('/a' passing xmlelement(name a, ${e}))`),
  XMLTABLE: whenNested(
    (e) =>
      `(select count(*) from xmltable('/a' passing xmlelement(name a, ${e}) columns b text path '.' default (${e})::text))`
  ),
  GROUPING: whenNested((e) => `(select grouping(c) from (values (${e})) r (c) group by c)`),
  subquery: nested((e) => `(select ${e})`),
  "subquery in FROM": nested((e) => `(select c from (select ${e} as c) r)`),
  "subquery without alias": nested((e) => `(select c from (select ${e} as c))`),
  VALUES: nested((e) => `(select c from (values (${e})) r (c))`),
  "bare VALUES": nested((e) => `(values (${e}))`),
  "ARRAY of a query": nested((e, _, m) => (m.kind === "int[]" ? e : `(array(select ${e}))[1]`)),
  EXISTS: nested(
    (e, x) => `case when exists (select from (values (${x})) r (c) where (${e}) is not null) then ${x} end`
  ),
  "IN of a query": nested((e, x) => `case when ${x} in (select ${e}) then ${x} else ${x} end`),
  "ALL of a query": nested((e, x) => `case when ${x} <> all (select ${e}) then ${x} else ${x} end`),
  "row IN a query": nested((e, x) => `case when (${x}, 1) in (select ${e}, 1) then ${x} else ${x} end`),
  "row = query": nested((e, x) => `case when (${x}, 1) = (select ${e}, 1) then ${x} else ${x} end`),
  WITH: nested((e) => `(with w as (select ${e} as c) select c from w)`),
  "WITH MATERIALIZED": nested(
    (e, _, m) => `(with w (c) as ${m.random.of(["materialized", "not materialized"])} (select ${e}) select w.c from w)`
  ),
  "WITH RECURSIVE": nested(
    (e, x) =>
      `(with recursive w (c, n) as (select ${x}, 1 union all select ${e}, n + 1 from w where n < 2) select c from w order by n desc limit 1)`
  ),
  "WITH that hides a name": nested((e) => `(with pg_class as (select ${e} as c) select c from pg_class)`),
  "SEARCH, CYCLE": nested(
    (e, x) =>
      `(with recursive w (c, n) as (select ${x}, 1 union all select ${e}, n + 1 from w where n < 2) search breadth first by n set s cycle n set k using p select c from w order by n desc limit 1)`
  ),
  LATERAL: nested((e, x) => `(select l.c from (values (${x})) r (v), lateral (select ${e} as c) l)`),
  "LEFT JOIN LATERAL": nested(
    (e, x) => `(select l.c from (values (${x})) r (v) left join lateral (values (${e})) l (c) on true)`
  ),
  "JOIN ON": nested((e, x) => `(select r.c from (values (${x})) r (c) join (values (1)) s (n) on (${e}) is not null)`),
  "FULL JOIN": nested(
    (e, x) => `(select r.c from (values (${x})) r (c) full join (values (${e})) s (c) on r.c = s.c limit 1)`
  ),
  "JOIN USING": nested((e, x) => `(select c from (values (${x})) r (c) join (values (${e})) s (c) using (c) as j)`),
  "NATURAL JOIN": nested((e, x) => `(select c from (values (${x})) r (c) natural join (values (${e})) s (c))`),
  "CROSS JOIN": nested((e) => `(select s.c from (values (1)) r (n) cross join (values (${e})) s (c))`),
  WHERE: nested((e, x) => `(select ${x} where (${e}) is not null)`),
  HAVING: nested((e, x) => `(select ${x} from (values (1)) r (n) group by n having (${e}) is not null)`),
  "GROUP BY": nested((e) => `(select ${e} from (values (1)) r (n) group by ${e})`),
  "GROUPING SETS": whenNested(
    (e) => `(select count(*) from (values (1)) r (n) group by grouping sets ((${e}), ()) limit 1)`
  ),
  "ROLLUP, CUBE": whenNested(
    (e, _, m) =>
      `(select count(*) from (values (1)) r (n) group by ${m.random.of(["rollup", "cube"])} ((${e}), n) limit 1)`
  ),
  "GROUP BY DISTINCT": whenNested((e) => `(select count(*) from (values (1)) r (n) group by distinct (${e}) limit 1)`),
  DISTINCT: nested((e) => `(select distinct ${e})`),
  "DISTINCT ON": nested((e, x) => `(select distinct on (${e}) ${x})`),
  "ORDER BY": nested((e, x, m) =>
    m.kind === "jsonb" ? e : `(select r.c from (values (${x}), (${x})) r (c) order by ${e} nulls first limit 1)`
  ),
  "ORDER BY USING": nested((e, x) => `(select r.c from (values (${x}), (${x})) r (c) order by ${e} using < limit 1)`),
  LIMIT: nested((e, x, m) => (m.kind === "int" ? `(select ${x} limit ${e})` : e)),
  OFFSET: nested((e, x, m) => (m.kind === "int" ? `(select ${x} offset ${e} - 1)` : e)),
  "FETCH FIRST": nested((e, x, m) => (m.kind === "int" ? `(select ${x} fetch first (${e}) rows only)` : e)),
  "WITH TIES": nested((e, x, m) =>
    m.kind === "int" ? `(select c from (values (${x})) r (c) order by c fetch first (${e}) rows with ties)` : e
  ),
  UNION: nested(
    (e, x, m) =>
      `(select * from (select ${e} ${m.random.of(["union", "union all", "intersect", "except"])} select ${x}) u (c) limit 1)`
  ),
  aggregate: nested((e, _, m) =>
    ["uuid", "bool", "jsonb", "int4range", "int[]"].includes(m.kind) ? e : `(select max(${e}))`
  ),
  array_agg: nested((e, _, m) =>
    m.kind === "int[]" ? e : `(select (array_agg(c order by c))[1] from (values (${e})) r (c))`
  ),
  FILTER: whenNested((e) => `(select count(*) filter (where (${e}) is not null) from (values (1)) r (n))`),
  "ORDER BY of an aggregate": whenNested((e) => `(select array_agg(n order by ${e}) from (values (1), (2)) r (n))`),
  "DISTINCT of an aggregate": whenNested((e) => `(select count(distinct ${e}))`),
  "WITHIN GROUP": whenNested((e) => `(select mode() within group (order by ${e}) from (values (1), (2)) r (n))`),
  OVER: whenNested((e) => `(select first_value(n) over (order by ${e}) from (values (1), (2)) r (n) limit 1)`),
  "PARTITION BY": whenNested(
    (e) => `(select count(*) over w from (values (1), (2)) r (n) window w as (partition by ${e}) limit 1)`
  ),
  "window frame": whenNested((e, _, m) =>
    m.kind === "int"
      ? `(select sum(n) over (order by n rows ${e} preceding) from (values (1), (2)) r (n) limit 1)`
      : `(select ${e})`
  ),
  "window frame by RANGE": whenNested((e, _, m) =>
    m.kind === "int"
      ? `(select sum(n) over (order by n range between ${e} preceding and ${e} following exclude ties) from (values (1), (2)) r (n) limit 1)`
      : `(select ${e})`
  ),
  "argument of a window function": nested((e) => `(select lag(${e}, 0) over () from (values (1)) r (n))`),
  "ROWS FROM": nested((e) => `(select c from rows from (unnest(array[1]), coalesce(${e})) r (n, c) limit 1)`),
  "FROM item": nested((e) => `(select c from coalesce(${e}) c)`),
  "FROM item with columns": nested(
    (e) =>
      `(select v.c from unnest(array[1], array[(${e})::text]) with ordinality r (n, t, o) cross join (values (${e})) v (c) limit 1)`
  ),
  generate_series: whenNested((e, _, m) =>
    m.kind === "int" ? `(select max(g) from generate_series(1, ${e}) g)` : `(select ${e})`
  ),
  "column definitions": nested(
    (e, x) =>
      `case when (select a from json_to_record(json_build_object('a', ${e})) as r (a text)) is not null then ${x} end`
  ),
  TABLESAMPLE: whenNested((e, _, m) => {
    const table = m.name("sampled")
    m.add(
      `create table public.${table} as select generate_series(1, 9) as n; grant select on public.${table} to public`
    )
    return m.kind === "int"
      ? `(select count(*) from public.${table} tablesample bernoulli (${e}) repeatable (${e}))`
      : `(select count((${e})::text) from public.${table} tablesample system (50))`
  }),
  "rows in FROM": nested((e) => `(select r.c from (select ${e} as c) q, lateral (select q.c) r (c))`),
  "row value": whenNested((e) => `(select r from (select ${e} as c) r)`),
  "whole row": whenNested((e) => `(select r.* is null from (select ${e} as c) r)`),
  "row to json": whenNested((e) => `(select to_json(r) from (select ${e} as c) r)`),
  "row star": nested((e) => `(select c from (select r.* from (select ${e} as c) r) q)`),
  "argument of a variadic": when((e) => `concat_ws(',', (${e})::text, 'a')`),
  "VARIADIC array": when((e) => `concat(variadic array[(${e})::text])`),
  "named argument": when((e, _, m) => (m.kind === "int" ? `make_interval(days => ${e})` : `format('%s', ${e})`)),
  ISNULL: when((e) => `((${e}) isnull) or ((${e}) notnull)`),
  "IS NORMALIZED": when((e) => `(${e})::text is nfc normalized`),
  "IS DOCUMENT": when((e) => `xmlelement(name a, ${e}) is document`),
  "LIKE ANY": when((e) => `(${e})::text like any (array['a', 'b'])`),
  ESCAPE: when((e) => `'a' like 'b' escape case when (${e}) is null then '!' else '?' end`),
  "SUBSTRING SIMILAR": when((e) => `substring((${e})::text similar 'a#"b#"c' escape '#')`),
  "COLLATION FOR": when((e, _, m) => (m.kind === "text" ? `collation for (${e})` : e)),
  "operator of every kind": when((e, x) => `${e} <> ${x} and ${e} is not distinct from ${x}`),
  "typmod of a cast": when((e) => `(${e})::text::varchar(1)`),
  "ARRAY of arrays": when((e, _, m) => (m.kind === "int[]" ? e : `array[[${e}], [${e}]]`)),
  "ONLY, *": whenNested((e, _, m) => {
    const table = `public.${m.name("only")}`
    m.add(`create table ${table} as select 1 as n; grant select on ${table} to public`)
    return `(select count(*) from only ${table} a, ${table} * b where (${e}) is not null)`
  }),
  "JSON_TABLE NESTED": whenNested(
    (e) =>
      `(select count(*) from json_table(to_jsonb(${e}), '$' passing (${e})::text as x columns (e bool exists path '$.a', nested path '$[*]' columns (f text format json path '$'))) j)`
  ),
  "typed literal": when((e) => `interval '1 day' * case when (${e}) is null then 1 else 2 end`),
  "bit, interval with typmod": when((e) => `(case when (${e}) is null then null else '1' end)::varchar(3)`)
}
