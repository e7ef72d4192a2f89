import { type Effect } from "effect"
import * as fc from "fast-check"
import { type ClientError } from "../../../src/domain/errors.ts"
import { type Db } from "../../../src/services/ports/Db.ts"
import { type Functions } from "../../../src/services/rows/Functions.ts"
import { type Rows } from "../../../src/services/rows/Rows.ts"
import { everyHidden, flat, type Hidden, hidden, withColumns } from "./hiding.ts"
import { anon, type As, raw, rawRpc } from "../requests.ts"

/** The expression for the columns of a table, or for constants. */
type Written = (row?: string) => string

/** SQL that makes a relation or function of this name, by which PostgreSQL may evaluate the expression. */
type Place = (name: string, expression: Written) => string

const columns =
  "id int primary key, n int default 1, t text default 'a', j jsonb default '{\"n\": 1}', a int[] default '{1}'"

const table = (name: string, more = "") => `create table ${name} (${columns}${more});
  insert into ${name} (id) values (1), (2);`

const guarded = (name: string, policies: string) => `${table(name)}
  alter table ${name} enable row level security;
  ${policies}`

/** A table with a key to this one, and one to which it has a key. */
const keyed = (name: string, action = "") => `
  create table ${name} (id int primary key, n int default 1, t text, of int references ${name}_to on delete ${action || "no action"});
  insert into ${name} (id, of) values (1, 1), (2, 2);`

/** Where any expression fits. */
const anywhere: Readonly<Record<string, Place>> = {
  policy: (name, e) => guarded(name, `create policy p on ${name} using (${e(name)}) with check (true);`),
  "constant policy": (name, e) => guarded(name, `create policy p on ${name} using (${e()});`),
  "policy for writes": (name, e) =>
    guarded(
      name,
      `create policy r on ${name} for select using (true);
      create policy w on ${name} using (true) with check (${e(name)});`
    ),
  "restrictive policy": (name, e) =>
    guarded(
      name,
      `create policy r on ${name} using (true);
      create policy w on ${name} as restrictive for update to anon using (${e(name)});`
    ),
  "policy behind a policy": (name, e) => `
    ${guarded(`${name}_in`, `create policy p on ${name}_in using (${e(`${name}_in`)});`)}
    ${guarded(name, `create policy p on ${name} using (n in (select i.n from ${name}_in i)) with check (true);`)}`,
  view: (name, e) => `${table(`${name}_in`)}
    create view ${name} as select i.id, i.n, i.t, ${e("i")} as e from ${name}_in i;`,
  "view with a condition": (name, e) => `${table(`${name}_in`)}
    create view ${name} as select id, n, t from ${name}_in i where ${e("i")};`,
  "view of a view": (name, e) => `${table(`${name}_in`)}
    create view ${name}_mid with (security_barrier) as select i.*, ${e("i")} as e from ${name}_in i;
    create view ${name} as select id, n, t from ${name}_mid where e;`,
  "view of a policy": (name, e) => `
    ${guarded(`${name}_in`, `create policy p on ${name}_in using (${e(`${name}_in`)});`)}
    create view ${name} with (security_invoker) as select id, n, t from ${name}_in;`,
  "view of a function": (name, e) => `
    create function ${name}_in() returns setof bool stable begin atomic select ${e()}; end;
    create view ${name} as select 1 as id, 1 as n, 'a' as t, x from ${name}_in() x;`,
  "materialized view": (name, e) =>
    `create materialized view ${name} as select 1 as id, 1 as n, 'a' as t, ${e()} as e;`,
  function: (name, e) => `create function ${name}() returns bool stable return ${e()};`,
  "volatile function": (name, e) => `create function ${name}() returns bool begin atomic select 1; select ${e()}; end;`,
  "function that returns columns": (name, e) =>
    `create function ${name}(out id int, out n int, out e bool) stable begin atomic select 1, 1, ${e()}; end;`,
  "function that returns rows": (name, e) => `${table(`${name}_in`)}
    create function ${name}() returns setof ${name}_in stable begin atomic select * from ${name}_in i where ${e("i")}; end;`,
  "body in SQL": (name, e) => `create function ${name}() returns bool language sql as $body$ select ${e()} $body$;`,
  "body in SQL with a search path": (name, e) => `
    create function ${name}() returns bool language sql security definer set search_path = plain, spy
      as $body$ select ${e().replaceAll("spy.", "")} $body$;`,
  "body in SQL that reads": (name, e) => `${table(`${name}_in`)}
    create function ${name}() returns setof int stable language sql
      as $body$ select id from public.${name}_in i where ${e("i")} union all select 1 $body$;`,
  "body in PL/pgSQL": (name, e) => `
    create function ${name}() returns bool stable language plpgsql as $body$ begin return ${e()}; end $body$;`,
  "variables in PL/pgSQL": (name, e) => `${table(`${name}_in`)}
    create function ${name}() returns bool language plpgsql as $body$
      declare x bool = true; r record;
      begin
        for r in select ${e("i")} as e from public.${name}_in i loop x = x and r.e; end loop;
        if x then select ${e()} into x; end if;
        return x;
      end $body$;`,
  "body behind a policy": (name, e) => `
    create function ${name}_in(a int) returns bool stable language plpgsql as $body$ begin return ${e()}; end $body$;
    ${guarded(name, `create policy p on ${name} using (${name}_in(n));`)}`,
  "function behind a function": (name, e) => `
    create function ${name}_in(a int) returns bool stable return ${e()};
    create function ${name}(a int default 1) returns bool stable return case when a > 0 then ${name}_in(a) end;`,
  "policy of what a key names": (name, e) => `
    ${guarded(`${name}_to`, `create policy p on ${name}_to using (${e(`${name}_to`)});`)}
    ${keyed(name)}`,
  "forced policy of what a key names": (name, e) => `
    ${guarded(
      `${name}_to`,
      `create policy p on ${name}_to using (${e(`${name}_to`)});
      alter table ${name}_to force row level security;`
    )}
    ${keyed(name)}
    alter table ${name}_to owner to spied_owner;`,
  rule: (name, e) => `${table(name)}
    create rule r as on update to ${name} where ${e("old")} do also select 1;`
}

