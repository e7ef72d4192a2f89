import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { type Finding, kinds } from "../../../src/domain/insights/Insight.ts"
import { Catalogues } from "../../../src/services/catalogue/Catalogues.ts"
import { Db } from "../../../src/services/ports/Db.ts"
import { Insights } from "../../../src/services/insights/Insights.ts"
import { layerDatabase, live, Outside, session } from "../../support/database.ts"
import { eventually } from "../../support/eventually.ts"

const before = `
  create schema shop; create schema hidden;
  alter default privileges in schema shop grant select on tables to anon;
  grant usage on schema shop to anon, authenticated;
  create table shop.readable (id int primary key);
  create table shop.writable (id int primary key, note text);
  grant update (note) on shop.writable to anon;
  create table shop.closed (id int primary key);
  revoke all on shop.closed from anon;
  create table shop."ow""n" (id int primary key, owner_id text);
  alter table shop."ow""n" enable row level security;
  create table hidden.unreachable (id int primary key);
  grant select on hidden.unreachable to anon;
  create foreign data wrapper none; create server none foreign data wrapper none;
  create foreign table shop.away (v int) server none;
  create view shop.past as select * from shop."ow""n";
  create view shop.safe with (security_invoker) as select * from shop."ow""n";
  create materialized view shop.copied as select * from shop."ow""n";
  grant select on shop.past, shop.safe, shop.copied to anon;

  create function shop.me() returns text immutable language sql as $$ select current_setting('request.jwt.sub', true) $$;
  create function shop.slug(v text) returns text immutable language plpgsql as $$ begin return lower(v); end $$;

  create table hidden.parent (a int, b int, primary key (a, b));
  create table hidden.bare (x int, y int, constraint bare_fk foreign key (x, y) references hidden.parent);
  create table hidden.reversed (x int, y int, z int, foreign key (x, y) references hidden.parent);
  create index on hidden.reversed (y, x, z);
  create table hidden.included (x int, y int, constraint included_fk foreign key (x, y) references hidden.parent);
  create index on hidden.included (x) include (y);
  create table hidden.item (id int primary key, replaces int references hidden.item);
  create index on hidden.item (replaces) where replaces is not null;
  create table hidden.some (id int primary key, item int, constraint some_fk foreign key (item) references hidden.item);
  create index on hidden.some (item) where id > 3;
  create table hidden.parts (id int, item int, constraint parts_fk foreign key (item) references hidden.item) partition by hash (id);
  create table hidden.part_0 partition of hidden.parts for values with (modulus 1, remainder 0);

  create table hidden.twins (id int primary key, a text, b text unique);
  create index twins_a on hidden.twins (a); create index twins_a_again on hidden.twins (a);
  create index twins_a_down on hidden.twins (a desc); create index twins_b_again on hidden.twins (b);
  create index twins_a_lower on hidden.twins (lower(a)); create index twins_a_upper on hidden.twins (upper(a));

  create table hidden.broken (id int);
  insert into hidden.broken values (1), (1);

  create table hidden.counted (id serial primary key, small smallint generated always as identity);
  select setval('hidden.counted_id_seq', 2000000000), setval('hidden.counted_small_seq', 30000);
  create sequence hidden.cycling maxvalue 10 cycle; select setval('hidden.cycling', 10);
  create sequence hidden.full as bigint maxvalue 9223372036854775807; select setval('hidden.full', 9223372036854775000);
  create sequence hidden.fresh as smallint;

  create table hidden.big (id int primary key, v int, w int) with (autovacuum_enabled = false);
  insert into hidden.big select i, i, i from generate_series(1, 60000) i;
  create index big_v on hidden.big (v); create index big_w on hidden.big (w);
  create table hidden.dead (id int primary key, w int) with (autovacuum_enabled = false);
  insert into hidden.dead select i, i from generate_series(1, 30000) i;
  delete from hidden.dead where id <= 20000;`

const suite = layer(
  Insights.layer.pipe(
    Layer.provideMerge(layerDatabase({ name: "insights", settings: { SVC_DB_SCHEMAS: "shop" }, before }))
  ),
  live
)

