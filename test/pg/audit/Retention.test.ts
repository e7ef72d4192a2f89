import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { auditLock } from "../../../src/domain/sql/AdvisoryLocks.ts"
import { auditDays, pruneAudit } from "../../../src/services/audit/Retention.ts"
import { layerDatabase, live, Outside, session } from "../../support/database.ts"

const add = `insert into svc.audit (at, actor_type, actor_id, actor_label, dashboard, action, subject, outcome)
  select now() - make_interval(days => $1::int), 'service', '', '', false, 'test.add', 'x', 'done'
  from generate_series(1, $2::int)`

layer(layerDatabase({ name: "audit" }), live)("the retention of the audit", (it) => {
  it.effect("deletes all that is older, by one replica at a time", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql(add, [91, 5_001])
      yield* sql(add, [89, 3])
      const count = Effect.map(
        sql("select count(*)::int as n from svc.audit where action = 'test.add'"),
        ([row]) => row?.["n"]
      )
      const other = yield* session
      yield* other(`select pg_advisory_lock(${auditLock})`)
      yield* pruneAudit(90)
      assert.strictEqual(yield* count, 5_004)
      yield* other(`select pg_advisory_unlock(${auditLock})`)
      yield* pruneAudit(90)
      assert.strictEqual(yield* count, 3)
    })
  )

  it.effect.each([
    [{}, 365],
    [{ SVC_AUDIT_DAYS: "0" }, 0],
    [{ SVC_AUDIT_DAYS: "30" }, 30],
    [{ SVC_AUDIT_DAYS: "29" }, 'SVC_AUDIT_DAYS must be 0, or a whole number from 30, but it is "29"'],
    [{ SVC_AUDIT_DAYS: "1y" }, 'SVC_AUDIT_DAYS must be a whole number from 0 to 36500, but it is "1y"']
  ] as const)("has the setting %j", ([env, expected]) =>
    auditDays.pipe(
      Effect.match({ onSuccess: (days) => days as unknown, onFailure: ({ message }) => message }),
      Effect.map((result) => assert.strictEqual(result, expected)),
      Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(env)))
    )
  )
})
