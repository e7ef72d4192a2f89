import { inject } from "vitest"
import { sql } from "../client.ts"

let made = 0

/** Tables of one test: customers with orders, which other tests do not see. */
export const makeShop = async (orders = 250) => {
  const service = inject("service")
  const suffix = `${process.pid}_${++made}`
  const [customer, order, status] = [`customer_${suffix}`, `order_${suffix}`, `status_${suffix}`]
  for (const text of [
    `create type ${status} as enum ('draft', 'paid', 'sent')`,
    `create table ${customer} (id int generated always as identity primary key, name text not null, email text unique)`,
    `create table ${order} (
       id int generated always as identity primary key,
       customer_id int not null references ${customer},
       status ${status} not null default 'draft',
       total numeric(20,2) not null,
       note text,
       details jsonb,
       placed_at timestamptz
     )`,
    `insert into ${customer} (name, email) select 'Customer ' || i, 'c' || i || '@example.com' from generate_series(1, 30) i`,
    `insert into ${order} (customer_id, status, total, note)
     select 1 + i % 30, (enum_range(null::${status}))[1 + i % 3], i * 1.1, case when i % 5 = 0 then 'Ring twice' end
     from generate_series(1, ${orders}) i`,
    `analyze ${order}`
  ]) {
    await sql(service, text)
  }
  return { customer, order, status }
}
