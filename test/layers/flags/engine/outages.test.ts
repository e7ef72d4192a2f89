import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { vi } from "vitest"
import { flagEnvironments } from "../../../../src/domain/flags/Environment.ts"
import { FlagEngine } from "../../../../src/services/ports/FlagEngine.ts"
import { FlagSets } from "../../../../src/services/flags/Sets.ts"
import {
  callCount,
  eventually,
  good,
  json,
  failWith,
  metadata,
  one,
  outcome,
  start,
  status,
  stop,
  synced,
  timed,
  withFlagd
} from "../../../support/flags/flagd.ts"
import {
  evaluate,
  evaluateAll,
  flagdEngine,
  FlagdProcess,
  plain,
  put,
  putSynced
} from "../../../support/flags/engine.ts"
import { onOff } from "../../../support/flags/servers.ts"
import { refusal } from "../../../support/requests.ts"

vi.setConfig({ testTimeout: 30_000 })

describe("a flagd that is not there when the service starts", () => {
  it.live("is in the log and degrades the engine before anything is evaluated, until it answers", () => {
    const { layer, lines } = flagdEngine({ without: true })
    const failed = () => lines.filter((line) => / failed: flagd is unreachable/.test(line))
    return Effect.gen(function* () {
      const engine = yield* FlagEngine
      yield* eventually(Effect.sync(failed), ({ length }) => length > 0)
      assert.lengthOf(failed(), 1)
      assert.isTrue(engine.degraded())
      const error = yield* Effect.flip(evaluate("production", "on"))
      assert.match(String(error.hint), /^Start flagd at FLAGS_HOST/)
      yield* start
      yield* eventually(
        Effect.sync(() => engine.degraded()),
        (degraded) => !degraded
      )
      assert.isFalse(engine.degraded())
    }).pipe(Effect.provide(layer))
  })
})

describe("an unreachable flagd", () => {
  withFlagd("is 502, in the status and once in the log, until it has recovered with all changes", (lines) =>
    Effect.gen(function* () {
      yield* stop
      for (let call = 0; call < 20; call++) assert.strictEqual(yield* outcome, "502 FLAGS_UNAVAILABLE")
      assert.strictEqual(yield* refusal(evaluateAll("production")), "502 FLAGS_UNAVAILABLE")
      const away = yield* status
      assert.deepInclude(away, { engine: "flagd", connected: false, error: "flagd is unreachable" })
      assert.match(away.address ?? "", /^127\.0\.0\.1:\d+$/)
      assert.strictEqual(lines().length, 1)
      assert.match(lines()[0] ?? "", /failed: flagd is unreachable \(ECONNREFUSED\)$/)

      // A change is answered quickly, and flagd has it after its recovery.
      const revision = yield* put("production", { on: onOff({ defaultVariant: "off" }) })
      const { answer, millis } = yield* timed(synced(revision))
      assert.isFalse(answer)
      assert.isBelow(millis, 1_900, "the wait for a flagd that is behind")
      yield* start
      assert.strictEqual(yield* eventually(refusal(evaluate("production", "on")), (seen) => seen === "200"), "200")
      assert.strictEqual(yield* one, "STATIC off")
      assert.strictEqual((yield* eventually(Effect.sync(lines), ({ length }) => length === 2)).length, 2)
      assert.match(lines()[1] ?? "", /recovered after \d+ s$/)
      assert.deepInclude(yield* status, { connected: true, error: null })
    })
  )

  withFlagd("breaks connections: evaluations are retried", () =>
    Effect.gen(function* () {
      const { running } = yield* FlagdProcess
      let left = 2
      running().failWith = () => (left-- > 0 ? "reset" : undefined)
      assert.strictEqual(yield* one, "STATIC on")
      yield* failWith("reset")
      assert.strictEqual(yield* outcome, "502 FLAGS_UNAVAILABLE")
    })
  )

  withFlagd("is 504 FLAGS_TIMEOUT if it accepts calls and never responds", (lines) =>
    Effect.gen(function* () {
      yield* failWith("hang")
      const { answer, millis } = yield* timed(
        Effect.all([outcome, refusal(evaluateAll("production")), status], { concurrency: 3 })
      )
      assert.deepStrictEqual(answer.slice(0, 2), ["504 FLAGS_TIMEOUT", "504 FLAGS_TIMEOUT"])
      assert.deepInclude(answer[2], { connected: false, error: "flagd did not respond in time" })
      assert.isAtLeast(millis, 4_900)
      assert.isBelow(millis, 9_000)
      assert.strictEqual(lines().length, 1)
      // A writer waits no longer than for a change.
      const waited = yield* timed(synced(yield* put("production", { more: onOff() })))
      assert.isFalse(waited.answer)
      assert.isBelow(waited.millis, millis / 2)
      yield* failWith(undefined)
      assert.strictEqual(yield* one, "STATIC on")
    })
  )
})

