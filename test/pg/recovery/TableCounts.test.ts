import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { tableCountsLock } from "../../../src/domain/sql/AdvisoryLocks.ts"
import { mergeSql } from "../../../src/services/recovery/CountSql.ts"
import { RecoverySettings } from "../../../src/services/recovery/Settings.ts"
import { TableCounts } from "../../../src/services/recovery/TableCounts.ts"
import { layerDatabase, live, Outside, session } from "../../support/database.ts"

const before = `
  create table kept (id int primary key, note text);
  create table gone (id int);
  create table emptied (id int);
  create table parts (id int) partition by list (id);
  create table parts_1 partition of parts for values in (1);
  create table parts_2 partition of parts for values in (2);
  create unlogged table unlogged (id int);
  create temporary table passing (id int);
  insert into kept select i, 'note' from generate_series(1, 10) i;
  insert into gone select generate_series(1, 3);
  insert into emptied select generate_series(1, 4);`

/** The session's counters reach the others when it is done. */
const flush = "; select pg_stat_force_next_flush()"

const settings = RecoverySettings.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({}))))
const here = TableCounts.layer.pipe(
  Layer.provideMerge(layerDatabase({ name: "counts", before: `${before}${flush}` })),
  Layer.provide(settings)
)

layer(here, live)("the count of which tables have changed", (it) => {
  /** Lets the last count be a while ago, as processes count once a minute. */
  const counted = Effect.gen(function* () {
    const { sql } = yield* Outside
    yield* sql("update svc.table_count_runs set counted_at = counted_at - interval '1 minute'")
    yield* (yield* TableCounts).count
  })
  const now = Effect.gen(function* () {
    const { sql } = yield* Outside
    const [row] = yield* sql("select (extract(epoch from clock_timestamp()) * 1000)::float8 as now, pg_sleep(0.005)")
    return Number(row?.["now"])
  })
  const changed = Effect.fnUntraced(function* (time: number) {
    const { complete, table_count, tables } = yield* (yield* TableCounts).since(time)
    assert.strictEqual(table_count, tables.length)
    return {
      complete,
      tables: tables.map((one) =>
        [one.table, one.inserted, one.updated, one.deleted, one.event ?? "", one.rows_before ?? ""].join(" ")
      )
    }
  })

  it.effect("is that of each table since a time, by name, with tables that were created, emptied and dropped", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const counts = yield* TableCounts
      const early = yield* now
      assert.strictEqual((yield* counts.since(early)).counted_from, null)
      yield* counts.count
      const first = yield* counts.since(early)
      assert.deepStrictEqual(first.tables, [])
      assert.isAbove(Date.parse(first.counted_from ?? ""), early, "before the first count nothing is known")

      const then = yield* now
      yield* sql(
        `insert into kept select i, 'new' from generate_series(11, 12) i; update kept set note = 'x' where id < 4;
         delete from kept where id = 5; drop table gone; truncate emptied; insert into parts values (1), (2), (2);
         insert into unlogged values (1); create table fresh (id int); insert into fresh values (1);
         create table brief (id int)${flush}`
      )
      const expected = {
        complete: true,
        tables: [
          "gone 0 0 0 dropped 3",
          "emptied 0 0 0 rewritten 4",
          "kept 2 3 1  ",
          "parts 3 0 0  ",
          "brief 0 0 0 created ",
          "fresh 1 0 0 created "
        ]
      }
      const sorted = ({ complete, tables }: typeof expected) => ({ complete, tables: tables.toSorted() })
      const noted = sorted(expected)
      assert.deepStrictEqual(sorted(yield* changed(then)), noted)
      assert.deepStrictEqual((yield* changed(then)).tables.slice(0, 2), expected.tables.slice(0, 2))
      yield* counted
      assert.deepStrictEqual(sorted(yield* changed(then)), noted)
      const { counted_from } = yield* counts.since(then)
      assert.isAtMost(Date.parse(counted_from ?? ""), then)
      const later = yield* now
      assert.deepStrictEqual(yield* changed(later), { complete: true, tables: [] })

      yield* sql(`drop table brief; alter table kept rename to renamed; insert into renamed values (20)${flush}`)
      yield* counted
      assert.notInclude((yield* changed(early)).tables.join(), "brief")
      // It came in the minute of that time, perhaps before it.
      assert.include((yield* changed(then)).tables, "brief 0 0 0 dropped 0")
      assert.deepStrictEqual(yield* changed(later), {
        complete: true,
        tables: ["brief 0 0 0 dropped 0", "renamed 1 0 0  "]
      })
    })
  )

  it.effect("says that changes may be missing when PostgreSQL lost its counters", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* counted
      const then = yield* now
      yield* sql("select pg_stat_reset_single_table_counters('renamed'::regclass)")
      yield* sql(`insert into renamed values (30), (31)${flush}`)
      yield* counted
      assert.deepStrictEqual(yield* changed(then), { complete: false, tables: ["renamed 2 0 0  "] })
    })
  )

  it.effect(
    "is made by one process, writes nothing while nothing changes, and keeps hours of what is older than a day",
    () =>
      Effect.gen(function* () {
        const { sql } = yield* Outside
        const runs = Effect.map(sql("select counted_at::text as at from svc.table_count_runs"), ([row]) => row?.["at"])
        yield* sql("update svc.table_count_runs set counted_at = counted_at - interval '1 minute'")
        const [at] = [yield* runs]
        const other = yield* session
        yield* sql(`insert into renamed values (40)${flush}`)
        yield* other(`select pg_advisory_lock(${tableCountsLock})`)
        yield* (yield* TableCounts).count
        assert.strictEqual(yield* runs, at)
        yield* other(`select pg_advisory_unlock(${tableCountsLock})`)
        yield* (yield* TableCounts).count
        assert.notStrictEqual(yield* runs, at)
        yield* counted
        const idle = yield* runs
        yield* (yield* TableCounts).count
        assert.strictEqual(yield* runs, idle)

        yield* sql(
          `insert into svc.table_changes (until, since, table_oid, schema_name, table_name, inserted, updated, deleted)
         select date_trunc('hour', now()) - interval '3 days' + make_interval(mins => m), date_trunc('hour', now()) - interval '3 days' + make_interval(mins => m - 1),
           7, 'public', 'old', 1, 2, 3 from unnest(array[1, 2, 59, 61]) m`
        )
        const old = sql(
          "select inserted::int, updated::int, deleted::int, extract(minute from until - since)::int as minutes from svc.table_changes where table_oid = 7 order by until"
        )
        for (const _ of [1, 2]) {
          yield* sql(mergeSql)
          assert.deepStrictEqual(yield* old, [
            { inserted: 3, updated: 6, deleted: 9, minutes: 59 },
            { inserted: 1, updated: 2, deleted: 3, minutes: 1 }
          ])
        }
      })
  )

  it.effect("begins again in another database, and refuses a time that is to come", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("update svc.table_count_runs set database = 'another'")
      yield* counted
      assert.deepStrictEqual(yield* sql("select * from svc.table_changes"), [])
      const counts = yield* TableCounts
      assert.include(yield* Effect.flip(counts.since(Date.now() + 3_600_000)), { code: "TARGET_TIME_OUTSIDE" })
    })
  )
})
