import { type Expr, type Maker } from "./maker.ts"
import { tableOf } from "./places.ts"
import { relations } from "./relations.ts"
import { columns } from "./columns.ts"

/** What a body is made of: a name for its argument, and the language of the expression's place. */
export interface Parts {
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
export const relationOf = ({ e, m }: Parts) => {
  const name = `public.${m.name("rel")}`
  m.way({ ...relations, ...columns })(m, e, name)
  return name
}

export const plainTable = ({ m }: Parts) => {
  const name = `public.${m.name("plain")}`
  tableOf(m, name)
  return name
}

export const queries: Readonly<Record<string, Query>> = {
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
  "INSERT ON CONSTRAINT": (parts) => {
    const name = plainTable(parts)
    return `insert into ${name} as r (id, v) values (1, ${parts.a}) on conflict on constraint ${name.replace("public.", "")}_pkey do update set v = excluded.v where (${parts.e("r.v", {})}) is not null returning v`
  },
  "INSERT of rows": (parts) =>
    `insert into ${plainTable(parts)} (id, v) values ((random() * 1000000000)::int4, ${parts.value}), ((random() * 1000000000)::int4, default) returning v`,
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
