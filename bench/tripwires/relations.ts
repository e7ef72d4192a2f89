import { type Expr, type Maker } from "./maker.ts"

/**
 * Makes a relation of this name with columns `id int`, `v` of the case's kind, `t text` and at least one row, which evaluates
 * the expression when it is read or written.
 */
type Place = (m: Maker, e: Expr, name: string) => void

export const tableOf = (m: Maker, name: string, more = "", options = "") =>
  m.add(`create table ${name} (id int primary key, v ${m.kind} default ${m.literal}, t text default 'a'${more}) ${options};
    insert into ${name} (id, v) values (1, ${m.literal}), (2, null); grant all on ${name} to public`)

const bare = (name: string) => name.replace(/.*\./, "")
const nested: { readonly flat?: boolean } = {}
const flat = { flat: true }
const test = (expression: string) => `(${expression}) is not null or true`

const policy =
  (command: string, clauses: (condition: string) => string, more = ""): Place =>
  (m, e, name) => {
    tableOf(m, name)
    m.add(`alter table ${name} enable row level security`)
    if (command !== "all") m.add(`create policy other on ${name} for all using (true)`)
    m.add(
      `create policy p on ${name} ${m.random.of(["", "as permissive"])} for ${command} ${clauses(test(e("v", nested)))}`
    )
    if (command !== "all" && m.random.chance(0.7))
      m.add(`create policy q on ${name} as restrictive for ${command} ${clauses(test(e("v", nested)))}`)
    if (m.random.chance(0.2)) m.add(`alter table ${name} force row level security`)
    if (more !== "") m.add(more)
  }

const view =
  (write: (name: string, base: string, value: string, e: Expr, m: Maker) => string): Place =>
  (m, e, name) => {
    const base = `public.${m.name("base")}`
    tableOf(m, base)
    m.add(write(name, base, e("v", nested), e, m))
    m.add(`grant all on ${name} to public`)
  }

const trigger =
  (when: string, each: string, more = ""): Place =>
  (m, e, name) => {
    tableOf(m, name)
    const fn = m.name("fire")
    const row = /delete/.test(when) ? "old" : "new"
    const value = each === "row" ? e(`${row}.v`, nested) : e(m.literal, nested)
    m.add(`create function public.${fn}() returns trigger language plpgsql as $f$ declare x ${m.kind}; begin
      x := ${value}; return ${each === "row" ? row : "null"}; end $f$`)
    m.add(
      `create ${more === "" ? "" : "constraint"} trigger ${m.name("t")} ${when} on ${name} ${more} for each ${each} execute function public.${fn}()`
    )
  }

const column =
  (write: (value: string, m: Maker) => string): Place =>
  (m, e, name) =>
    tableOf(m, name, `, w ${write(e("v", flat), m)}`)

const check = (m: Maker, e: Expr) => `check (${test(e("v", flat))})`

