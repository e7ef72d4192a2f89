import { Context, Effect, Layer } from "effect"
import { type CompletedParts, maxParts, type UploadedPart } from "../../domain/storage/Object.ts"
import { ObjectStore, type Presigned, type Stored, type StoreError, type UploadRef } from "../ports/ObjectStore.ts"

type Asked<A> = Effect.Effect<A, StoreError>

/** Uploads in parts, for large objects: clients put the parts to presigned URLs (spec: Storage). */
export class StorageUploads extends Context.Service<
  StorageUploads,
  {
    /** Gives the upload's id. */
    readonly create: (bucket: string, key: string, contentType: string) => Asked<string>
    /** The upload must be there. */
    readonly presignPart: (upload: UploadRef, partNumber: number, seconds: number) => Asked<Presigned>
    readonly parts: (upload: UploadRef) => Asked<ReadonlyArray<UploadedPart>>
    /** `location`: where clients find the object, unsigned. */
    readonly complete: (upload: UploadRef, parts: CompletedParts) => Asked<Stored & { readonly location: string }>
    readonly abort: (upload: UploadRef) => Asked<void>
  }
>()("svc/services/StorageUploads") {
  static readonly layer = Layer.effect(
    StorageUploads,
    Effect.gen(function* () {
      const store = yield* ObjectStore
      return StorageUploads.of({
        create: store.createUpload,
        presignPart: (upload, partNumber, seconds) =>
          Effect.andThen(store.parts(upload, 1), store.presignPart(upload, partNumber, seconds)),
        parts: (upload) => store.parts(upload, maxParts),
        complete: (upload, parts) =>
          Effect.map(store.completeUpload(upload, parts), ({ etag }) => ({
            etag,
            location: store.locationOf(upload.bucket, upload.key)
          })),
        abort: store.abortUpload
      })
    })
  )
}
