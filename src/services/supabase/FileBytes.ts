import { Context, Effect, Layer, Sink, Stream } from "effect"
import { SettingError, text } from "../../domain/Settings.ts"
import { bucketNameFault } from "../../domain/storage/Bucket.ts"
import { type StoreCall, ObjectStore, type StoreError } from "../ports/ObjectStore.ts"

/** The bucket of the object store in which the bytes of all objects are; hidden from the storage API. */
export const fileStore = Effect.flatMap(text("SVC_SUPABASE_BUCKET", "svc-supabase"), (name) => {
  const fault = bucketNameFault(name)
  return fault === undefined
    ? Effect.succeed(name)
    : Effect.fail(new SettingError({ message: `SVC_SUPABASE_BUCKET is no bucket name: ${fault}` }))
})

/**
 * The location of one version of an object's bytes. Each write makes a new version, so that readers never get half of
 * one.
 */
export interface FileVersion {
  readonly bucket: string
  readonly name: string
  readonly version: string
}

const keyOf = ({ bucket, name, version }: FileVersion) => `${bucket}/${name}/${version}`

/** Bytes that are held in memory, beyond which an upload is made in parts. */
const smallBytes = 8 * 1024 * 1024

interface Head {
  readonly chunks: Array<Uint8Array>
  readonly length: number
}

const firstBytes = Sink.fold(
  (): Head => ({ chunks: [], length: 0 }),
  ({ length }) => length < smallBytes,
  ({ chunks, length }, chunk: Uint8Array) => {
    chunks.push(chunk)
    return Effect.succeed({ chunks, length: length + chunk.length })
  }
)

/** The bytes of objects of `/storage/v1`. */
export class FileBytes extends Context.Service<
  FileBytes,
  {
    /** `limit`: the most bytes that the stream may have. Returns the number of bytes and the ETag. */
    readonly write: <E>(
      place: FileVersion,
      contentType: string,
      bytes: Stream.Stream<Uint8Array, E>,
      limit: number
    ) => Effect.Effect<{ readonly size: number; readonly etag: string }, StoreError | E>
    readonly read: (
      place: FileVersion,
      range?: { readonly first: number; readonly last: number }
    ) => Stream.Stream<Uint8Array, StoreError>
    /** Failures are logged: what no row refers to is never read. */
    readonly remove: (places: ReadonlyArray<FileVersion>) => Effect.Effect<void>
  }
>()("svc/services/FileBytes") {
  static readonly layer: Layer.Layer<FileBytes, SettingError, ObjectStore> = Layer.effect(
    FileBytes,
    Effect.gen(function* () {
      const store = yield* ObjectStore
      const bucket = yield* fileStore
      let made = false
      const ready: StoreCall<void> = Effect.suspend(() =>
        made
          ? Effect.void
          : store.findBucket(bucket).pipe(
              Effect.catchTag("NotFound", () =>
                // Another replica may be creating it.
                Effect.catchTag(Effect.asVoid(store.createBucket(bucket)), "Conflict", () => store.findBucket(bucket))
              ),
              Effect.tap(() => Effect.sync(() => (made = true)))
            )
      )

      const write: FileBytes["Service"]["write"] = (place, contentType, bytes, limit) =>
        Effect.gen(function* () {
          yield* ready
          const key = keyOf(place)
          let size = 0
          const counted = Stream.map(bytes, (chunk) => {
            size += chunk.length
            return chunk
          })
          // The first bytes determine whether it is a small object, which is one request to the store.
          const [head, rest] = yield* Stream.peel(counted, firstBytes)
          const { etag } = yield* head.length < smallBytes
            ? store.put(bucket, key, contentType, Buffer.concat(head.chunks))
            : store.putStream(bucket, key, contentType, Stream.concat(Stream.fromIterable(head.chunks), rest), limit)
          return { size, etag }
        }).pipe(Effect.scoped)

      return FileBytes.of({
        write,
        read: (place, range) => store.read(bucket, keyOf(place), range),
        remove: (places) =>
          places.length === 0
            ? Effect.void
            : store.removeMany(bucket, places.map(keyOf)).pipe(
                Effect.asVoid,
                Effect.catchCause((cause) => Effect.logWarning("Failed to remove the bytes of deleted objects", cause))
              )
      })
    })
  )
}
