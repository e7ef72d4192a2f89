import { it } from "@effect/vitest"
import { Effect } from "effect"
import { FlagEngine } from "../../../src/services/ports/FlagEngine.ts"
import { type FlagSets } from "../../../src/services/flags/Sets.ts"
import { type Failure } from "../../fakes/flags/flagd.ts"
import { evaluate, flagdEngine, FlagdProcess, putSynced } from "./engine.ts"
import { onOff, type TestFlags } from "./servers.ts"
import { refusal } from "../requests.ts"

/** A test with its own flagd, which has a flag `on` in production. `lines` are the log lines about flagd. */
export const withFlagd = <A, E>(
  name: string,
  test: (lines: () => ReadonlyArray<string>) => Effect.Effect<A, E, FlagEngine | FlagSets | FlagdProcess | TestFlags>,
  over: { readonly fallback?: boolean } = {}
) => {
  const { layer, lines } = flagdEngine(over)
  const about = () => lines.filter((line) => /^flagd at 127\.0\.0\.1:\d+ (failed|recovered)/.test(line))
  it.live(name, () => putSynced("production", { on: onOff() }).pipe(Effect.andThen(test(about)), Effect.provide(layer)))
}

export const failWith = (failure: Failure | undefined) =>
  Effect.map(FlagdProcess, ({ running }) => void (running().failWith = () => failure))
export const callCount = Effect.map(FlagdProcess, ({ running }) => running().requests.length)
export const stop = Effect.flatMap(FlagdProcess, ({ stop }) => stop)
export const start = Effect.flatMap(FlagdProcess, ({ start }) => start)
export const status = Effect.flatMap(FlagEngine, ({ status }) => status)
export const synced = (revision: number) =>
  Effect.flatMap(FlagEngine, (engine) => engine.synced(["production"], revision))

export const one = Effect.map(evaluate("production", "on"), (result) =>
  result.reason === "ERROR" ? result.errorCode : `${result.reason} ${result.variant}`
)
export const outcome = refusal(evaluate("production", "on"))

/** The first result that is `good`, or the last one after 10 s. */
export const eventually = <A, E, R>(ask: Effect.Effect<A, E, R>, good: (answer: A) => boolean) =>
  Effect.gen(function* () {
    for (const deadline = Date.now() + 10_000; ; yield* Effect.sleep(20)) {
      const answer = yield* ask
      if (good(answer) || Date.now() > deadline) return answer
    }
  })

export const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const from = Date.now()
    const answer = yield* effect
    return { answer, millis: Date.now() - from }
  })

export const json = (body: string | object, status = 200): Failure => ({
  status,
  type: "application/json",
  body: typeof body === "string" ? body : JSON.stringify(body)
})

export const metadata = { flagSetId: "production", version: "1" }
export const good = { key: "on", reason: "STATIC", variant: "on", value: true, metadata }
