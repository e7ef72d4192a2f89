import { Effect, Layer, Stream } from "effect"
import { Forbidden } from "../../domain/errors.ts"
import { ObjectStore, type UploadRef } from "../ports/ObjectStore.ts"
import { fileStore } from "../supabase/FileBytes.ts"
import { SupabaseSettings } from "../supabase/Settings.ts"
import { Storage } from "./Storage.ts"
import { layerUploadExpiry } from "./UploadExpiry.ts"

const refusal = new Forbidden({
  error: "The bucket has the files of /storage/v1, and is not served here",
  code: "BUCKET_RESERVED",
  hint: "Use the files through /storage/v1 (docs/supabase.md)"
})

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
    const calls = Object.entries(store).filter(([name, call]) => typeof call === "function" && name !== "locationOf")
    const guarded = calls.map(([name, call]) => {
      const refused = name === "read" ? Stream.fail(refusal) : Effect.fail(refusal)
      const all = call as (...given: ReadonlyArray<unknown>) => unknown
      return [
        name,
        (...given: ReadonlyArray<unknown>) => (bucketOf(given[0]) === files ? refused : all(...given))
      ] as const
    })
    const buckets = Effect.map(store.buckets, (all) => all.filter(({ name }) => name !== files))
    return ObjectStore.of({ ...store, ...Object.fromEntries(guarded), buckets })
  })
)

/** Buckets, objects and uploads. */
export const layer = Layer.mergeAll(Layer.provideMerge(Storage.layer, layerWithoutFiles), layerUploadExpiry)
