import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Advisor } from "../../../src/services/insights/Advisor.ts"
import { layerDatabase, live, Outside, session } from "../../support/database.ts"

const before = `
  create schema shop;
  create table shop.orders (id int primary key, customer int not null, status text not null, placed timestamptz, note text, "odd ""c" int)
    with (autovacuum_enabled = false);
  insert into shop.orders select i, i % 5000, (array['draft', 'paid', 'sent'])[1 + i % 3], now() - i * interval '1 minute', 'n' || i, i
    from generate_series(1, 60000) i;
  create table shop.customers (id int primary key, name text) with (autovacuum_enabled = false);
  insert into shop.customers select i, 'c' || i from generate_series(1, 5000) i;
  create table shop.huge (id int primary key, v int, pad text) with (autovacuum_enabled = false);
  insert into shop.huge select i, i % 9000, repeat('x', 400) from generate_series(1, 60000) i;
  create table shop.parts (id int, v int) partition by hash (id);
  create table shop.part_0 partition of shop.parts for values with (modulus 1, remainder 0);
  insert into shop.parts select i, i from generate_series(1, 20000) i;
  create table shop.touched (called int);
  insert into shop.touched values (0);
  create function shop.touch(v int) returns int volatile language plpgsql as $$ begin update shop.touched set called = called + 1; return v; end $$;
  analyze;`

const suite = layer(Advisor.layer.pipe(Layer.provideMerge(layerDatabase({ name: "advisor", before }))), live)

const advise = (statement: string) => Effect.flatMap(Advisor, (advisor) => advisor.advise(statement))
const indexesOf = (statement: string) =>
  Effect.map(advise(statement), ({ proposals }) => proposals.map(({ sql }) => sql))

