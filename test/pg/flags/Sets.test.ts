import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Stream } from "effect"
import { type FlagSetChange } from "../../../src/domain/flags/sets/Snapshot.ts"
import { Flags } from "../../../src/services/flags/Flags.ts"
import { FlagSegments } from "../../../src/services/flags/Segments.ts"
import { FlagSets } from "../../../src/services/flags/Sets.ts"
import { Listener } from "../../../src/services/ports/Listener.ts"
import { live } from "../../support/database.ts"
import { author, evaluated, flag, layerFlags, replica, segment, sql } from "../../support/flags/flags.ts"
import { eventually } from "../../support/eventually.ts"

const pro = { "==": [{ var: "plan" }, "pro"] }
const onFor = (rule: object) => ({ if: [rule, "on", null] })

/** Records every change of the sets until the scope closes, as `dev +a ~b -c @revision`. */
const noting = Effect.gen(function* () {
  const sets = yield* FlagSets
  const lines: Array<string> = []
  const signs = { write: "+", update: "~", delete: "-" }
  const line = ({ environment, flags, set }: FlagSetChange) =>
    [environment, ...Array.from(flags, ([key, kind]) => signs[kind] + key), `@${set.version}`].join(" ")
  yield* Effect.forkScoped(Stream.runForEach(sets.changes, (change) => Effect.sync(() => lines.push(line(change)))))
  yield* Effect.yieldNow
  return { sets, lines, take: Effect.sync(() => lines.splice(0)) }
})

const all = (line: string) => ["dev", "staging", "production"].map((environment) => `${environment} ${line}`)

