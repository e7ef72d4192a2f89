import * as fc from "fast-check"
import { type Kind, kinds, plain, spied, type Template } from "./expressions.ts"

/** Expressions around another one, `{}`, by the types of both. */
const around: ReadonlyArray<readonly [from: Kind, to: Kind, Template]> = [
  ...[
    "case when {} then true else {n} > 0 end",
    "case {} when true then true end",
    "coalesce({}, true)",
    "({} or {n} is null)",
    "(not {})",
    "({} is true)",
    "({} = any (array[true]))",
    "nullif({}, false)",
    "((true, {}) = (true, true))",
    "(row({}) is not null)",
    "greatest({}, false)",
    "({} in (select true))",
    "plain.through({})",
    "plain.given(b => {}, a => null)",
    "exists (select 1 where {})",
    "(select bool_and({}) from generate_series(1, 2))",
    "((select count(*) filter (where {}) from generate_series(1, 2)) > 0)",
    "(select bool_or({}) over (partition by x order by x) from generate_series(1, 2) x limit 1)",
    "(with c as materialized (select {} as h) select h from c)",
    "(select h from (select {} as h union all select false) u order by h desc limit 1)",
    "(select h from (select {} as h except select null) u)",
    "(select x.h from (select 1) y cross join lateral (select {} as h) x)",
    "(select h from (values ({})) v (h))",
    "(select h from (select {} as h) g group by h having h limit 1)",
    "(with recursive r (h, i) as (select {}, 1 union all select h, i + 1 from r where i < 2) select bool_and(h) from r)",
    "(select distinct {})",
    "exists (select from plain.listed l left join plain.owned o on {})",
    "(select array_agg({}))[1]"
  ].map((sql) => ["bool", "bool", sql] as const),
  ["bool", "int", "({})::int"],
  ["bool", "text", "({})::text"],
  ["bool", "json", "to_jsonb({})"],
  ["bool", "json", "json_object('a': {} returning jsonb)"],
  ["bool", "json", "json_array({}, {n} returning jsonb)"],
  ["bool", "json", "(select jsonb_agg({}))"],
  ["bool", "json", "(select json_objectagg('k': {} returning jsonb))"],
  ["bool", "json", "json_build_object('a', {})::jsonb"],
  ["int", "int", "abs({})"],
  ["int", "int", "least({}, {n})"],
  ["int", "int", "({} + {n})"],
  ["int", "int", "(array[{}, 2])[1]"],
  ["int", "int", "lower(int4range({}, null))"],
  ["int", "int", "(select max(x) from unnest(array[{}]) x)"],
  ["int", "int", "(select sum(x) over w from (values ({})) v (x) window w as (order by x rows 1 preceding))::int"],
  ["int", "int", "(select i from plain.seen where i = {} union select 1 limit 1)"],
  ["int", "bool", "({} > 0)"],
  ["int", "bool", "({} between 0 and 5)"],
  ["int", "bool", "({} in (1, {n}))"],
  ["int", "bool", "({} = any ({a}))"],
  ["int", "bool", "(int4range(1, 9) @> {})"],
  ["int", "bool", "({} in (select i from plain.owned))"],
  ["int", "text", "({})::text"],
  ["int", "text", "to_char({}, '999')"],
  ["int", "text", "format('%s', {})"],
  ["int", "json", "to_jsonb({})"],
  ["text", "bool", "({} is not null)"],
  ["text", "bool", "({} like 'a%')"],
  ["text", "bool", `({} collate "C" > '')`],
  ["text", "bool", "({} = current_setting('request.jwt.sub', true))"],
  ["text", "bool", "(to_tsvector('simple', {}) @@ to_tsquery('simple', 'a') or true)"],
  ["text", "text", "lower({})"],
  ["text", "text", "({} || {t})"],
  ["text", "text", "(select string_agg(x, ',' order by x) from unnest(array[{}]) x)"],
  ["text", "int", "length({})"],
  ["text", "json", "to_jsonb({})"],
  ["json", "bool", "({} is not null)"],
  ["json", "bool", "({} @> '{}')"],
  ["json", "bool", "(json_exists({}, '$.a') is not null)"],
  ["json", "bool", "({}::text is json)"],
  ["json", "text", "({} ->> 'a')"],
  ["json", "text", "json_value({}, '$.a' default 'x' on error)"],
  ["json", "int", "json_value({}, '$' returning int default 1 on error)"],
  ["json", "json", "({})['a']"],
  ["json", "json", "jsonb_strip_nulls({})"]
]

/** A boolean expression that runs user code, and one of the same form that runs none. */
export interface Hidden {
  readonly spied: Template
  readonly plain: Template
}

const toBool: Readonly<Record<Kind, Template>> = {
  int: "({} is distinct from 7)",
  text: "({} is distinct from 'z')",
  bool: "{}",
  json: "({} is distinct from '7')"
}

// A function as replacement, because `$` has a meaning in a text.
const fill = (template: Template, hole: string) => template.replace("{}", () => hole)

export const hidden: fc.Arbitrary<Hidden> = fc
  .constantFrom<Kind>("int", "int", "text", "bool", "json")
  .chain((kind) =>
    fc.tuple(
      fc.constant(kind),
      fc.constantFrom(...spied[kind]),
      fc.constantFrom(...plain[kind]),
      fc.array(fc.nat(), { maxLength: 4 })
    )
  )
  .map(([start, spy, harmless, steps]) => {
    let [kind, one, other] = [start, spy, harmless]
    for (const step of steps) {
      const fitting = around.filter(([from]) => from === kind)
      const [, to, sql] = fitting[step % fitting.length] as (typeof around)[number]
      ;[kind, one, other] = [to, fill(sql, one), fill(sql, other)]
    }
    return { spied: fill(toBool[kind], one), plain: fill(toBool[kind], other) }
  })

/** Each expression that runs user code, with nothing around it. */
export const everyHidden: ReadonlyArray<Hidden> = kinds.flatMap((kind) =>
  spied[kind].map((one) => ({ spied: fill(toBool[kind], one), plain: fill(toBool[kind], plain[kind][0] ?? "") }))
)

/** Without subqueries, which constraints, defaults and indexes do not accept. */
export const flat = hidden.filter(({ spied, plain }) => !/\bselect\b/.test(spied + plain))

const values = { n: "1", t: "'a'::text", j: `'{"n": 1, "t": "a"}'::jsonb`, a: "array[1, 2]" } as const

/** With constants for the columns, or with columns of a table of this alias. */
export const withColumns = (template: Template, row?: string) =>
  template.replaceAll(/\{([ntja])\}/g, (_, name: keyof typeof values) =>
    row === undefined ? values[name] : `${row}.${name}`
  )
