import { Clock, Context, Effect, Layer, PubSub, Queue, Schema, Stream } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import {
  ApiKey,
  hashOf,
  type KeyId,
  type KeyType,
  looksLikeKey,
  makeRawKey,
  prefixOf
} from "../../domain/access/ApiKey.ts"
import { NotFound, Unauthorized, type Unavailable } from "../../domain/errors.ts"
import { makeNotifiedCache } from "../NotifiedCache.ts"
import { onOwnTables } from "../OwnTables.ts"
import { Peers } from "../ports/Peers.ts"

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

const refused = new Unauthorized({ error: "Missing, unknown or revoked API key", code: "INVALID_API_KEY" })

/**
 * API keys. Verified keys are cached in this process; PostgreSQL notifies every replica of a revocation, and while the
 * listener is disconnected nothing is cached.
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
    /** Emits when a key may have become invalid; holders must verify again. */
    readonly changes: Stream.Stream<void>
  }
>()("svc/services/Keys") {
  static readonly layer = Layer.effect(
    Keys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
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
        const key = yield* one(
          `insert into svc.api_keys (key_type, key_prefix, key_hash, label, rate_limit)
           values ($1, $2, $3, $4, $5::int4) returning ${columns}`,
          [type, prefixOf(secret), hashOf(secret), label, rateLimit]
        )
        return { key: key as ApiKey, secret }
      })

      const lookUp = Effect.fn("Keys.lookUp")(function* (hash: string) {
        const key = yield* one(`select ${columns} from svc.api_keys where key_hash = $1 and revoked_at is null`, [hash])
        if (key === undefined) return yield* refused
        return { id: key.id, type: key.key_type, label: key.label, rateLimit: key.rate_limit } satisfies LiveKey
      })
      const cache = yield* makeNotifiedCache({
        channel: "svc_keys",
        load: lookUp,
        onInvalidated: () => Effect.sync(() => PubSub.publishUnsafe(changes, undefined))
      })
      const forget = Effect.sync(() => {
        cache.invalidateAll()
        PubSub.publishUnsafe(changes, undefined)
      })
      const peers = yield* Peers
      yield* peers.on("api-keys", () => forget)
      const invalidate = Effect.andThen(forget, peers.notify("api-keys", ""))

      const update = Effect.fn("Keys.update")(function* (id: KeyId, change: KeyChange) {
        const key = yield* one(
          `update svc.api_keys set label = coalesce($2, label),
             rate_limit = case when $3::bool then $4::int4 else rate_limit end
           where id = $1 returning ${columns}`,
          [id, change.label ?? null, change.rate_limit !== undefined, change.rate_limit ?? null]
        )
        yield* invalidate
        return yield* found(id, key)
      })

      const revoke = Effect.fn("Keys.revoke")(function* (id: KeyId) {
        const key = yield* one(
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
        Effect.catchCause((cause) => Effect.logWarning("Failed to write last_used_at of API keys", cause)),
        Effect.forever,
        Effect.forkScoped
      )

      const verify = (rawKey: string): Effect.Effect<LiveKey, Unauthorized | Unavailable> => {
        if (!looksLikeKey(rawKey)) return Effect.fail(refused)
        const hash = hashOf(rawKey)
        const live = cache.peek(hash)
        if (live === undefined) return Effect.tap(cache.load(hash), (live) => Effect.sync(() => markUsed(live)))
        markUsed(live)
        return Effect.succeed(live)
      }

      return Keys.of({
        list: onOwnTables(rows(undefined)),
        create,
        update,
        revoke,
        verify,
        changes: Stream.fromPubSub(changes)
      })
    })
  )
}
