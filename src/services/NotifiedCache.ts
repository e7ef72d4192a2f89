import { Effect, Stream } from "effect"
import { Listener, type ListenerMessage } from "./ports/Listener.ts"

/**
 * Values kept in memory until they may have changed. A value whose load overlapped an invalidation is returned, but not
 * kept: it may have been read before the change. Failures are not kept, and loads are not shared.
 */
export interface InvalidatedCache<K, V, E, R> {
  /** The value that is kept, if any; for hot paths. */
  readonly peek: (key: K) => V | undefined
  /** Loads the value, whatever is kept. */
  readonly load: (key: K) => Effect.Effect<V, E, R>
  /** Drops one value and returns it. */
  readonly invalidate: (key: K) => V | undefined
  /** Drops all values and returns them. */
  readonly invalidateAll: () => ReadonlyMap<K, V>
}

/** A cache that its owner invalidates. While `mayKeep` is false, nothing is kept. */
export const makeInvalidatedCache = <K, V, E, R>(
  load: (key: K) => Effect.Effect<V, E, R>,
  mayKeep: () => boolean = () => true
): InvalidatedCache<K, V, E, R> => {
  let kept = new Map<K, V>()
  /** Grows with every invalidation. */
  let generation = 0
  return {
    peek: (key) => kept.get(key),
    load: (key) =>
      Effect.suspend(() => {
        const before = generation
        return Effect.tap(load(key), (value) =>
          Effect.sync(() => {
            if (before === generation && mayKeep()) kept.set(key, value)
          })
        )
      }),
    invalidate: (key) => {
      generation++
      const value = kept.get(key)
      kept.delete(key)
      return value
    },
    invalidateAll: () => {
      generation++
      const dropped = kept
      kept = new Map()
      return dropped
    }
  }
}

let latestGeneration = 0

/**
 * Follows a channel until the scope closes. Gives its generation: a number that changes with every notification and
 * every new connection, and that no other watch of any channel has had; undefined while notifications would be missed.
 */
export const watchChannel = Effect.fnUntraced(function* (
  listener: Listener["Service"],
  channel: string,
  onMessage: (message: ListenerMessage) => Effect.Effect<void> = () => Effect.void
) {
  const { messages } = yield* listener.listen(channel)
  let connected = false
  let generation = 0
  yield* messages.pipe(
    Stream.runForEach((message) =>
      Effect.suspend(() => {
        if (message._tag !== "Notification") connected = message._tag === "Connected"
        generation = ++latestGeneration
        return onMessage(message)
      })
    ),
    Effect.forkScoped
  )
  return () => (connected ? generation : undefined)
})

interface NotifiedCacheOptions<K, V, E, R> {
  readonly channel: string
  readonly load: (key: K) => Effect.Effect<V, E, R>
  /** The only key that a notification with this payload is about; without it, all values are dropped. */
  readonly key?: (payload: string) => K
  /** Runs after each message, with the value it dropped when it was about one key. */
  readonly onInvalidated?: (value: V | undefined) => Effect.Effect<void>
  /** Runs when the connection is lost, with the values that were cached until then. */
  readonly onLost?: (kept: ReadonlyMap<K, V>) => void
}

/**
 * A cache that a channel's notifications invalidate, in every replica. While the connection is lost nothing is kept, and
 * whenever it is lost or restored everything is dropped.
 */
export const makeNotifiedCache = Effect.fnUntraced(function* <K, V, E, R>({
  channel,
  key,
  load,
  onInvalidated = () => Effect.void,
  onLost = () => undefined
}: NotifiedCacheOptions<K, V, E, R>) {
  let generation: () => number | undefined = () => undefined
  const cache = makeInvalidatedCache(load, () => generation() !== undefined)
  generation = yield* watchChannel(yield* Listener, channel, (message) => {
    if (message._tag === "Notification" && key !== undefined)
      return onInvalidated(cache.invalidate(key(message.payload)))
    const kept = cache.invalidateAll()
    const invalidated = onInvalidated(undefined)
    return message._tag === "Lost"
      ? Effect.andThen(
          invalidated,
          Effect.sync(() => onLost(kept))
        )
      : invalidated
  })
  return {
    ...cache,
    /** See `watchChannel`. */
    generation: () => generation()
  }
})
