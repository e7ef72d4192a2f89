import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { vi } from "vitest"
import { flagEnvironments } from "../../../../src/domain/flags/Environment.ts"
import { FlagSets } from "../../../../src/services/flags/Sets.ts"
import {
  asked,
  eventually,
  good,
  json,
  meddle,
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
import { evaluate, evaluateAll, FlagdProcess, plain, put, putSynced } from "../../../support/flags/engine.ts"
import { onOff } from "../../../support/flags/servers.ts"
import { refusal } from "../../../support/requests.ts"

vi.setConfig({ testTimeout: 30_000 })

describe("a flagd that is away", () => {
  withFlagd("is 502, said by the status and once in the log, until it is back with all changes", (lines) =>
    Effect.gen(function* () {
      yield* stop
      for (let call = 0; call < 20; call++) assert.strictEqual(yield* outcome, "502 FLAGS_UNAVAILABLE")
      assert.strictEqual(yield* refusal(evaluateAll("production")), "502 FLAGS_UNAVAILABLE")
      const away = yield* status
      assert.deepInclude(away, { engine: "flagd", connected: false, error: "flagd is unreachable" })
      assert.match(away.address ?? "", /^127\.0\.0\.1:\d+$/)
      assert.strictEqual(lines().length, 1)
      assert.match(lines()[0] ?? "", /failed: flagd is unreachable \(ECONNREFUSED\)$/)

      // A change takes no longer than it has to, and is there when flagd is.
      const revision = yield* put("production", { on: onOff({ defaultVariant: "off" }) })
      const { answer, millis } = yield* timed(synced(revision))
      assert.isFalse(answer)
      assert.isBelow(millis, 1_000)
      yield* start
      assert.strictEqual(yield* eventually(refusal(evaluate("production", "on")), (seen) => seen === "200"), "200")
      assert.strictEqual(yield* one, "STATIC off")
      assert.strictEqual((yield* eventually(Effect.sync(lines), ({ length }) => length === 2)).length, 2)
      assert.match(lines()[1] ?? "", /recovered after \d+ s$/)
      assert.deepInclude(yield* status, { connected: true, error: null })
    })
  )

  withFlagd("breaks connections: an evaluation is tried again", () =>
    Effect.gen(function* () {
      const { running } = yield* FlagdProcess
      let left = 2
      running().meddle = () => (left-- > 0 ? "reset" : undefined)
      assert.strictEqual(yield* one, "STATIC on")
      yield* meddle("reset")
      assert.strictEqual(yield* outcome, "502 FLAGS_UNAVAILABLE")
    })
  )

  withFlagd("is 504 FLAGS_TIMEOUT when it takes calls and never answers", (lines) =>
    Effect.gen(function* () {
      yield* meddle("hang")
      const { answer, millis } = yield* timed(
        Effect.all([outcome, refusal(evaluateAll("production")), status], { concurrency: 3 })
      )
      assert.deepStrictEqual(answer.slice(0, 2), ["504 FLAGS_TIMEOUT", "504 FLAGS_TIMEOUT"])
      assert.deepInclude(answer[2], { connected: false, error: "flagd did not respond in time" })
      assert.isAtLeast(millis, 4_900)
      assert.isBelow(millis, 6_000)
      assert.strictEqual(lines().length, 1)
      // A writer waits for it no longer than it would for a change.
      const waited = yield* timed(synced(yield* put("production", { more: onOff() })))
      assert.isFalse(waited.answer)
      assert.isBelow(waited.millis, 1_000)
      yield* meddle(undefined)
      assert.strictEqual(yield* one, "STATIC on")
    })
  )
})

describe("a flagd that is behind", () => {
  withFlagd("answers by the rules that it has; a change is waited for 2 s once", (lines) =>
    Effect.gen(function* () {
      const { running } = yield* FlagdProcess
      running().deaf = true
      const first = yield* timed(synced(yield* put("production", { on: onOff({ defaultVariant: "off" }) })))
      assert.isFalse(first.answer)
      assert.isAtLeast(first.millis, 1_900)
      assert.isBelow(first.millis, 3_000)
      const second = yield* timed(synced(yield* put("production", { gone: onOff() })))
      assert.isFalse(second.answer)
      assert.isBelow(second.millis, 1_000)
      assert.strictEqual(yield* one, "STATIC on")
      assert.deepInclude(yield* status, {
        connected: true,
        error: "flagd does not have the current flags of production"
      })
      assert.strictEqual(lines().length, 1)
      running().deaf = false
      assert.isTrue(yield* eventually(synced((yield* FlagSets).revision()), (done) => done))
      assert.strictEqual(yield* one, "STATIC off")
    })
  )

  withFlagd("has started anew: flags it does not have are FLAGS_BEHIND, those that nobody has are not found", (lines) =>
    Effect.gen(function* () {
      yield* put("dev", { other: onOff() })
      yield* stop
      yield* start
      const { running } = yield* FlagdProcess
      running().meddle = (path) =>
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
      yield* meddle(undefined)
      assert.strictEqual(yield* eventually(outcome, (seen) => seen === "200"), "200")
    })
  )

  withFlagd("is given a moment to hear of a new flag", () =>
    Effect.gen(function* () {
      const { running } = yield* FlagdProcess
      running().deaf = true
      yield* put("production", { fresh: onOff() })
      yield* Effect.forkChild(
        Effect.delay(
          Effect.sync(() => (running().deaf = false)),
          50
        )
      )
      assert.deepInclude(plain(yield* evaluate("production", "fresh")), { reason: "STATIC", variant: "on" })
    })
  )

  withFlagd("does not bring deleted flags back, and knows more than a process that is behind itself", () =>
    Effect.gen(function* () {
      const { running } = yield* FlagdProcess
      running().deaf = true
      yield* put("production", { on: undefined, other: onOff() })
      assert.strictEqual(yield* one, "FLAG_NOT_FOUND")
      yield* meddle(json({ ...good, key: "made-elsewhere", metadata: { ...metadata, version: "900" } }))
      assert.deepInclude(plain(yield* evaluate("production", "made-elsewhere")), { reason: "STATIC", variant: "on" })
    })
  )
})

describe("SVC_FLAGS_FALLBACK", () => {
  const fallback = { fallback: true }

  withFlagd(
    "evaluates here while flagd is away, at once after the first call, and by flagd again when it is back",
    (lines) =>
      Effect.gen(function* () {
        yield* meddle("hang")
        // Whoever asks before it is known has to wait; nobody after that.
        const first = yield* timed(one)
        assert.strictEqual(first.answer, "STATIC on")
        assert.isAtLeast(first.millis, 4_900)
        const calls = yield* asked
        const more = yield* timed(Effect.forEach(Array.from({ length: 100 }), () => one, { concurrency: 10 }))
        assert.deepStrictEqual([...new Set(more.answer)], ["STATIC on"])
        assert.isBelow(more.millis, 500)
        assert.isAtMost((yield* asked) - calls, flagEnvironments.length)
        assert.deepInclude(yield* status, {
          connected: false,
          error: "flagd did not respond in time; this process evaluates in the meantime"
        })

        yield* stop
        const changed = yield* timed(putSynced("production", { on: onOff({ defaultVariant: "off" }) }))
        assert.isBelow(changed.millis, 500)
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
        const before = yield* asked
        assert.strictEqual(yield* one, "STATIC off")
        assert.strictEqual((yield* asked) - before, 1)
        assert.deepInclude(yield* status, { connected: true, error: null })
      }),
    fallback
  )

  withFlagd(
    "evaluates here what flagd does not have, or answers nonsense of",
    (lines) =>
      Effect.gen(function* () {
        const { running } = yield* FlagdProcess
        running().deaf = true
        // The engine answers by the change, whoever it is.
        yield* putSynced("production", { on: onOff({ defaultVariant: "off" }) })
        assert.strictEqual(yield* one, "STATIC off")
        assert.strictEqual(lines().length, 1)
        running().deaf = false
        yield* eventually(Effect.sync(lines), ({ length }) => length === 2)
        yield* meddle(json({ ...good, reason: 5 }))
        assert.strictEqual(yield* one, "STATIC off")
        assert.strictEqual((yield* evaluateAll("production")).length, 1)
      }),
    fallback
  )
})