layer(layerFlags({ name: "flag_sets" }), live)("flag sets", (it) => {
  it.effect("change with every write in the affected environments, and list the changed flags", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { sets, take } = yield* noting
        const flags = yield* Flags
        const at = sets.revision()
        yield* flag("b")
        assert.deepStrictEqual(yield* take, all(`+b @${at + 1}`))
        yield* flags.toggle(author, "b", "dev", undefined)
        assert.deepStrictEqual(yield* take, [`dev ~b @${at + 2}`])
        assert.strictEqual(sets.current("production").version, at + 1)
        assert.deepStrictEqual([yield* evaluated("b", {}, "dev"), yield* evaluated("b")], ["DISABLED", "STATIC off"])
        yield* flag("a")
        yield* take
        assert.deepStrictEqual([...sets.current("staging").flags.keys()], ["a", "b"])
        yield* flags.update(author, "a", { description: "only words" }, undefined, undefined)
        assert.deepStrictEqual([yield* take, sets.revision()], [[], at + 4])
        yield* flags.remove(author, "b", undefined)
        assert.deepStrictEqual(yield* take, all(`-b @${at + 5}`))
        assert.strictEqual(yield* evaluated("b"), "FLAG_NOT_FOUND")
        yield* flags.remove(author, "a", undefined)
      })
    )
  )

  it.effect("keep unchanged flags compiled, and their evaluation times", () =>
    Effect.gen(function* () {
      const sets = yield* FlagSets
      const flags = yield* Flags
      yield* flag("kept")
      yield* flag("other")
      const [kept, other] = ["kept", "other"].map((key) => sets.current("production").flags.get(key))
      const inDev = sets.current("dev").flags.get("other")
      yield* evaluated("other")
      const { evaluatedAt } = other ?? assert.fail()
      assert.isAbove(evaluatedAt, 0)
      yield* flags.toggle(author, "other", undefined, undefined)
      assert.strictEqual(sets.current("production").flags.get("kept"), kept)
      const now = sets.current("production").flags.get("other")
      assert.notStrictEqual(now, other)
      assert.strictEqual(now?.evaluatedAt, evaluatedAt)
      assert.strictEqual(sets.current("dev").flags.get("other"), inDev, "nothing changed there")
    })
  )

  it.effect("change with a segment in exactly the flags that use it, directly or not", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const segments = yield* FlagSegments
        yield* segment("plan", pro)
        yield* segment("outer", { and: [{ $ref: "plan" }, { "==": [{ var: "country" }, "de"] }] })
        yield* flag("inner", { targeting: onFor({ $ref: "plan" }) })
        yield* flag("through", { targeting: onFor({ $ref: "outer" }) })
        yield* flag("without", { targeting: onFor(pro) })
        const context = { plan: "pro", country: "de" }
        for (const key of ["inner", "through", "without"]) {
          assert.strictEqual(yield* evaluated(key, context), "TARGETING_MATCH on", key)
        }
        const { sets, take } = yield* noting
        yield* segments.update(author, "plan", { rules: { "==": [{ var: "plan" }, "free"] } }, undefined)
        assert.deepStrictEqual(yield* take, all(`~inner ~through @${sets.revision()}`))
        for (const [key, result] of [
          ["inner", "DEFAULT off"],
          ["through", "DEFAULT off"],
          ["without", "TARGETING_MATCH on"]
        ] as const) {
          assert.strictEqual(yield* evaluated(key, context), result, key)
        }
        yield* segments.update(author, "plan", { rules: {} }, undefined)
        assert.strictEqual(yield* evaluated("inner", { plan: "free" }), "DEFAULT off", "an empty rule matches no user")
      })
    )
  )

  it.effect("load the changes of another replica, including those with lost notifications", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const other = yield* replica
        const flags = yield* Flags
        const { lines, sets } = yield* Effect.provide(noting, other)
        yield* flag("shared")
        yield* flag("doomed")
        yield* eventually(Effect.provide(evaluated("doomed"), other), (result) => result === "STATIC off")
        yield* sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'svc listener'")
        yield* flags.toggle(author, "shared", undefined, undefined)
        yield* flags.remove(author, "doomed", undefined)
        yield* eventually(Effect.provide(evaluated("shared"), other), (result) => result === "DISABLED")
        yield* eventually(Effect.provide(evaluated("doomed"), other), (result) => result === "FLAG_NOT_FOUND")
        assert.strictEqual(sets.revision(), (yield* FlagSets).revision())
        assert.isAbove(lines.length, 0)
      })
    )
  )

  it.effect("are polled every second without notifications", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const flags = yield* Flags
        const disconnected = Layer.succeed(Listener, {
          listen: () => Effect.succeed({ messages: Stream.never, join: () => Effect.void, leave: () => Effect.void }),
          status: Effect.die("not asked")
        })
        const other = yield* Layer.build(Layer.fresh(FlagSets.layer).pipe(Layer.provide(disconnected)))
        yield* flag("silent")
        yield* eventually(Effect.provide(evaluated("silent"), other), (result) => result === "STATIC off", 3_000)
        yield* flags.toggle(author, "silent", undefined, undefined)
        yield* eventually(Effect.provide(evaluated("silent"), other), (result) => result === "DISABLED", 3_000)
      })
    )
  )

  it.effect("return to an older state once that has been restored", () =>
    Effect.gen(function* () {
      const sets = yield* FlagSets
      const flags = yield* Flags
      yield* flag("past")
      const at = sets.revision()
      yield* sql(`create temp table saved as select * from svc.flags; create temp table saved_environments as
        select * from svc.flag_environments`)
      yield* flags.toggle(author, "past", undefined, undefined)
      yield* flag("future")
      yield* sql(`begin; delete from svc.flags; insert into svc.flags select * from saved;
        update svc.flag_environments e set revision = s.revision from saved_environments s where s.name = e.name;
        update svc.flag_revision set revision = ${at}; notify svc_flags, '${at}'; commit`)
      yield* eventually(evaluated("past"), (result) => result === "STATIC off")
      assert.deepStrictEqual([yield* evaluated("future"), sets.revision()], ["FLAG_NOT_FOUND", at])
    })
  )

  it.effect("survive content that only SQL can have stored", () =>
    Effect.gen(function* () {
      yield* flag("good")
      const targeting = JSON.stringify({ state: "ENABLED", targeting: { $ref: "nowhere" }, defaultVariant: "off" })
      yield* sql(
        `insert into svc.flags (key, type, variants, dev, staging, production, uses, revision)
         select 'damaged', 'boolean', '{"on":true,"off":false}', $1, $1, $1, '{}', revision + 1 from svc.flag_revision`,
        [targeting]
      )
      yield* sql("update svc.flag_revision set revision = revision + 1")
      yield* sql("update svc.flag_environments set revision = (select revision from svc.flag_revision)")
      yield* sql("notify svc_flags, 'x'")
      yield* eventually(evaluated("damaged"), (result) => result === "PARSE_ERROR")
      assert.strictEqual(yield* evaluated("good"), "STATIC off")
      yield* sql("delete from svc.flags where key = 'damaged'")
    })
  )

  it.effect("evaluate one revision at a time while a segment of many flags changes back and forth", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const sets = yield* FlagSets
        const segments = yield* FlagSegments
        yield* segment("swing", pro)
        for (let n = 0; n < 40; n++) yield* flag(`swing-${n}`, { targeting: onFor({ $ref: "swing" }) })
        const halves: Array<string> = []
        const watch = Effect.sync(() => {
          const set = sets.current("production")
          const seen = new Set(
            Array.from({ length: 40 }, (_, n) => set.evaluate(`swing-${n}`, { plan: "pro" }, Date.now()).reason)
          )
          if (seen.size > 1) halves.push([...seen].join())
        })
        const watching = yield* Effect.forkScoped(Effect.forever(Effect.andThen(watch, Effect.yieldNow)))
        for (let n = 0; n < 20; n++) {
          const rules = n % 2 === 0 ? { "==": [{ var: "plan" }, "free"] } : pro
          yield* segments.update(author, "swing", { rules }, undefined)
          const reason = n % 2 === 0 ? "DEFAULT off" : "TARGETING_MATCH on"
          assert.strictEqual(yield* evaluated("swing-39", { plan: "pro" }), reason)
        }
        yield* Fiber.interrupt(watching)
        assert.deepStrictEqual(halves, [])
      })
    )
  )

  it.effect("load ten thousand flags, at once and one by one", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const configured = JSON.stringify({
          state: "ENABLED",
          targeting: onFor({ or: [{ $ref: "many" }, { in: [{ var: "country" }, ["de", "fr"]] }] }),
          defaultVariant: "off"
        })
        yield* segment("many", pro)
        yield* sql(
          `insert into svc.flags (key, type, variants, dev, staging, production, uses, revision)
           select 'many-' || i, 'boolean', '{"on":true,"off":false}', $1, $1, $1, '{many}',
             (select revision + 1 from svc.flag_revision) from generate_series(1, 10000) i`,
          [configured]
        )
        yield* sql("update svc.flag_revision set revision = revision + 1")
        yield* sql("update svc.flag_environments set revision = (select revision from svc.flag_revision)")
        const other = yield* replica
        const matching = Effect.map(FlagSets, (sets) => {
          const results = sets.current("production").evaluateAll({ plan: "pro" }, Date.now())
          return results.filter(({ key, reason }) => key.startsWith("many-") && reason === "TARGETING_MATCH").length
        })
        assert.strictEqual(yield* Effect.provide(matching, other), 10_000)
        const flags = yield* Flags
        yield* flags.toggle(author, "many-5000", undefined, undefined)
        yield* flags.remove(author, "many-6000", undefined)
        yield* eventually(Effect.provide(matching, other), (count) => count === 9_998)
        assert.strictEqual(yield* matching, 9_998)
        const segments = yield* FlagSegments
        yield* segments.update(author, "many", { rules: {} }, undefined)
        assert.strictEqual(yield* matching, 0)
        yield* eventually(Effect.provide(matching, other), (count) => count === 0)
        const listed = JSON.parse(yield* flags.list(undefined)) as ReadonlyArray<{ readonly key: string }>
        assert.strictEqual(listed.filter(({ key }) => key.startsWith("many-")).length, 9_999)
      })
    )
  )
})
