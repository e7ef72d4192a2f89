import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { catalogueSql } from "../../../src/domain/catalogue/CatalogueSql.ts"
import { recordUnreportedSql } from "../../../src/domain/catalogue/FingerprintSql.ts"
import { Catalogues } from "../../../src/services/catalogue/Catalogues.ts"
import { type Database, Db } from "../../../src/services/ports/Db.ts"
import { warmUp } from "../../../src/services/rows/WarmUp.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"

/** The database, with the number of times that its catalogue was read. */
const counted = Effect.gen(function* () {
  const { main } = yield* Db
  const reads = { count: 0 }
  const database: Database = {
    ...main,
    run: (actor, statement) => {
      if (statement.text === catalogueSql) reads.count++
      return main.run(actor, statement)
    }
  }
  return { database, reads }
})

layer(layerDatabase({ name: "catalogue_reads" }), live)("the catalogue", (it) => {
  it.effect("is read before the service listens, and clients have connections then", () =>
    Effect.gen(function* () {
      const db = yield* Db
      const { sql } = yield* Outside
      const { database, reads } = yield* counted
      const main = { ...database, name: "warm" }
      yield* Effect.provideService(warmUp, Db, { ...db, main })
      assert.strictEqual(reads.count, 1)
      const [open] = yield* sql(
        "select count(*)::int as n from pg_stat_activity where datname = current_database() and usename = 'svc_authenticator'"
      )
      assert.isAtLeast(Number(open?.["n"]), 2)
      yield* (yield* Catalogues).get(main)
      assert.strictEqual(reads.count, 1)
    })
  )

  it.effect("is read once after DDL, however often that is reported", () =>
    Effect.gen(function* () {
      const { changed, epoch, find, get } = yield* Catalogues
      const { sql } = yield* Outside
      const { database, reads } = yield* counted
      const has = (name: string) =>
        Effect.map(
          find(database, "public", name, (all) => all.relation("public", name)),
          Boolean
        )
      yield* get(database)
      for (let n = 0; n < 5; n++) {
        const before = reads.count
        yield* sql(`create table made_${n} (id int)`)
        yield* changed(database)
        assert.isTrue(yield* has(`made_${n}`))
        // The notification of the same DDL comes before, while or after the catalogue is read.
        for (let turn = 0; turn < 10; turn++) {
          yield* Effect.sleep("10 millis")
          assert.isTrue(yield* has(`made_${n}`))
        }
        // So does the comparison of fingerprints, which can't tell that it was reported.
        const [{ recorded } = {}] = yield* sql(recordUnreportedSql)
        assert.isTrue(recorded)
        yield* Effect.sleep("50 millis")
        assert.isTrue(yield* has(`made_${n}`))
        assert.strictEqual(reads.count - before, 1)
        assert.isDefined(epoch(database, yield* get(database)))
      }
    })
  )

  it.effect("is read again after DDL that nothing reports", () =>
    Effect.gen(function* () {
      const { changed, get } = yield* Catalogues
      const { sql } = yield* Outside
      const { database, reads } = yield* counted
      yield* get(database)
      const before = reads.count
      yield* sql("set event_triggers = off")
      yield* sql("create table unreported (id int)")
      yield* sql("reset event_triggers")
      yield* changed(database)
      assert.isDefined((yield* get(database)).relation("public", "unreported"))
      assert.isAtLeast(reads.count - before, 1)
    })
  )

  it.effect.each([
    "create table t (id int)",
    "alter table t add v text",
    "alter table t enable row level security",
    "create policy p on t using (true)",
    "create statistics s on (id + 1), (id + 2) from t",
    "drop table t"
  ])("is read again after unreported DDL, once it is recorded: %s", (statement) =>
    Effect.gen(function* () {
      const { get } = yield* Catalogues
      const { sql } = yield* Outside
      const { database, reads } = yield* counted
      yield* sql(recordUnreportedSql)
      yield* Effect.sleep("50 millis")
      yield* get(database)
      const before = reads.count
      yield* sql("set event_triggers = off")
      yield* sql(statement)
      yield* sql("reset event_triggers")
      assert.isTrue((yield* sql(recordUnreportedSql))[0]?.["recorded"])
      for (let turn = 0; turn < 100 && reads.count === before; turn++) {
        yield* Effect.sleep("10 millis")
        yield* get(database)
      }
      assert.strictEqual(reads.count - before, 1)
    })
  )
})
