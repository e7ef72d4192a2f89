import { Clock, Context, Effect, Fiber, Layer, PubSub, Queue, Schema, Semaphore, Stream } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { LRUCache } from "lru-cache"
import {
  ApiKey,
  keyHashOf,
  type KeyId,
  type KeyType,
  looksLikeKey,
  makeRawKey,
  prefixOf
} from "../../domain/access/ApiKey.ts"
import { shownKey } from "../../domain/audit/Shown.ts"
import { NotFound, Unauthorized, type Unavailable } from "../../domain/errors.ts"
import { duration } from "../../domain/Settings.ts"
import { audited, recordChange } from "../audit/Change.ts"
import { makeNotifiedCache } from "../NotifiedCache.ts"
import { monotonicMillis } from "./RateLimits.ts"
import { onOwnTables, logFailure } from "../OwnTables.ts"
import { Peers } from "../ports/workers/Peers.ts"

export interface KeyChange {
  readonly label?: string | undefined
  readonly rate_limit?: number | null | undefined
}

/** A valid key, with the fields that requests need. */
export interface LiveKey {
  readonly id: KeyId
  readonly type: KeyType
  readonly label: string
  readonly rateLimit: number | null
}

const columns = `id, key_type, key_prefix, label, created_at, last_used_at, rate_limit, revoked_at`

/** Minimum time between two updates of a key's `last_used_at`, in ms. */
const usedEveryMillis = 10_000

/** How long known keys are accepted without the database, in ms. */
export const keyOutage = duration("SVC_KEY_OUTAGE", 300_000)
/** Look-ups of keys at a time, so that unknown ones leave connections to the service's other tables. */
const maxLookUps = 4
/** Unknown keys that are remembered, by their hashes. */
const maxUnknown = 10_000

const missing = new Unauthorized({
  error: "The API key is missing: send one in the header apikey",
  code: "INVALID_API_KEY"
})

/** Unknown and revoked keys get the same text, which does not reveal the keys that existed. */
const refused = new Unauthorized({
  error: "Unknown or revoked API key: send a valid one in the header apikey",
  code: "INVALID_API_KEY"
})

/** A look-up of a key that is known from before an outage may take this long, and the next one comes after as long, in ms. */
const outageMillis = 1_000

/**
 * API keys. Verified keys are cached in this process; PostgreSQL notifies every replica of a revocation, and while the
 * listener is disconnected nothing is cached: every key is looked up. Only if the database does not answer either, a key
 * that was valid when the listener lost its connection is accepted for SVC_KEY_OUTAGE, so that what needs no database
 * goes on.
 */
export class Keys extends Context.Service<
  Keys,
  {
    /** Oldest first, including revoked ones. */
    readonly list: Effect.Effect<ReadonlyArray<ApiKey>, Unavailable>
    /** Returns the record and the raw key, which can't be read again. */
    readonly create: (
      type: KeyType,
      label: string,
      rateLimit: number | null
    ) => Effect.Effect<{ readonly key: ApiKey; readonly secret: string }, Unavailable>
    readonly update: (id: KeyId, change: KeyChange) => Effect.Effect<ApiKey, NotFound | Unavailable>
    /** Revoking a revoked key has no effect. */
    readonly revoke: (id: KeyId) => Effect.Effect<ApiKey, NotFound | Unavailable>
    /** The key that a raw key belongs to, or 401. Marks it as used. */
    readonly verify: (rawKey: string) => Effect.Effect<LiveKey, Unauthorized | Unavailable>
    /** Marks a key as used that was verified otherwise, by a session that it has started. */
    readonly used: (key: LiveKey) => Effect.Effect<void>
    /** Emits when a key may have become invalid; holders must verify again. */
    readonly changes: Stream.Stream<void>
  }