/** Where subqueries are not accepted. */
const constraint: Readonly<Record<string, Place>> = {
  check: (name, e) => table(name, `, check (${e(name)})`),
  "constant check": (name, e) => table(name, `, check (${e()})`),
  "check of tables in a union": (name, e) => `${table(`${name}_in`, `, check (${e()})`)} ${table(`${name}_other`)}
    create view ${name} as select id, n, t from ${name}_in union all select id, n, t from ${name}_other;`,
  "check of a union behind a view": (name, e) => `${table(`${name}_in`, `, check (${e()})`)}
    create view ${name}_mid as select id, n, t from ${name}_in;
    create view ${name} as select * from (select * from ${name}_mid union all select * from ${name}_mid) u;`,
  default: (name, e) => table(name, `, e bool default ${e()}`),
  "generated column": (name, e) => table(name, `, e bool generated always as (${e(name)}) stored`),
  "virtual column": (name, e) => table(name, `, e bool generated always as (${e(name)}) virtual`),
  index: (name, e) => `${table(name)} create index on ${name} ((${e(name)}));`,
  "partial index": (name, e) => `${table(name)} create unique index on ${name} (n, id) where ${e(name)};`,
  "constant index": (name, e) => `${table(name)} create index on ${name} (id) where ${e()};`,
  statistics: (name, e) => `${table(name)} create statistics ${name}_s on (${e(name)}), n from ${name};`,
  exclusion: (name, e) => table(name, `, exclude (t with =) where (id < 0 and ${e(name)})`),
  "argument of a function": (name, e) => `create function ${name}(a bool default ${e()}) returns bool stable return a;`,
  "argument of a function in a policy": (name, e) => `
    create function ${name}_in(a int, b bool default ${e()}) returns bool stable return coalesce(b, a > 0);
    ${guarded(name, `create policy p on ${name} using (${name}_in(n)) with check (true);`)}`,
  "type of a column": (name, e) => `
    create domain ${name}_type as int check (${e().replaceAll("1", "value")}) default 1;
    ${table(name, `, e ${name}_type`)}`,
  "type in a column's type": (name, e) => `
    create domain ${name}_type as int check (${e()});
    create type ${name}_pair as (a ${name}_type, b int);
    ${table(name, `, e ${name}_pair, f ${name}_type[]`)}`,
  "type of an argument": (name, e) => `
    create domain ${name}_type as int check (${e()});
    create function ${name}(a ${name}_type default 1) returns int stable return a;`,
  "type of a result": (name, e) => `
    create domain ${name}_type as int check (${e()});
    create function ${name}() returns ${name}_type stable return 1;`,
  "trigger's condition": (name, e) => `${table(name)}
    create trigger t before update on ${name} for each row when (${e("old")}) execute function suppress_redundant_updates_trigger();`,
  "partition of": (name, e) => `
    create table ${name}_all (id int, n int default 1, t text) partition by list ((${e(name).replaceAll(`${name}.`, "")}));
    create table ${name} partition of ${name}_all for values in (true, false, null);`,
  "child of a parent": (name, e) =>
    `${table(name)} ${`create table ${name}_in (check (${e(name).replaceAll(`${name}.`, "")})) inherits (${name});`}`,
  "default behind a key": (name, e) => `${table(`${name}_to`)}
    create table ${name}_from (id int primary key, n int default (${e()})::int references ${name}_to on delete set default);
    alter table ${name}_to rename to ${name};
    insert into ${name}_from values (1, 1);`,
  "index of what a key names": (name, e) => `${table(`${name}_to`)} create index on ${name}_to (id) where ${e()};
    ${keyed(name)}`,
  "check of what is deleted too": (name, e) => `${table(`${name}_to`)} ${keyed(`${name}`, "set null")}
    alter table ${name} add check (${e()});
    alter table ${name} rename to ${name}_from; alter table ${name}_to rename to ${name};`
}

