import { type Call, domainOf, flatly, glued, rowType } from "./glue.ts"
import { called, type Expr } from "./maker.ts"

/** Objects by which PostgreSQL finds a function that the statement does not name. */
export const objects: Readonly<Record<string, Call>> = {
  operator: (m, f) => {
    const sign = m.operator()
    const schema = m.schema()
    m.add(`create operator ${schema}.${sign} (rightarg = ${m.kind}, function = ${f.schema}.${f.name})`)
    return (x) =>
      schema === "public" && m.random.chance(0.5) ? `(${sign} ${x})` : `(operator(${schema}.${sign}) ${x})`
  },
  "operator of two": (m, f) => {
    const sign = m.operator()
    const g = glued(m, `a ${m.kind}, b ${m.kind}`, `returns ${m.kind}`, called(f, "$1"))
    m.add(`create operator public.${sign} (leftarg = ${m.kind}, rightarg = ${m.kind}, function = public.${g})`)
    return (x) => m.random.of([`(${x} ${sign} ${x})`, `(${x} operator(public.${sign}) ${m.literal})`])
  },
  "operator that compares": (m, f) => {
    const sign = m.operator()
    const g = glued(m, `a ${m.kind}, b ${m.kind}`, "returns bool", `${called(f, "$1")} is not null`)
    const more = m.random.of(["", `, commutator = ${sign}`, ", restrict = eqsel, join = eqjoinsel", ", hashes, merges"])
    m.add(`create operator public.${sign} (leftarg = ${m.kind}, rightarg = ${m.kind}, function = public.${g}${more})`)
    const array = m.kind === "int[]" ? (x: string) => `(select array[${x}])` : (x: string) => `array[${x}]`
    return m.random.of<Expr>([
      (x) => `case when ${x} ${sign} ${x} then ${x} end`,
      (x) => `case when not (${x} ${sign} ${x}) then ${x} end`,
      (x) => `case when ${x} ${sign} any (${array(x)}) then ${x} end`,
      (x) => `case when ${x} operator(public.${sign}) all (${array(x)}) then ${x} end`,
      (x) => `(select ${x} where ${x} ${sign} any (select ${x}))`,
      (x) => `(select ${x} where (${x}, 1) = (select ${x}, 1) and ${x} ${sign} (select ${x}))`,
      (x) => `(select a.v from (values (${x})) a (v) join (values (${x})) b (v) on a.v ${sign} b.v limit 1)`
    ])
  },
  domain: (m, f) => {
    const d = domainOf(m, f)
    return m.random.of<Expr>([
      (x) => `${x}::public.${d}`,
      (x) => `(${x})::${d}::${m.kind}`,
      (x) => `cast(${x} as ${d})`,
      (x) => `${d}(${x})`,
      (x) => `public.${d}(${x})`,
      (x) => `(${x}).${d}`,
      () => `${d} ${m.literal.replace(/::.*/, "").replace(/^[^']*$/, "'$&'")}`,
      (x) => `(array[${x}]::${d}[])[1]`,
      flatly(
        (x) => `(select c from (select ${x}::${d} as c) r)`,
        (x) => `(${x})::${d}`
      ),
      flatly(
        (x) => `(select c from json_to_record(json_build_object('c', ${x})) as r (c ${d}))`,
        (x) => `(${x})::${d}`
      ),
      flatly(
        (x) => `(select c from json_table(jsonb_build_object('c', ${x}), '$' columns (c ${d} path '$.c')) r)`,
        (x) => `(${x})::${d}`
      ),
      (x) => `json_value(jsonb_build_object('c', ${x}), '$.c' returning ${d})`,
      flatly(
        (x) => `(select c from xmltable('/a' passing xmlelement(name a, ${x}) columns c ${d} path '.') r)`,
        (x) => `(${x})::${d}`
      )
    ])
  },
  "composite with a domain": (m, f) => {
    const d = domainOf(m, f)
    const type = m.name("pair")
    m.add(`create type public.${type} as (v public.${d}, i int)`)
    return m.random.of<Expr>([
      (x) => `(row(${x}, 1)::public.${type}).v`,
      (x) => `(cast(row(${x}, 1) as ${type})).v`,
      (x) => `(jsonb_populate_record(null::public.${type}, jsonb_build_object('v', ${x}))).v`,
      (x) => `(json_populate_record(null::${type}, json_build_object('v', ${x}))).v`,
      () => `('(,1)'::${type}).v`,
      (x) => `((array[row(${x}, 1)]::${type}[])[1]).v`
    ])
  },
  aggregate: (m, f) => {
    const g = glued(m, `a ${m.kind}, b ${m.kind}`, `returns ${m.kind}`, "$2")
    const t = glued(m, `a ${m.kind}, b ${m.kind}`, `returns ${m.kind}`, called(f, "$2"))
    const agg = m.name("agg")
    m.add(
      m.random.of([
        `create aggregate public.${agg}(${m.kind}) (sfunc = public.${t}, stype = ${m.kind})`,
        `create aggregate public.${agg}(${m.kind}) (sfunc = public.${g}, stype = ${m.kind}, finalfunc = ${f.schema}.${f.name})`,
        `create aggregate public.${agg}(${m.kind}) (sfunc = public.${g}, stype = ${m.kind}, msfunc = public.${t}, minvfunc = public.${t}, mstype = ${m.kind})`,
        `create aggregate public.${agg}(${m.kind}) (sfunc = public.${g}, stype = ${m.kind}, combinefunc = public.${t}, finalfunc = ${f.schema}.${f.name}, parallel = safe)`
      ])
    )
    return m.random.of<Expr>([
      (x) => `(select ${agg}(c) from (values (${x})) r (c))`,
      (x) => `(select public.${agg}(all c) from (values (${x})) r (c))`,
      (x) => `(select ${agg}(c order by 1) from (values (${x})) r (c))`,
      (x) => `(select ${agg}(distinct c) from (values (${x})) r (c))`,
      (x) => `(select ${agg}(c) filter (where true) from (values (${x})) r (c))`,
      (x) => `(select ${agg}(c) over () from (values (${x})) r (c))`,
      (x) =>
        `(select ${agg}(c) over w from (values (${x}), (${x}), (${x})) r (c) window w as (rows between 1 preceding and current row) limit 1)`
    ])
  },
  "ordered-set aggregate": (m, f) => {
    const t = glued(m, `a ${m.kind}, b ${m.kind}`, `returns ${m.kind}`, "$2")
    const final = glued(m, `a ${m.kind}, b ${m.kind}`, `returns ${m.kind}`, called(f, "$1"))
    const agg = m.name("agg")
    m.add(
      `create aggregate public.${agg}(${m.kind} order by ${m.kind}) (sfunc = public.${t}, stype = ${m.kind}, finalfunc = public.${final})`
    )
    return (x) => `(select ${agg}(${x}) within group (order by c) from (values (${x})) r (c))`
  },
  cast: (m, f) => {
    const type = rowType(m)
    const target = m.random.of([m.kind, m.kind, "date"])
    const g = glued(
      m,
      `a public.${type}`,
      `returns ${target}`,
      target === m.kind
        ? called(f, "($1).v")
        : `case when ${called(f, "($1).v")} is not null then '2020-01-01'::date end`
    )
    m.add(
      `create cast (public.${type} as ${target}) with function public.${g}(public.${type}) ${m.random.of(["", "as assignment", "as implicit"])}`
    )
    const back = (e: (x: string) => string): Expr =>
      target === m.kind ? e : (x) => `case when ${e(x)} is not null then ${x} end`
    return m.random.of<Expr>([
      back((x) => `(row(${x}, 1)::public.${type})::${target}`),
      back((x) => `cast(row(${x}, 1)::public.${type} as ${target})`),
      back((x) => `(row(${x}, 1)::public.${type}).${target}`),
      back((x) => `${target}(row(${x}, 1)::public.${type})`),
      back((x) => `(array[row(${x}, 1)::public.${type}]::${target}[])[1]`),
      back((x) => `coalesce(row(${x}, 1)::public.${type}, null::${target})`)
    ])
  },
  "cast of an enum": (m, f) => {
    const type = m.name("mood")
    m.add(`create type public.${type} as enum ('sad', 'glad')`)
    const target = m.random.of(["text", "int", "json", "jsonb", "bool"])
    const value = { text: "'a'::text", int: "1", json: "'{}'::json", jsonb: "'{}'::jsonb", bool: "true" }[target]
    const g = glued(
      m,
      `a public.${type}`,
      `returns ${target}`,
      `case when ${called(f, m.literal)} is not null then ${value} end`
    )
    m.add(
      `create cast (public.${type} as ${target}) with function public.${g}(public.${type}) ${m.random.of(["", "as assignment", "as implicit"])}`
    )
    return m.random.of<Expr>([
      (x) => `case when ('sad'::public.${type})::${target} is not null then ${x} end`,
      (x) => `case when ${target}('sad'::${type}) is not null then ${x} end`,
      (x) => `case when ('sad'::${type}).${target} is not null then ${x} end`,
      (x) => `case when to_json('sad'::${type}) is not null then ${x} end`,
      (x) => `case when json_build_object('a', 'sad'::${type}) is not null then ${x} end`,
      (x) => `case when upper('sad'::${type}) is not null then ${x} end`,
      (x) => `case when concat('sad'::${type}) is not null then ${x} end`,
      (x) => `case when 'sad'::${type} || 'x' is not null then ${x} end`
    ])
  },
  "type with an order": (m, f) => {
    const type = m.name("ord")
    m.add(`create type public.${type} as (v ${m.kind}, i int)`)
    const cmp = glued(
      m,
      `a public.${type}, b public.${type}`,
      "returns int",
      `case when ${called(f, "($1).v")} is null then 0 else ($1).i - ($2).i end`
    )
    const signs: Array<string> = []
    for (const sign of ["<", "<=", "=", ">=", ">"]) {
      const g = glued(m, `a public.${type}, b public.${type}`, "returns bool", `public.${cmp}($1, $2) ${sign} 0`)
      const own = m.random.chance(0.5) ? sign : m.operator()
      signs.push(own)
      m.add(
        `create operator public.${own} (leftarg = public.${type}, rightarg = public.${type}, function = public.${g}${sign === "=" ? ", hashes, merges" : ""})`
      )
    }
    m.add(`create operator class public.${type}_ops default for type public.${type} using btree as
      ${signs.map((sign, at) => `operator ${at + 1} public.${sign}`).join(", ")}, function 1 public.${cmp}(public.${type}, public.${type})`)
    const less = signs[0] ?? ""
    const value = (x: string) => `row(${x}, 1)::public.${type}`
    const other = (x: string) => `row(${x}, 2)::public.${type}`
    const when =
      (test: (x: string) => string): Expr =>
      (x) =>
        `case when (${test(x)}) is not null then ${x} end`
    const rows = (x: string) => `(values (${value(x)}), (${other(x)})) r (c)`
    return m.random.of<Expr>([
      when((x) => `${value(x)} ${less} ${other(x)}`),
      when((x) => `${value(x)} operator(public.${less}) ${other(x)}`),
      when((x) => `${value(x)} in (${other(x)}, ${value(x)})`),
      when((x) => `${value(x)} between ${value(x)} and ${other(x)}`),
      when((x) => `${value(x)} between symmetric ${value(x)} and ${other(x)}`),
      when((x) => `${value(x)} is distinct from ${other(x)}`),
      when((x) => `nullif(${value(x)}, ${other(x)})`),
      when((x) => `case ${value(x)} when ${other(x)} then 1 else 2 end`),
      when((x) => `(1, ${value(x)}) < (1, ${other(x)})`),
      when((x) => `(${value(x)}, 1) = (${other(x)}, 1)`),
      when((x) => `greatest(${value(x)}, ${other(x)})`),
      when((x) => `array[${value(x)}] < array[${other(x)}]`),
      when((x) => `array_position(array[${value(x)}], ${other(x)})`),
      when((x) => `row(${value(x)}) < row(${other(x)})`),
      when((x) => `(select count(distinct c) from ${rows(x)})`),
      when((x) => `(select count(*) from (select distinct c from ${rows(x)}) q)`),
      when((x) => `(select i from (select c, 1 as i from ${rows(x)} order by c limit 1) q)`),
      when((x) => `(select i from (select c, 1 as i from ${rows(x)} order by c using ${less} limit 1) q)`),
      when(
        (x) => `(select i from (select c, 1 as i from ${rows(x)} order by c using operator(public.${less}) limit 1) q)`
      ),
      when((x) => `(select count(*) from (select c from ${rows(x)} group by c) q)`),
      when((x) => `(select count(*) from (select c from ${rows(x)} union select ${value(x)}) q)`),
      when((x) => `(select count(*) from (select c from ${rows(x)} intersect select ${value(x)}) q)`),
      when((x) => `(select count(*) from (select c from ${rows(x)} except select ${value(x)}) q)`),
      when((x) => `(select count(*) from ${rows(x)} join (values (${value(x)})) s (c) using (c))`),
      when((x) => `(select count(*) from ${rows(x)} natural join (values (${value(x)})) s (c))`),
      when((x) => `(select count(*) from (select distinct on (c) c from ${rows(x)}) q)`),
      when((x) => `(select rank() over (order by c) from ${rows(x)} limit 1)`),
      when((x) => `(select count(*) over (partition by c) from ${rows(x)} limit 1)`),
      when((x) => `(select array_agg(1 order by c) from ${rows(x)})`),
      when((x) => `(select percentile_disc(0.5) within group (order by c) from ${rows(x)})`),
      when((x) => `(select rank(${value(x)}) within group (order by c) from ${rows(x)})`),
      when((x) => `(select count(*) from (select c from ${rows(x)} group by grouping sets ((c), ())) q)`),
      when(
        (x) =>
          `(select count(*) from (with recursive w (c, i) as (values (${value(x)}, 1) union select c, i + 1 from w where i < 3) cycle c set stop using path select c from w) q)`
      ),
      when((x) => `${value(x)} = any (array[${other(x)}])`),
      when((x) => `array_remove(array[${value(x)}], ${other(x)})`),
      when((x) => `width_bucket(${value(x)}, array[${other(x)}, ${other(x)}])`),
      when((x) => `row(${value(x)}) *< row(${other(x)})`),
      when((x) => `array_sort(array[${other(x)}, ${value(x)}])`)
    ])
  },
  "range over an order": (m, f) => {
    const type = m.name("span")
    const diff = glued(
      m,
      "a float8, b float8",
      "returns float8",
      `case when ${called(f, m.literal)} is not null then $1 - $2 end`
    )
    const cmp = m.name("cmp")
    m.add(`create type public.${type}_of as (v ${m.kind}, i int)`)
    m.glue(
      `public.${cmp}`,
      `a public.${type}_of, b public.${type}_of`,
      "returns int",
      `case when ${called(f, "($1).v")} is null then 0 else ($1).i - ($2).i end`
    )
    const signs = ["<", "<=", "=", ">=", ">"].map((sign) => {
      const own = m.operator()
      const g = glued(m, `a public.${type}_of, b public.${type}_of`, "returns bool", `($1).i ${sign} ($2).i`)
      m.add(
        `create operator public.${own} (leftarg = public.${type}_of, rightarg = public.${type}_of, function = public.${g})`
      )
      return own
    })
    m.add(`create operator class public.${type}_ops for type public.${type}_of using btree as
      ${signs.map((sign, at) => `operator ${at + 1} public.${sign}`).join(", ")}, function 1 public.${cmp}(public.${type}_of, public.${type}_of)`)
    m.add(`create type public.${type} as range (subtype = public.${type}_of, subtype_opclass = public.${type}_ops)`)
    m.add(`create type public.${type}_f as range (subtype = float8, subtype_diff = public.${diff})`)
    const made = (x: string) => `public.${type}(row(${x}, 1)::public.${type}_of, row(${x}, 2)::public.${type}_of)`
    const when =
      (test: (x: string) => string): Expr =>
      (x) =>
        `case when (${test(x)}) is not null then ${x} end`
    return m.random.of<Expr>([
      when(made),
      when((x) => `${made(x)} @> row(${x}, 1)::public.${type}_of`),
      when((x) => `${made(x)} && ${made(x)}`),
      when((x) => `${made(x)} = ${made(x)}`),
      when((x) => `isempty(${made(x)})`),
      when((x) => `lower(${made(x)})`),
      when((x) => `multirange(${made(x)})`),
      when((x) => `(select range_agg(c) from (values (${made(x)})) r (c))`),
      when((x) => `(select c from (values (${made(x)})) r (c) order by c)`)
    ])
  }
}