export const relations: Readonly<Record<string, Place>> = {
  view: view((name, base, value) => `create view ${name} as select id, ${value} as v, t from ${base}`),
  "view in the barrier of its rows": view(
    (name, base, value) =>
      `create view ${name} with (security_barrier) as select id, v, t from ${base} where ${test(value)}`
  ),
  "view of its caller": view(
    (name, base, value) => `create view ${name} with (security_invoker) as select id, ${value} as v, t from ${base}`
  ),
  "view with CHECK OPTION": view(
    (name, base, value) => `create view ${name} as select id, v, t from ${base} where ${test(value)} with check option`
  ),
  "view on a view": view((name, base, value, _, m) => {
    const inner = `public.${m.name("inner")}`
    return `create view ${inner} as select id, ${value} as v, t from ${base}; create view ${name} as select * from ${inner} where id > 0`
  }),
  "view in a union": view(
    (name, base, value) =>
      `create view ${name} as select id, ${value} as v, t from ${base} union all select * from ${base}`
  ),
  "default of a view's column": view(
    (name, base, _, e, m) =>
      `create view ${name} as select id, v, t from ${base}; alter view ${name} alter v set default ${e(m.literal, flat)}`
  ),
  "materialised view": view(
    (name, base, value) =>
      `create materialized view ${name} as select id, ${value} as v, t from ${base}; create index on ${name} (id)`
  ),
  "index of a materialised view": view(
    (name, base, _, e) =>
      `create materialized view ${name} as select id, v, t from ${base}; create index on ${name} ((${e("v", flat)}))`
  ),
  "policy of SELECT": policy("select", (c) => `using (${c})`),
  "policy of INSERT": policy("insert", (c) => `with check (${c})`),
  "policy of UPDATE": policy("update", (c) => `using (${c})`),
  "policy of UPDATE's new row": policy("update", (c) => `using (true) with check (${c})`),
  "policy of DELETE": policy("delete", (c) => `using (${c})`),
  "policy of ALL": policy("all", (c) => `using (${c})`),
  "policy of ALL's new row": policy("all", (c) => `using (true) with check (${c})`),
  "policy behind a view": view(
    (name, base, value) =>
      `alter table ${base} enable row level security; create policy p on ${base} using (${test(value)}); create view ${name} with (security_invoker) as select * from ${base}`
  ),
  "BEFORE INSERT": trigger("before insert", "row"),
  "BEFORE UPDATE": trigger("before update", "row"),
  "BEFORE UPDATE OF": trigger("before update of t, v", "row"),
  "BEFORE DELETE": trigger("before delete", "row"),
  "AFTER INSERT": trigger("after insert or update", "row"),
  "AFTER DELETE": trigger("after delete", "row"),
  "BEFORE STATEMENT": trigger("before insert or update or delete", "statement"),
  "AFTER STATEMENT": trigger("after insert or update or delete", "statement"),
  "constraint trigger": trigger("after insert or update", "row", "not deferrable"),
  "deferred trigger": trigger("after insert or update", "row", "deferrable initially deferred"),
  "transition table": (m, e, name) => {
    tableOf(m, name)
    const fn = m.name("fire")
    m.add(
      `create function public.${fn}() returns trigger language plpgsql as $f$ begin perform ${e("n.v", nested)} from n; return null; end $f$`
    )
    m.add(
      `create trigger ${m.name("t")} after insert on ${name} referencing new table as n for each statement execute function public.${fn}()`
    )
  },
  "WHEN of a trigger": (m, e, name) => {
    tableOf(m, name)
    m.add(
      `create trigger ${m.name("t")} before update on ${name} for each row when (${test(e("old.v", flat))}) execute function suppress_redundant_updates_trigger()`
    )
  },
  "INSTEAD OF": (m, e, name) => {
    const base = `public.${m.name("base")}`
    tableOf(m, base)
    m.add(`create view ${name} as select * from ${base}; grant all on ${name} to public`)
    const fn = m.name("fire")
    m.add(
      `create function public.${fn}() returns trigger language plpgsql as $f$ declare x ${m.kind}; begin x := ${e("new.v", nested)}; return new; end $f$`
    )
    m.add(
      `create trigger ${m.name("t")} instead of insert or update on ${name} for each row execute function public.${fn}()`
    )
  },
  "rule ALSO": (m, e, name) => {
    tableOf(m, name)
    m.add(`create rule r as on insert to ${name} do also select ${e("new.v", nested)}`)
  },
  "rule's condition": (m, e, name) => {
    tableOf(m, name)
    m.add(`create rule r as on update to ${name} where ${test(e("old.v", nested))} do also notify tripped`)
  },
  "rule INSTEAD": (m, e, name) => {
    const other = `public.${m.name("other")}`
    tableOf(m, other)
    tableOf(m, name)
    m.add(
      `create rule r as on insert to ${name} do instead insert into ${other} values (new.id, ${e("new.v", nested)}, new.t) returning *`
    )
  },
  default: (m, e, name) => tableOf(m, name, `, w ${m.kind} default ${e(m.literal, flat)}`),
  "default of v": (m, e, name) => {
    tableOf(m, name)
    m.add(`alter table ${name} alter v set default ${e(m.literal, flat)}`)
  },
  "generated column": column((value, m) => `${m.kind} generated always as (${value}) stored`),
  "virtual column": column((value, m) => `${m.kind} generated always as (${value}) virtual`),
  "identity and default": (m, e, name) =>
    tableOf(m, name, `, n bigint generated by default as identity, w ${m.kind} default ${e(m.literal, flat)}`),
  "CHECK of a column": (m, e, name) => tableOf(m, name, `, ${check(m, e)}`),
  "CHECK that is not valid": (m, e, name) => {
    tableOf(m, name)
    m.add(`alter table ${name} add ${check(m, e)} not valid`)
  },
  "constant CHECK": (m, e, name) => tableOf(m, name, `, check (${test(e(m.literal, flat))})`),
  "CHECK under a union": (m, e, name) => {
    const [one, two] = [`public.${m.name("one")}`, `public.${m.name("two")}`]
    tableOf(m, one, `, check (${test(e(m.literal, flat))})`)
    tableOf(m, two)
    m.add(`create view ${name} as select * from ${one} union all select * from ${two}; grant all on ${name} to public`)
  },
  "domain of a column": (m, e, name) => {
    const domain = `public.${m.name("dom")}`
    m.add(
      `create domain ${domain} as ${m.kind} ${m.random.of(["", `default ${m.literal}`])} check (${test(e("value", flat))})`
    )
    tableOf(m, name, `, w ${domain} ${m.random.of(["", `default ${m.literal}`])}`)
  },
  "default of a domain": (m, e, name) => {
    const domain = `public.${m.name("dom")}`
    m.add(`create domain ${domain} as ${m.kind} default ${e(m.literal, flat)}`)
    tableOf(m, name, `, w ${domain}`)
  },
  "domain in a column's type": (m, e, name) => {
    const domain = `public.${m.name("dom")}`
    const pair = `public.${m.name("pair")}`
    m.add(
      `create domain ${domain} as ${m.kind} check (${test(e("value", flat))}); create type ${pair} as (a ${domain}, b int)`
    )
    tableOf(m, name, m.random.of([`, w ${pair}`, `, w ${domain}[]`, `, w ${pair}[]`]))
  },
  "index expression": (m, e, name) => {
    tableOf(m, name)
    m.add(`create index on ${name} ((${e("v", flat)}))`)
  },
  "unique index expression": (m, e, name) => {
    tableOf(m, name)
    m.add(`create unique index on ${name} (id, (${e("v", flat)}))`)
  },
  "index predicate": (m, e, name) => {
    tableOf(m, name)
    m.add(`create index on ${name} (id) where ${test(e("v", flat))}`)
  },
  "constant index predicate": (m, e, name) => {
    tableOf(m, name)
    m.add(`create unique index on ${name} (id) where ${test(e(m.literal, flat))}`)
  },
  "exclusion constraint": (m, e, name) =>
    tableOf(m, name, `, exclude using btree ((${e("v", flat)}) with =) where (id < 0)`),
  statistics: (m, e, name) => {
    tableOf(m, name)
    m.add(`create statistics public.${m.name("s")} on (${e("v", flat)}), t from ${name}; analyze ${name}`)
  },
  "partition key": (m, e, name) => {
    const { random } = m
    const how = random.of([
      ["list", "for values in (null)"],
      ["range", `for values from (minvalue) to (maxvalue)`],
      ["hash", "for values with (modulus 1, remainder 0)"]
    ] as const)
    m.add(
      `create table ${name} (id int, v ${m.kind} default ${m.literal}, t text default 'a') partition by ${how[0]} ((${e("v", flat)}))`
    )
    m.add(`create table public.${m.name("part")} partition of ${name} ${random.chance(0.5) ? "default" : how[1]}`)
    m.add(`insert into ${name} (id) values (1); grant all on ${name} to public`)
  },
  "CHECK of a partition": (m, e, name) => {
    const part = `public.${m.name("part")}`
    m.add(`create table ${name} (id int, v ${m.kind} default ${m.literal}, t text default 'a') partition by list (t)`)
    m.add(`create table ${part} partition of ${name} default; alter table ${part} add ${check(m, e)}`)
    m.add(`insert into ${name} (id) values (1); grant all on ${name} to public`)
  },
  "CHECK of a child": (m, e, name) => {
    tableOf(m, name)
    m.add(`create table public.${m.name("child")} (${check(m, e)}) inherits (${name})`)
  },
  "policy of a child": (m, e, name) => {
    const parent = `public.${m.name("parent")}`
    tableOf(m, parent)
    m.add(`create table ${name} () inherits (${parent}); insert into ${name} (id) values (1); grant all on ${name} to public;
      alter table ${name} enable row level security; create policy p on ${name} using (${test(e("v", nested))})`)
  },
  "trigger of a partition": (m, e, name) => {
    const [part, fn] = [`public.${m.name("part")}`, m.name("fire")]
    m.add(
      `create table ${name} (id int, v ${m.kind} default ${m.literal}, t text default 'a') partition by list (t); create table ${part} partition of ${name} default`
    )
    m.add(
      `create function public.${fn}() returns trigger language plpgsql as $f$ declare x ${m.kind} := ${e("new.v", nested)}; begin return new; end $f$`
    )
    m.add(
      `create trigger ${m.name("t")} before insert on ${part} for each row execute function public.${fn}(); grant all on ${name} to public`
    )
  },
  "policy of what a key names": (m, e, name) => {
    const to = `public.${m.name("to")}`
    tableOf(m, to)
    m.add(
      `alter table ${to} enable row level security; create policy p on ${to} using (${test(e("v", nested))}); alter table ${to} force row level security`
    )
    tableOf(m, name, `, ref int references ${to} on delete cascade default 1`)
  },
  "trigger behind a cascade": (m, e, name) => {
    const [from, fn] = [`public.${m.name("from")}`, m.name("fire")]
    tableOf(m, name)
    m.add(
      `create table ${from} (id int, ref int ${m.random.of(["default 1", ""])} references ${name} ${m.random.of(["on delete cascade", "on delete set null", "on delete set default", "on update cascade on delete cascade"])})`
    )
    m.add(`insert into ${from} values (1, 1), (2, 2)`)
    m.add(
      `create function public.${fn}() returns trigger language plpgsql as $f$ declare x ${m.kind} := ${e(m.literal, nested)}; begin return coalesce(new, old); end $f$`
    )
    m.add(
      `create trigger ${m.name("t")} before update or delete on ${from} for each row execute function public.${fn}()`
    )
  },
  "default behind a key": (m, e, name) => {
    tableOf(m, name)
    m.add(
      `create table public.${m.name("from")} (id int, ref int default (case when (${e(m.literal, flat)}) is null then 1 else null end) references ${name} on delete set default)`
    )
  },
  "CHECK behind a cascade": (m, e, name) => {
    tableOf(m, name)
    const from = `public.${m.name("from")}`
    m.add(
      `create table ${from} (id int, ref int references ${name} on delete set null, check (${test(e(m.literal, flat))})); insert into ${from} values (1, 1)`
    )
  },
  "computed column": (m, e, name) => {
    tableOf(m, name)
    m.add(
      `create function public.${bare(name)}_computed(r ${name}) returns ${m.kind} stable language sql as $f$ select ${e("r.v", nested)} $f$`
    )
  },
  "computed column in PL/pgSQL": (m, e, name) => {
    tableOf(m, name)
    m.add(
      `create function public.${bare(name)}_computed(r ${name}) returns ${m.kind} stable language plpgsql as $f$ begin return ${e("r.v", nested)}; end $f$`
    )
  },
  "computed relationship": (m, e, name) => {
    tableOf(m, name)
    const to = `public.${m.name("to")}`
    tableOf(m, to)
    m.add(
      `create function public.${bare(name)}_related(r ${name}) returns setof ${to} rows 1 stable language sql as $f$ select * from ${to} q where ${test(e("r.v", nested))} $f$`
    )
  },
  "table of a composite type": (m, e, name) => {
    const type = `public.${m.name("shape")}`
    m.add(`create domain ${type}_of as ${m.kind} check (${test(e("value", flat))})`)
    m.add(
      `create type ${type} as (id int, v ${type}_of, t text); create table ${name} of ${type}; insert into ${name} values (1, ${m.literal}, 'a'); grant all on ${name} to public`
    )
  },
  "representation of a domain": (m, e, name) => {
    const domain = `public.${m.name("shown")}`
    const fn = `public.${m.name("show")}`
    m.add(
      `create domain ${domain} as ${m.kind}; create function ${fn}(d ${domain}) returns json language sql immutable as $f$ select to_json(${e(`d::${m.kind}`, nested)}) $f$`
    )
    m.add(`create cast (${domain} as json) with function ${fn}(${domain}) as implicit`)
    tableOf(m, name, `, w ${domain} default ${m.literal}`)
  },
  "cast of a table's row": (m, e, name) => {
    tableOf(m, name)
    const fn = `public.${m.name("show")}`
    m.add(
      `create function ${fn}(r ${name}) returns json language plpgsql stable as $f$ begin return to_json(${e("r.v", nested)}); end $f$`
    )
    m.add(
      `create cast (${name} as json) with function ${fn}(${name}) ${m.random.of(["", "as implicit", "as assignment"])}`
    )
  },
  "cast of a column's enum": (m, e, name) => {
    const type = `public.${m.name("mood")}`
    const fn = `public.${m.name("show")}`
    const target = m.random.of(["json", "jsonb", "text", "int"])
    const value = { json: "'{}'::json", jsonb: "'{}'::jsonb", text: "'a'::text", int: "1" }[target]
    m.add(`create type ${type} as enum ('sad', 'glad')`)
    tableOf(m, name, `, w ${type} default 'sad'`)
    m.add(
      `create function ${fn}(r ${type}) returns ${target} language plpgsql immutable as $f$ begin perform ${e(m.literal, nested)}; return ${value}; end $f$`
    )
    m.add(
      `create cast (${type} as ${target}) with function ${fn}(${type}) ${m.random.of(["", "as implicit", "as assignment"])}`
    )
  },
  "table alone": (m, _, name) => tableOf(m, name)
}

/** Relations that evaluate the expression when they are read. */
export const read: ReadonlyArray<string> = Object.keys(relations).filter((name) =>
  /view|SELECT|ALL$|virtual|statistics|index|union|child|partition/.test(name)
)