/** A place and what is hidden there. */
export interface Case {
  readonly place: string
  readonly hidden: Hidden
}

const one = (places: Readonly<Record<string, Place>>, expression: fc.Arbitrary<Hidden>) =>
  fc.record({ place: fc.constantFrom(...Object.keys(places)), hidden: expression })

export const anyCase: fc.Arbitrary<Case> = fc.oneof(one(anywhere, hidden), one(constraint, flat))

/** Each expression in a policy, and a simple one in each place, in case that chance leaves them out. */
export const everyCase: ReadonlyArray<Case> = [
  ...["policy", "body in SQL", "body in PL/pgSQL"].flatMap((place) => everyHidden.map((hidden) => ({ place, hidden }))),
  ...Object.keys({ ...anywhere, ...constraint }).map((place) => ({
    place,
    hidden: { spied: "(spy.pass({n}) > 0)", plain: "({n} > 0)" }
  }))
]

/** SQL that makes the case's objects. */
export const madeBy = ({ place, hidden }: Case, variant: keyof Hidden, name: string) =>
  ({ ...anywhere, ...constraint })[place]?.(name, (row) => withColumns(hidden[variant], row)) ?? ""

type Request = Effect.Effect<unknown, ClientError, Db | Rows | Functions>

const as: As = { actor: anon }
const json = (value: unknown) => ({ _tag: "Json" as const, json: Buffer.from(JSON.stringify(value)) })

/** Requests on a relation or function of this name; some fail, for example writes to a view. */
export const requestsOn = (name: string, id = 100): ReadonlyArray<readonly [string, Request]> => [
  ["read", raw.get(name, as)],
  ["read with filters", raw.get(`${name}?select=n,t&n=gt.0&id=eq.1`, as)],
  ["read in order", raw.get(`${name}?order=t,n.desc&t=not.is.null&or=(n.lt.9,t.like.a*)`, as)],
  ["read as CSV", raw.get(`${name}?limit=1`, { ...as, form: { media: "csv" } })],
  ["read with a count", raw.get(`${name}?id=in.(1,2)`, { ...as, prefer: { count: "exact" } })],
  ["read with an embed", raw.get(`${name}?select=id,${name}_to(*)`, as)],
  ["insert", raw.post(name, { id }, as)],
  ["insert of values", raw.post(name, [{ id: id + 1, n: 1 }], { ...as, returning: "representation" })],
  ["upsert", raw.post(name, { id, n: 2 }, { ...as, prefer: { resolution: "merge-duplicates" } })],
  ["insert if new", raw.post(name, { id, n: 2 }, { ...as, prefer: { resolution: "ignore-duplicates" } })],
  ["update", raw.patch(`${name}?n=lt.9`, { t: "b" }, { ...as, returning: "representation" })],
  ["delete", raw.remove(`${name}?id=gt.1`, as)],
  ["call", rawRpc(name, json({}), as)],
  ["call as rows", rawRpc(`${name}?select=*&limit=5`, json({}), { ...as, prefer: { count: "exact" } })],
  ["call as a read", rawRpc(name, undefined, { ...as, method: "GET" })]
]
