import { Context, Deferred, Effect, Layer, PubSub, Queue, Schedule, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { type FlagEnvironment } from "../../domain/flags/Environment.ts"
import { type FlagSetChange, FlagSnapshot } from "../../domain/flags/sets/Snapshot.ts"
import { type FlagSet } from "../../domain/flags/sets/Set.ts"
import { flagRowsOf, flagRowsSql, type StoredLine } from "../../domain/flags/sets/SnapshotSql.ts"
import { Unavailable } from "../../domain/errors.ts"
import { yieldEvery } from "../YieldEvery.ts"
import { FlagSettings } from "./Settings.ts"
import { Listener } from "../ports/Listener.ts"
import { onOwnTables } from "../OwnTables.ts"

/** How long a change may take to be read back, in ms. */
const reachMillis = 5_000

const unread = new Unavailable({
  error: "The change is stored, but could not be read back yet: evaluations may answer by the rules before it",
  code: "FLAGS_BEHIND"
})

/**
 * The flag sets of this process: one for each environment, as new as what PostgreSQL has told. A change swaps them all
 * at once, so that no evaluation sees half of it; while the database is away they stay what they are.
 */
export class FlagSets extends Context.Service<
  FlagSets,
  {
    readonly current: (environment: FlagEnvironment) => FlagSet
    /** The change that was read last. */
    readonly revision: () => number
    /** From now on, of environments whose set changed; each run is a subscriber of its own. */
    readonly changes: Stream.Stream<FlagSetChange>
    /** Waits until this process has that revision; 503 `FLAGS_BEHIND` after 5 s. */
    readonly reach: (revision: number) => Effect.Effect<void, Unavailable>
  }
>()("svc/services/FlagSets") {
  static readonly layer = Layer.effect(
    FlagSets,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { hashing } = yield* FlagSettings
      const hub = yield* Effect.acquireRelease(PubSub.unbounded<FlagSetChange>(), PubSub.shutdown)
      const waiting = new Set<{ readonly revision: number; readonly done: Deferred.Deferred<void> }>()
      let snapshot = FlagSnapshot.empty

      const ask = (known: number, keys: boolean) =>
        Effect.map(onOwnTables(sql.unsafe<StoredLine>(flagRowsSql(keys), [known])), flagRowsOf)

      /** What is newer than `known`; with all keys when something has been deleted since. */
      const read = Effect.fnUntraced(function* (known: number) {
        const rows = yield* ask(known, false)
        if (rows.revision < known) return yield* ask(-1, true) // an older state was restored
        return rows.deleted > known ? yield* ask(known, true) : rows
      })

      const load = Effect.fnUntraced(function* (everything: boolean) {
        const rows = yield* everything ? ask(-1, true) : read(snapshot.revision)
        if (!everything && rows.revision === snapshot.revision) return
        const pause = yield* yieldEvery()
        const steps = snapshot.advance(rows, hashing)
        let step = steps.next()
        while (step.done !== true) {
          yield* pause
          step = steps.next()
        }
        const { changes, next } = step.value
        snapshot = next
        for (const change of changes) PubSub.publishUnsafe(hub, change)
        for (const one of waiting) if (one.revision <= next.revision) Deferred.doneUnsafe(one.done, Effect.void)
        // Whoever first asks for all flags at once does not wait for ten thousand rules to be compiled.
        for (const { flags, set } of changes) {
          for (const key of flags.keys()) {
            set.flags.get(key)?.warm()
            yield* pause
          }
        }
      })

      // Nobody evaluates before there is something to evaluate.
      yield* Effect.retry(load(true), Schedule.max([Schedule.spaced("500 millis"), Schedule.recurs(20)]))

      /** Several that come while one is read are one. */
      const pokes = yield* Queue.sliding<void>(1)
      const { messages } = yield* (yield* Listener).listen("svc_flags")
      let hearing = false
      let everything = false
      yield* messages.pipe(
        Stream.runForEach((message) =>
          Effect.suspend(() => {
            // What was said while nobody listened is not known: whatever it was, all is compared.
            if (message._tag === "Lost") everything = true
            hearing = message._tag !== "Lost"
            const old = message._tag === "Notification" && Number(message.payload) === snapshot.revision
            return old ? Effect.void : Queue.offer(pokes, undefined)
          })
        ),
        Effect.forkScoped
      )

      let trouble = false
      const round = Effect.gen(function* () {
        // Without anybody telling us we ask ourselves: soon while we can't hear, now and then even when we can.
        yield* Effect.timeoutOption(Queue.take(pokes), hearing && !trouble ? "30 seconds" : "1 second")
        const all = everything && hearing
        if (all) everything = false
        yield* load(all).pipe(
          Effect.tap(() => Effect.sync(() => (trouble = false))),
          Effect.catchCause((cause) => {
            const told = trouble
            trouble = true
            if (all) everything = true
            return told ? Effect.void : Effect.logWarning("Flags could not be read; the ones known go on", cause)
          })
        )
      })
      yield* Effect.forkScoped(Effect.forever(round))

      const reach = (revision: number) =>
        Effect.suspend(() => {
          if (snapshot.revision >= revision) return Effect.void
          const one = { revision, done: Deferred.makeUnsafe<void>() }
          waiting.add(one)
          return Queue.offer(pokes, undefined).pipe(
            Effect.andThen(Deferred.await(one.done)),
            Effect.timeoutOrElse({ duration: reachMillis, orElse: () => Effect.fail(unread) }),
            Effect.ensuring(Effect.sync(() => waiting.delete(one)))
          )
        })

      return FlagSets.of({
        current: (environment) => snapshot.sets[environment],
        revision: () => snapshot.revision,
        changes: Stream.fromPubSub(hub),
        reach
      })
    })
  )
}
