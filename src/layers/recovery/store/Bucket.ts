import { Effect, Stream } from "effect"
import { type ObjectStore, type StoreError } from "../../../services/ports/ObjectStore.ts"
import { ArchiveTrouble, type ArchiveStore } from "./Store.ts"

const pageSize = 1000
const contentType = "application/octet-stream"

/** An archive in a bucket of the object store. */
export const bucketStore = (objects: ObjectStore["Service"], bucket: string): ArchiveStore => {
  const trouble = (what: string) => (error: StoreError) =>
    new ArchiveTrouble({ reason: `Failed to ${what} in the bucket ${bucket} (SVC_PITR_BUCKET): ${error.error}` })

  const put = (name: string, bytes: Uint8Array) =>
    objects.put(bucket, name, contentType, bytes).pipe(Effect.mapError(trouble(`write ${name}`)), Effect.asVoid)

  const get = (name: string) =>
    Stream.runCollect(objects.read(bucket, name)).pipe(
      Effect.map((chunks): Buffer | undefined => Buffer.concat(Array.from(chunks))),
      Effect.catchIf(
        ({ code }) => code === "OBJECT_NOT_FOUND",
        () => Effect.undefined
      ),
      Effect.mapError(trouble(`read ${name}`))
    )

  const list = Effect.fnUntraced(
    function* (prefix: string) {
      const names: Array<string> = []
      let token: string | undefined
      do {
        const page = yield* objects.list(bucket, { prefix, delimiter: undefined, limit: pageSize, token })
        for (const { key } of page.objects) names.push(key)
        token = page.next_continuation_token ?? undefined
      } while (token !== undefined)
      return names.sort()
    },
    (effect, prefix) => Effect.mapError(effect, trouble(`list ${prefix}`))
  )

  const remove = Effect.fnUntraced(
    function* (names: ReadonlyArray<string>) {
      for (let at = 0; at < names.length; at += pageSize) {
        yield* objects.removeMany(bucket, names.slice(at, at + pageSize))
      }
    },
    (effect) => Effect.mapError(effect, trouble("remove objects"))
  )

  return { place: `s3://${bucket}`, lookEvery: 5000, put, get, list, remove }
}