suite("advice", (it) => {
  it.effect("tries an index on a small table, says what it saves and takes, and leaves nothing behind", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("select pg_stat_force_next_flush()")
      const indexes = yield* sql("select count(*)::int as n from pg_class where relkind = 'i'")
      const advice = yield* advise("select * from shop.orders where customer = $1 and placed > $2")
      const [proposal, ...others] = advice.proposals
      assert.isEmpty(others)
      assert.deepInclude(proposal, { schema: "shop", table: "orders", trial: "built" })
      assert.strictEqual(proposal?.sql, 'create index concurrently on "shop"."orders" ("customer", "placed")')
      assert.isBelow(proposal?.cost ?? Infinity, advice.cost / 10)
      assert.isAbove(proposal?.bytes ?? 0, 100_000)
      assert.strictEqual(proposal?.table_rows, 60_000)
      assert.isAbove(proposal?.writes_per_second ?? 0, 0)
      assert.deepStrictEqual(yield* sql("select count(*)::int as n from pg_class where relkind = 'i'"), indexes)
      // It is what it says, and then there is nothing more to propose.
      yield* sql(proposal?.sql ?? "")
      assert.isEmpty((yield* advise("select * from shop.orders where customer = $1 and placed > $2")).proposals)
      yield* sql("drop index shop.orders_customer_placed_idx")
    })
  )

  it.effect("finds the columns of joins, lists, orders with a limit, subqueries, updates and deletes", () =>
    Effect.gen(function* () {
      for (const [statement, index] of [
        [
          "select * from shop.customers c join shop.orders o on o.customer = c.id where c.name = $1",
          ["orders", "customer"]
        ],
        ["select * from shop.orders where customer in ($1, $2, $3)", ["orders", "customer"]],
        ["select * from shop.orders where customer = any ($1)", ["orders", "customer"]],
        ["select * from shop.orders order by placed desc limit 10", ["orders", 'placed" desc']],
        [
          "select * from shop.orders where status = 'paid' and placed > now() order by placed limit 5",
          ["orders", "placed"]
        ],
        [
          "select name from shop.customers c where id = 7 and exists (select from shop.orders where customer = c.id)",
          ["orders", "customer"]
        ],
        ["update shop.orders set note = $1 where customer = $2", ["orders", "customer"]],
        [
          "delete from shop.orders o using shop.customers c where o.customer = c.id and c.name = $1",
          ["orders", "customer"]
        ],
        [
          "with w as (delete from shop.orders where customer = 3 returning id) select count(*) from w",
          ["orders", "customer"]
        ],
        ['select * from shop.orders where "odd ""c" = $1', ["orders", 'odd ""c']]
      ] as const) {
        const found = yield* indexesOf(statement)
        const [table, column] = index
        assert.isTrue(
          found.some((sql) => sql.includes(`"${table}" (`) && sql.includes(`"${column}`)),
          `${statement}: ${found.join("; ")}`
        )
      }
      const { sql } = yield* Outside
      // Statements that change rows were planned only.
      assert.deepStrictEqual(yield* sql("select count(*)::int as n from shop.orders where customer = 3"), [{ n: 12 }])
    })
  )

  it.effect("proposes nothing where an index is there, unusable, or no use", () =>
    Effect.gen(function* () {
      for (const statement of [
        "select * from shop.orders where id = $1",
        "select count(*) from shop.orders",
        "select * from shop.orders where customer + 1 = $1",
        "select * from shop.orders where customer = $1 or note = $2",
        "select * from shop.orders where customer::text = $1",
        "select * from shop.orders where customer <> $1",
        "with orders as (select 1 as customer) select * from orders where customer = $1",
        "select * from pg_catalog.pg_class where relpages = $1",
        "select * from svc.migrations where name = $1"
      ]) {
        assert.deepStrictEqual(yield* indexesOf(statement).pipe(Effect.orElseSucceed(() => [])), [], statement)
      }
    })
  )

  it.effect("estimates for large and partitioned tables, without building anything", () =>
    Effect.gen(function* () {
      const advice = yield* advise("select * from shop.huge where v = $1")
      assert.deepInclude(advice.proposals[0], { table: "huge", trial: "estimate", columns: ["v"] })
      assert.isBelow(advice.proposals[0]?.cost ?? Infinity, advice.cost / 10)
      assert.isAbove(advice.proposals[0]?.bytes ?? 0, 500_000)
      assert.isEmpty((yield* advise("select * from shop.parts where v = $1")).proposals)
    })
  )

  it.effect("never executes the statement, and takes no other than one that reads or changes rows", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* advise("select shop.touch(id) from shop.orders where customer = shop.touch(3)")
      yield* advise("with w as (update shop.touched set called = 99 returning 1) select * from w")
      for (const statement of [
        "drop table shop.touched",
        "insert into shop.touched values (1)",
        "explain analyze select shop.touch(1)",
        "select 1; drop table shop.touched",
        "select 1 into shop.made",
        "call shop.touch(1)",
        "do $$ begin end $$",
        "set statement_timeout = 0",
        "not sql",
        "select 'a\\' || '; drop table shop.touched; --'; select 1",
        ""
      ]) {
        const error = yield* Effect.flip(advise(statement))
        assert.strictEqual(error._tag, "InvalidRequest", statement)
      }
      const nested = `select 1 where ${"(".repeat(3000)}true${")".repeat(3000)}`
      const deep = yield* Effect.result(advise(nested))
      assert.isTrue(deep._tag === "Success" || deep.failure._tag !== "Unavailable")
      // Whatever PostgreSQL takes a backslash for.
      yield* sql(
        "alter database " +
          (yield* sql("select current_database() as d"))[0]?.["d"] +
          " set standard_conforming_strings = off"
      )
      yield* advise("select 'a\\' || '; drop table shop.touched; --' from shop.orders where customer = 1")
      assert.deepStrictEqual(yield* sql("select called from shop.touched"), [{ called: 0 }])
    })
  )

  it.effect("does not wait for a locked table, nor for rows that others still see", () =>
    Effect.gen(function* () {
      const ask = yield* session
      yield* ask("begin")
      yield* ask("insert into shop.customers values (6000, 'c')")
      const advice = yield* advise("select * from shop.customers where name = $1")
      assert.deepInclude(advice.proposals[0], { table: "customers", trial: "estimate" })
      yield* ask("rollback")
    }).pipe(Effect.scoped)
  )
})