describe("a flagd that is behind", () => {
  withFlagd("evaluates its rules; only the first change waits 2 s", (lines) =>
    Effect.gen(function* () {
      const { running } = yield* FlagdProcess
      running().ignoresSync = true
      const first = yield* timed(synced(yield* put("production", { on: onOff({ defaultVariant: "off" }) })))
      assert.isFalse(first.answer)
      assert.isAtLeast(first.millis, 1_900)
      assert.isBelow(first.millis, 6_000)
      const second = yield* timed(synced(yield* put("production", { gone: onOff() })))
      assert.isFalse(second.answer)
      assert.isBelow(second.millis, first.millis / 2)
      assert.strictEqual(yield* one, "STATIC on")
      assert.deepInclude(yield* status, {
        connected: true,
        error: "flagd does not have the current flags of production"
      })
      assert.strictEqual(lines().length, 1)
      running().ignoresSync = false
      assert.isTrue(yield* eventually(synced((yield* FlagSets).revision()), (done) => done))
      assert.strictEqual(yield* one, "STATIC off")
    })
  )

  withFlagd("has restarted: stored flags that it lacks are FLAGS_BEHIND, unknown ones are not found", (lines) =>
    Effect.gen(function* () {
      yield* put("dev", { other: onOff() })
      yield* stop
      yield* start
      const { running } = yield* FlagdProcess
      running().failWith = (path) =>
        path.endsWith("/flags")
          ? json({ flags: [], metadata: {} })
          : json({ key: path.split("/").at(-1), errorCode: "FLAG_NOT_FOUND", errorDetails: "", metadata: {} }, 404)
      assert.strictEqual(yield* outcome, "502 FLAGS_BEHIND")
      assert.strictEqual(yield* refusal(evaluateAll("production")), "502 FLAGS_BEHIND")
      assert.strictEqual(yield* refusal(evaluate("dev", "other")), "502 FLAGS_BEHIND")
      assert.deepInclude(plain(yield* evaluate("production", "none")), {
        errorCode: "FLAG_NOT_FOUND",
        metadata: (yield* FlagSets).current("production").metadata
      })
      assert.deepStrictEqual(yield* evaluateAll("staging"), [])
      assert.strictEqual(lines().length, 1)
      yield* failWith(undefined)
      assert.strictEqual(yield* eventually(outcome, (seen) => seen === "200"), "200")
    })
  )

  withFlagd("has time to load a new flag", () =>
    Effect.gen(function* () {
      const { running } = yield* FlagdProcess
      running().ignoresSync = true
      yield* put("production", { fresh: onOff() })
      yield* Effect.forkChild(
        Effect.delay(
          Effect.sync(() => (running().ignoresSync = false)),
          50
        )
      )
      assert.deepInclude(plain(yield* evaluate("production", "fresh")), { reason: "STATIC", variant: "on" })
    })
  )

  withFlagd("does not restore deleted flags, and may be ahead of a process", () =>
    Effect.gen(function* () {
      const { running } = yield* FlagdProcess
      running().ignoresSync = true
      yield* put("production", { on: undefined, other: onOff() })
      assert.strictEqual(yield* one, "FLAG_NOT_FOUND")
      yield* failWith(json({ ...good, key: "made-elsewhere", metadata: { ...metadata, version: "900" } }))
      assert.deepInclude(plain(yield* evaluate("production", "made-elsewhere")), { reason: "STATIC", variant: "on" })
    })
  )
})

describe("SVC_FLAGS_FALLBACK", () => {
  const fallback = { fallback: true }

  withFlagd(
    "evaluates in this process during an outage, immediately after the first call, and in flagd after it",
    (lines) =>
      Effect.gen(function* () {
        yield* failWith("hang")
        // Only calls before the outage is detected wait.
        const first = yield* timed(one)
        assert.strictEqual(first.answer, "STATIC on")
        assert.isAtLeast(first.millis, 4_900)
        const calls = yield* callCount
        const more = yield* timed(Effect.forEach(Array.from({ length: 100 }), () => one, { concurrency: 10 }))
        assert.deepStrictEqual([...new Set(more.answer)], ["STATIC on"])
        assert.isBelow(more.millis, first.millis / 2)
        assert.isAtMost((yield* callCount) - calls, flagEnvironments.length)
        assert.deepInclude(yield* status, {
          connected: false,
          error: "flagd did not respond in time; this process evaluates in the meantime"
        })

        yield* stop
        const changed = yield* timed(putSynced("production", { on: onOff({ defaultVariant: "off" }) }))
        assert.isBelow(changed.millis, first.millis / 2)
        assert.strictEqual(yield* one, "STATIC off")
        assert.deepStrictEqual(
          (yield* evaluateAll("production")).map(({ reason }) => reason),
          ["STATIC"]
        )
        assert.strictEqual((yield* evaluate("production", "none")).reason, "ERROR")
        assert.strictEqual(lines().length, 1)
        assert.match(lines()[0] ?? "", /; this process evaluates flags until it recovers$/)

        yield* start
        yield* eventually(Effect.sync(lines), ({ length }) => length === 2)
        assert.match(lines()[1] ?? "", /recovered after \d+ s$/)
        const before = yield* callCount
        assert.strictEqual(yield* one, "STATIC off")
        assert.strictEqual((yield* callCount) - before, 1)
        assert.deepInclude(yield* status, { connected: true, error: null })
      }),
    fallback
  )

  withFlagd(
    "evaluates in this process if flagd lacks changes or responds unexpectedly",
    (lines) =>
      Effect.gen(function* () {
        const { running } = yield* FlagdProcess
        running().ignoresSync = true
        // Evaluations follow the change, in whichever engine.
        yield* putSynced("production", { on: onOff({ defaultVariant: "off" }) })
        assert.strictEqual(yield* one, "STATIC off")
        assert.strictEqual(lines().length, 1)
        running().ignoresSync = false
        yield* eventually(Effect.sync(lines), ({ length }) => length === 2)
        yield* failWith(json({ ...good, reason: 5 }))
        assert.strictEqual(yield* one, "STATIC off")
        assert.strictEqual((yield* evaluateAll("production")).length, 1)
      }),
    fallback
  )
})
