import { type Expr, type Maker } from "./maker.ts"
import { flat, nested, type Place, tableOf, test } from "./places.ts"

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

/** Views, policies, triggers and rules. */
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
  }
}