const fixesOf = (findings: ReadonlyArray<Finding>, kind: Finding["kind"]) =>
  Object.fromEntries(
    findings
      .filter((one) => one.kind === kind)
      .map(({ fix, object, severity }) => [
        [object.schema, object.table, object.name].filter((name) => name !== null).join("."),
        [severity, fix] as const
      ])
  )

const findings = Effect.flatMap(Insights, ({ report }) => Effect.map(report, ({ findings }) => findings))

/** Runs every fix of a kind outside of a transaction. */
const apply = (kind: Finding["kind"]) =>
  Effect.gen(function* () {
    const { sql } = yield* Outside
    for (const [, fix] of Object.values(fixesOf(yield* findings, kind))) {
      for (const statement of (fix ?? "").split("\n")) yield* sql(statement)
    }
  })

suite("insights", (it) => {
  it.effect("tables and views that anon may read past row-level security", () =>
    Effect.gen(function* () {
      const found = yield* findings
      assert.deepStrictEqual(fixesOf(found, "table_without_row_security"), {
        "shop.away": ["warning", "revoke all on shop.away from anon, authenticated;"],
        "shop.readable": ["warning", "alter table shop.readable enable row level security;"],
        "shop.writable": ["critical", "alter table shop.writable enable row level security;"]
      })
      assert.deepStrictEqual(fixesOf(found, "view_without_security_invoker"), {
        "shop.copied": ["critical", "revoke select on shop.copied from anon, authenticated;"],
        "shop.past": ["critical", "alter view shop.past set (security_invoker);"]
      })
      yield* apply("table_without_row_security")
      yield* apply("view_without_security_invoker")
      const left = yield* findings
      assert.deepStrictEqual(fixesOf(left, "table_without_row_security"), {})
      assert.deepStrictEqual(fixesOf(left, "view_without_security_invoker"), {})
    })
  )

  it.effect("functions that are declared IMMUTABLE and may not be", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(fixesOf(yield* findings, "immutable_function_unproven"), {
        "shop.me": ["warning", "alter function shop.me() stable;"]
      })
      yield* apply("immutable_function_unproven")
      const catalogues = yield* Catalogues
      const { main } = yield* Db
      yield* catalogues.changed(main)
      assert.deepStrictEqual(fixesOf(yield* findings, "immutable_function_unproven"), {})
    })
  )

  it.effect("foreign keys without an index", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(fixesOf(yield* findings, "foreign_key_without_index"), {
        "hidden.bare.bare_fk": ["info", "create index concurrently on hidden.bare (x, y);"],
        "hidden.included.included_fk": ["info", "create index concurrently on hidden.included (x, y);"],
        "hidden.parts.parts_fk": ["info", "create index on hidden.parts (item);"],
        "hidden.some.some_fk": ["info", 'create index concurrently on hidden."some" (item);']
      })
      yield* apply("foreign_key_without_index")
      assert.deepStrictEqual(fixesOf(yield* findings, "foreign_key_without_index"), {})
    })
  )

  it.effect("indexes that are duplicate or invalid", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* Effect.exit(sql("create unique index concurrently broken_index on hidden.broken (id)"))
      assert.deepStrictEqual(fixesOf(yield* findings, "duplicate_index"), {
        "hidden.twins.twins_a_again": ["info", "drop index concurrently hidden.twins_a_again;"],
        "hidden.twins.twins_b_again": ["info", "drop index concurrently hidden.twins_b_again;"]
      })
      assert.deepStrictEqual(fixesOf(yield* findings, "invalid_index"), {
        "hidden.broken.broken_index": ["warning", "reindex index concurrently hidden.broken_index;"]
      })
      yield* sql("truncate hidden.broken")
      yield* apply("invalid_index")
      yield* apply("duplicate_index")
      const left = yield* findings
      assert.deepStrictEqual(fixesOf(left, "invalid_index"), {})
      assert.deepStrictEqual(fixesOf(left, "duplicate_index"), {})
    })
  )

  it.effect("indexes that no statement uses, and tables that are read as a whole", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("set enable_seqscan = off; select count(*) from hidden.big where v = 3; reset enable_seqscan")
      for (let i = 0; i < 4; i++) {
        yield* sql("do $$ begin for i in 1..30 loop perform count(*) from hidden.big where v + w = i; end loop; end $$")
      }
      yield* sql("select pg_stat_force_next_flush()")
      const found = yield* eventually(findings, (all) => all.some(({ kind }) => kind === "table_read_whole"))
      assert.deepStrictEqual(fixesOf(found, "unused_index"), {
        "hidden.big.big_w": ["info", "drop index concurrently hidden.big_w;"]
      })
      assert.deepStrictEqual(fixesOf(found, "table_read_whole"), { "hidden.big": ["info", null] })
      yield* apply("unused_index")
      assert.deepStrictEqual(fixesOf(yield* findings, "unused_index"), {})
    })
  )

  it.effect("dead rows, and tables that were never vacuumed", () =>
    Effect.gen(function* () {
      const found = yield* eventually(findings, (all) => all.some(({ kind }) => kind === "dead_rows"))
      assert.deepStrictEqual(fixesOf(found, "dead_rows"), {
        "hidden.dead": ["warning", "vacuum (analyze) hidden.dead;"]
      })
      assert.deepStrictEqual(fixesOf(found, "never_vacuumed"), {
        "hidden.big": ["warning", "vacuum (analyze) hidden.big;"],
        "hidden.dead": ["warning", "vacuum (analyze) hidden.dead;"]
      })
      yield* apply("never_vacuumed")
      const left = yield* eventually(findings, (all) => !all.some(({ kind }) => kind === "never_vacuumed"))
      assert.deepStrictEqual(fixesOf(left, "dead_rows"), {})
    })
  )

  it.effect("sequences near their end, by what their column can hold", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(fixesOf(yield* findings, "sequence_near_end"), {
        "hidden.counted.counted_id_seq": [
          "critical",
          "alter table hidden.counted alter column id type bigint;\nalter sequence hidden.counted_id_seq as bigint;"
        ],
        "hidden.counted.counted_small_seq": ["critical", "alter table hidden.counted alter column small type bigint;"],
        "hidden.full": ["critical", null]
      })
      yield* apply("sequence_near_end")
      assert.deepStrictEqual(Object.keys(fixesOf(yield* findings, "sequence_near_end")), ["hidden.full"])
    })
  )

  it.effect("reports every check, and what is missing for statements", () =>
    Effect.gen(function* () {
      const { report } = yield* Insights
      const { checks, database, findings } = yield* report
      assert.deepStrictEqual(
        checks.map(({ kind }) => kind),
        [...kinds]
      )
      const unavailable = checks.filter(({ status }) => status === "unavailable")
      assert.deepStrictEqual(
        unavailable.map(({ fix, kind }) => [kind, fix]),
        [
          [
            "slow_statement",
            "alter system set shared_preload_libraries = 'pg_stat_statements';\ncreate extension if not exists pg_stat_statements;"
          ]
        ]
      )
      assert.isAbove(database.cache_hit_ratio ?? 0, 0.5)
      const order = findings.map(({ severity }) => ["critical", "warning", "info"].indexOf(severity))
      assert.deepStrictEqual(order, order.toSorted())
      assert.notInclude(JSON.stringify(findings), '"schema":"svc"')
    })
  )

  it.effect("does not wait for a table that is locked, nor runs code of users", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql(`
        create table public.called (by text);
        create function public.format(text, name, name) returns text language plpgsql as
          $$ begin insert into public.called values (current_user); return 'hijacked'; end $$;
        create function public.quote_ident(name) returns text language plpgsql as
          $$ begin insert into public.called values (current_user); return 'hijacked'; end $$;`)
      const other = yield* session
      yield* other("begin; lock table hidden.big, hidden.counted, shop.readable in access exclusive mode")
      const { report } = yield* Insights
      const [time, { checks, findings }] = yield* Effect.timed(report)
      yield* other("rollback")
      assert.isBelow(Duration.toMillis(time), 5000)
      const refused = checks.filter(({ kind, status }) => status === "unavailable" && kind !== "slow_statement")
      for (const { kind, reason } of refused)
        assert.deepStrictEqual([kind, reason?.includes("55P03")], ["sequence_near_end", true])
      assert.notInclude(JSON.stringify(findings), "hijacked")
      assert.deepStrictEqual(yield* sql("select by from public.called"), [])
    }).pipe(Effect.scoped)
  )
})
