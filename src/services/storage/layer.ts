import { Effect, Layer, Stream } from "effect"
import { Forbidden } from "../../domain/errors.ts"
import { type ObjectReads, ObjectStore, type UploadRef } from "../ports/ObjectStore.ts"
import { fileStore } from "../supabase/FileBytes.ts"
import { SupabaseSettings } from "../supabase/Settings.ts"
import { Storage } from "./Storage.ts"
import { layerUploadExpiry } from "./UploadExpiry.ts"

const refusal = new Forbidden({
  error: "The bucket has the files of /storage/v1, and is not served here",
  code: "BUCKET_RESERVED",
  hint: "Use the files through /storage/v1 (docs/supabase.md)"
})

/** Calls that are not about a bucket of the caller's choice. */
const unguarded = new Set(["locationOf", "admitsPages", "at"])

const bucketOf = (first: unknown) => (typeof first === "string" ? first : (first as UploadRef | undefined)?.bucket)

/**
 * The object store as callers see it: without the bucket of the files of `/storage/v1`, whose rows and policies a change
 * of the bucket would go past.
 */
const layerWithoutFiles = Layer.effect(
  ObjectStore,
  Effect.gen(function* () {
    const store = yield* ObjectStore
    const files = yield* fileStore
    if (!(yield* SupabaseSettings).enabled) return store
    const guarded = <A extends Pick<ObjectReads, "buckets">>(reads: A): A => {
      const calls = Object.entries<unknown>({ ...reads }).filter(
        ([name, call]) => typeof call === "function" && !unguarded.has(name)
      )
      const refusing = calls.map(([name, call]) => {
        const refused = ["read", "listed"].includes(name) ? Stream.fail(refusal) : Effect.fail(refusal)
        const all = call as (...given: ReadonlyArray<unknown>) => unknown
        return [
          name,
          (...given: ReadonlyArray<unknown>) => (bucketOf(given[0]) === files ? refused : all(...given))
        ] as const
      })
      const buckets = Effect.map(reads.buckets, (all) => all.filter(({ name }) => name !== files))
      return { ...reads, ...Object.fromEntries(refusing), buckets }
    }
    return ObjectStore.of({ ...guarded(store), at: (moment) => Effect.map(store.at(moment), guarded) })
  })
)

/** Buckets, objects and uploads. */
export const layer = Layer.mergeAll(Layer.provideMerge(Storage.layer, layerWithoutFiles), layerUploadExpiry)