>()("svc/services/Keys") {
  static readonly layer = Layer.effect(
    Keys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const outage = yield* keyOutage
      const changes = yield* Effect.acquireRelease(PubSub.sliding<void>(1), PubSub.shutdown)

      const rows = SqlSchema.findAll({
        Request: Schema.Void,
        Result: ApiKey,
        execute: () => sql.unsafe(`select ${columns} from svc.api_keys order by id`)
      })
      const one = (text: string, params: ReadonlyArray<unknown>) =>
        SqlSchema.findAll({ Request: Schema.Void, Result: ApiKey, execute: () => sql.unsafe(text, params) })(
          undefined
        ).pipe(
          onOwnTables,
          Effect.map((found) => found[0])
        )
      const found = (id: KeyId, key: ApiKey | undefined) =>
        key ? Effect.succeed(key) : Effect.fail(new NotFound({ error: `No API key ${id}`, code: "KEY_NOT_FOUND" }))

      const create = Effect.fn("Keys.create")(function* (type: KeyType, label: string, rateLimit: number | null) {
        const secret = makeRawKey(type)
        const inserted = one(
          `insert into svc.api_keys (key_type, key_prefix, key_hash, label, rate_limit)
           values ($1, $2, $3, $4, $5::int4) returning ${columns}`,
          [type, prefixOf(secret), keyHashOf(secret), label, rateLimit]
        )
        const key = yield* onOwnTables(
          audited(sql, inserted, (key) => key && { subject: `key:${key.id}`, after: shownKey(key) })
        )
        return { key: key as ApiKey, secret }
      })

      const lookUps = yield* Semaphore.make(maxLookUps)
      const unknown = new LRUCache<string, true>({ max: maxUnknown })
      const lookUp = Effect.fn("Keys.lookUp")(function* (hash: string) {
        if (unknown.has(hash)) return yield* refused
        const before = cache.generation()
        const key = yield* lookUps.withPermit(
          one(`select ${columns} from svc.api_keys where key_hash = $1 and revoked_at is null`, [hash])
        )
        if (key === undefined) {
          // A key that is created meanwhile has notified, or will.
          if (before !== undefined && before === cache.generation()) unknown.set(hash, true)
          return yield* refused
        }
        return { id: key.id, type: key.key_type, label: key.label, rateLimit: key.rate_limit } satisfies LiveKey
      })
      /** The valid keys from when the listener lost its connection; empty while it has one. */
      const lastKnown = new Map<string, LiveKey>()
      let lostAt = 0
      const cache = yield* makeNotifiedCache({
        channel: "svc_keys",
        load: (hash: string) =>
          Effect.tapErrorTag(lookUp(hash), "Unauthorized", () => Effect.sync(() => lastKnown.delete(hash))),
        onInvalidated: () =>
          Effect.sync(() => {
            unknown.clear()
            lastKnown.clear()
            PubSub.publishUnsafe(changes, undefined)
          }),
        onLost: (kept) => {
          unknown.clear()
          lostAt = monotonicMillis(clock)
          for (const [hash, key] of kept) lastKnown.set(hash, key)
        }
      })
      const forget = Effect.sync(() => {
        unknown.clear()
        cache.invalidateAll()
        lastKnown.clear()
        PubSub.publishUnsafe(changes, undefined)
      })
      const peers = yield* Peers
      yield* peers.on("api-keys", () => forget)
      const invalidate = Effect.andThen(forget, peers.notify("api-keys", ""))

      /** Changes a key in one transaction with its entry in the audit. */
      const changed = (id: KeyId, text: string, params: ReadonlyArray<unknown>) =>
        sql
          .withTransaction(
            Effect.gen(function* () {
              const before = yield* one(`select ${columns} from svc.api_keys where id = $1 for update`, [id])
              const key = yield* one(text, params)
              if (before === undefined || key === undefined) return undefined
              yield* recordChange(sql, { subject: `key:${id}`, before: shownKey(before), after: shownKey(key) })
              return key
            })
          )
          .pipe(onOwnTables)

      const update = Effect.fn("Keys.update")(function* (id: KeyId, change: KeyChange) {
        const key = yield* changed(
          id,
          `update svc.api_keys set label = coalesce($2, label),
             rate_limit = case when $3::bool then $4::int4 else rate_limit end
           where id = $1 returning ${columns}`,
          [id, change.label ?? null, change.rate_limit !== undefined, change.rate_limit ?? null]
        )
        yield* invalidate
        return yield* found(id, key)
      })

      const revoke = Effect.fn("Keys.revoke")(function* (id: KeyId) {
        const key = yield* changed(
          id,
          `update svc.api_keys set revoked_at = coalesce(revoked_at, now()) where id = $1 returning ${columns}`,
          [id]
        )
        yield* invalidate
        return yield* found(id, key)
      })

      const used = yield* Queue.unbounded<KeyId>()
      const usedAt = new Map<KeyId, number>()
      const markUsed = (key: LiveKey) => {
        const now = clock.currentTimeMillisUnsafe()
        if (now - (usedAt.get(key.id) ?? Number.NEGATIVE_INFINITY) < usedEveryMillis) return
        usedAt.set(key.id, now)
        Queue.offerUnsafe(used, key.id)
      }
      yield* Queue.takeAll(used).pipe(
        Effect.flatMap(
          (ids) =>
            sql`update svc.api_keys set last_used_at = now() where id in ${sql.in(Array.from(new Set<number>(ids)))}`
        ),
        Effect.catchCause(logFailure("Failed to write last_used_at of API keys")),
        Effect.forever,
        Effect.forkScoped
      )

      /** The time of the last failed look-up in the database, by `monotonicMillis`; undefined once it answers. */
      let failedAt: number | undefined
      const verifyInOutage = (hash: string, known: LiveKey): Effect.Effect<LiveKey, Unauthorized | Unavailable> => {
        const now = monotonicMillis(clock)
        if (now - lostAt >= outage) return cache.load(hash)
        if (failedAt !== undefined && now - failedAt < outageMillis) return Effect.succeed(known)
        // Others need not wait for this look-up if the one before has failed.
        if (failedAt !== undefined) failedAt = now
        const accept = Effect.sync(() => {
          failedAt = monotonicMillis(clock)
          return known
        })
        const answered = Effect.sync(() => (failedAt = undefined))
        // Detached, because giving up a statement takes as long as the database does not answer.
        return Effect.flatMap(Effect.forkDetach(cache.load(hash)), Fiber.join).pipe(
          Effect.tap(answered),
          Effect.tapErrorTag("Unauthorized", () => answered),
          Effect.timeoutOrElse({ duration: outageMillis, orElse: () => accept }),
          Effect.catchTag("Unavailable", () => accept)
        )
      }

      const verify = (rawKey: string): Effect.Effect<LiveKey, Unauthorized | Unavailable> => {
        if (!looksLikeKey(rawKey)) return Effect.fail(rawKey === "" ? missing : refused)
        const hash = keyHashOf(rawKey)
        const live = cache.peek(hash)
        if (live === undefined) {
          const known = lastKnown.get(hash)
          const verified = known === undefined ? cache.load(hash) : verifyInOutage(hash, known)
          return Effect.tap(verified, (live) => Effect.sync(() => markUsed(live)))
        }
        markUsed(live)
        return Effect.succeed(live)
      }

      return Keys.of({
        list: onOwnTables(rows(undefined)),
        create,
        update,
        revoke,
        verify,
        used: (key) => Effect.sync(() => markUsed(key)),
        changes: Stream.fromPubSub(changes)
      })
    })
  )
}
