import { Context, Deferred, Effect, Layer, PubSub, Queue, Schedule, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { type FlagEnvironment, flagEnvironments } from "../../domain/flags/Environment.ts"
import { type FlagSetChange, FlagSnapshot, type FlagRows } from "../../domain/flags/sets/Snapshot.ts"
import { type FlagSet } from "../../domain/flags/sets/Set.ts"
import { sampleOf } from "../../domain/metrics/Sample.ts"
import { Unavailable } from "../../domain/errors.ts"
import { yieldEvery } from "../LoopTurn.ts"
import { CurrentMeters } from "../metrics/Meters.ts"
import { FlagSettings } from "./Settings.ts"
import { Peers } from "../ports/workers/Peers.ts"
import { Listener } from "../ports/Listener.ts"
import { onOwnTables, logFailure } from "../OwnTables.ts"

/** A row of `flagRowsSql`. The kind decides which columns are set. */
interface UnionRow {
  readonly kind: "head" | "environment" | "flag" | "segment" | "flags" | "segments"
  readonly key: string | null
  readonly a: string | null
  readonly b: string | null
  readonly c: string | null
  readonly d: string | null
}

/**
 * All flags and segments that are newer than revision `$1`, and with `keys` the keys of all of them. One statement, so
 * that it reads one snapshot of the database.
 */
const flagRowsSql = (keys: boolean) =>
  [
    `select 'head' as kind, null as key, revision::text as a, deleted::text as b, null as c, null as d
       from svc.flag_revision`,
    "select 'environment', name, revision::text, null, null, null from svc.flag_environments",
    "select 'segment', key, rules::text, null, null, null from svc.flag_segments where revision > $1::int8",
    `select 'flag', key, variants::text, dev::text, staging::text, production::text
       from svc.flags where revision > $1::int8`,
    ...(keys
      ? [
          "select 'flags', null, string_agg(key, ','), null, null, null from svc.flags",
          "select 'segments', null, string_agg(key, ','), null, null, null from svc.flag_segments"
        ]
      : [])
  ].join(" union all ")

/** Splits at commas, which keys can't have (domain/flags/Flag.ts). */
const keysOf = (row: UnionRow | undefined) => (row === undefined ? undefined : (row.a ?? "").split(",").filter(Boolean))

const flagRowsOf = (rows: ReadonlyArray<UnionRow>): FlagRows => {
  const of = (kind: UnionRow["kind"]) => rows.filter((row) => row.kind === kind)
  const head = of("head")[0]
  const revisions: Record<FlagEnvironment, number> = { dev: 0, staging: 0, production: 0 }
  for (const { a, key } of of("environment")) revisions[key as FlagEnvironment] = Number(a)
  return {
    revision: Number(head?.a),
    deleted: Number(head?.b),
    revisions,
    flags: of("flag").map(({ a, b, c, d, key }) => ({
      key: key ?? "",
      variants: a ?? "{}",
      environments: { dev: b ?? "", staging: c ?? "", production: d ?? "" }
    })),
    segments: of("segment").map(({ a, key }) => ({ key: key ?? "", rules: a ?? "{}" })),
    flagKeys: keysOf(of("flags")[0]),
    segmentKeys: keysOf(of("segments")[0])
  }
}

/** Time limit for reading a change back, in ms. */
const catchUpMillis = 5_000

const notActive = new Unavailable({
  error: "The change was saved but is not yet active: evaluations may still use the previous rules",
  code: "FLAGS_BEHIND"
})

/**
 * The flag sets of this process, one for each environment. A change replaces all of them at once, so that no evaluation
 * uses half of it. While the database is unreachable they stay as they are.
 */
export class FlagSets extends Context.Service<
  FlagSets,
  {
    readonly current: (environment: FlagEnvironment) => FlagSet
    /** The revision of the last change that was loaded. */
    readonly revision: () => number
    /** The sets that change from now on. Each run of the stream is a subscription of its own. */
    readonly changes: Stream.Stream<FlagSetChange>
    /**
     * Waits until all workers have loaded that revision; 503 `FLAGS_BEHIND` after 5 s. A writer's own change is read from
     * the database a second time for this, which is the price of one path for own and foreign changes.
     */
    readonly awaitRevision: (revision: number) => Effect.Effect<void, Unavailable>
  }
>()("svc/services/FlagSets") {
  static readonly layer = Layer.effect(
    FlagSets,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { hashing } = yield* FlagSettings
      const hub = yield* Effect.acquireRelease(PubSub.unbounded<FlagSetChange>(), PubSub.shutdown)
      const waiters = new Set<{ readonly revision: number; readonly done: Deferred.Deferred<void> }>()
      let snapshot = FlagSnapshot.empty
      /** Evaluations by the sets that have been replaced. */
      const before = { dev: 0, staging: 0, production: 0 }
      const meters = yield* CurrentMeters
      yield* meters.sample(() =>
        flagEnvironments.map((environment) =>
          sampleOf(
            "svc_flag_evaluations_total",
            { environment },
            before[environment] + snapshot.sets[environment].evaluations
          )
        )
      )

      const readSince = (known: number, keys: boolean) =>
        Effect.map(onOwnTables(sql.unsafe<UnionRow>(flagRowsSql(keys), [known])), flagRowsOf)

      /** All rows newer than `known`, with all keys if anything has been deleted since. */
      const readChanges = Effect.fnUntraced(function* (known: number) {
        const rows = yield* readSince(known, false)
        if (rows.revision < known) return yield* readSince(-1, true) // a backup was restored
        return rows.deleted > known ? yield* readSince(known, true) : rows
      })

      const load = Effect.fnUntraced(function* (all: boolean) {
        const rows = yield* all ? readSince(-1, true) : readChanges(snapshot.revision)
        if (!all && rows.revision === snapshot.revision) return
        const pause = yield* yieldEvery()
        const steps = snapshot.advance(rows, hashing)
        let step = steps.next()
        while (step.done !== true) {
          yield* pause
          step = steps.next()
        }
        const { changes, next } = step.value
        for (const environment of flagEnvironments) {
          const set = snapshot.sets[environment]
          if (set !== next.sets[environment]) before[environment] += set.evaluations
        }
        snapshot = next
        for (const change of changes) PubSub.publishUnsafe(hub, change)
        for (const { done, revision } of waiters) if (revision <= next.revision) Deferred.doneUnsafe(done, Effect.void)
        // Compiles the rules now, so that the first evaluation of all flags does not wait for ten thousand of them.
        for (const { flags, set } of changes) {
          for (const key of flags.keys()) {
            set.flags.get(key)?.warm()
            yield* pause
          }
        }
      })

      // The service does not start before the flags are loaded.
      yield* Effect.retry(load(true), Schedule.max([Schedule.spaced("500 millis"), Schedule.recurs(20)]))

      /** Holds at most one: notifications that arrive during a load are answered by one further load. */
      const wakeUps = yield* Queue.sliding<void>(1)
      const { messages } = yield* (yield* Listener).listen("svc_flags")
      let connected = false
      let missed = false
      yield* messages.pipe(
        Stream.runForEach((message) =>
          Effect.suspend(() => {
            // Notifications are lost while the connection is: compare all flags afterwards.
            if (message._tag === "Lost") missed = true
            connected = message._tag !== "Lost"
            const isOld = message._tag === "Notification" && Number(message.payload) === snapshot.revision
            return isOld ? Effect.void : Queue.offer(wakeUps, undefined)
          })
        ),
        Effect.forkScoped
      )

      let failing = false
      const round = Effect.gen(function* () {
        // Polls as well: every second without notifications or after a failure, every 30 s with them.
        yield* Effect.timeoutOption(Queue.take(wakeUps), connected && !failing ? "30 seconds" : "1 second")
        const all = missed && connected
        if (all) missed = false
        yield* load(all).pipe(
          Effect.tap(() => Effect.sync(() => (failing = false))),
          Effect.catchCause((cause) => {
            const wasFailing = failing
            failing = true
            if (all) missed = true
            return wasFailing
              ? Effect.void
              : logFailure("Failed to read flags; continuing with those already loaded")(cause)
          })
        )
      })
      yield* Effect.forkScoped(Effect.forever(round))

      const loaded = (revision: number) =>
        Effect.suspend(() => {
          if (snapshot.revision >= revision) return Effect.void
          const waiter = { revision, done: Deferred.makeUnsafe<void>() }
          waiters.add(waiter)
          return Queue.offer(wakeUps, undefined).pipe(
            Effect.andThen(Deferred.await(waiter.done)),
            Effect.timeoutOrElse({ duration: catchUpMillis, orElse: () => Effect.fail(notActive) }),
            Effect.ensuring(Effect.sync(() => waiters.delete(waiter)))
          )
        })

      const peers = yield* Peers
      yield* peers.on("flags", (revision) => loaded(Number(revision)))
      const awaitRevision = (revision: number) =>
        Effect.andThen(loaded(revision), peers.notify("flags", String(revision)))

      return FlagSets.of({
        current: (environment) => snapshot.sets[environment],
        revision: () => snapshot.revision,
        changes: Stream.fromPubSub(hub),
        awaitRevision
      })
    })
  )
}
