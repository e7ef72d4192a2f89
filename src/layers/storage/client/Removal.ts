import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  type ObjectIdentifier
} from "@aws-sdk/client-s3"
import { Effect } from "effect"
import { type BulkDeleted } from "../../../domain/storage/Object.ts"
import { type StoreError } from "../../../services/ports/ObjectStore.ts"
import { decodedKey, fitsXml, type S3, failWith } from "./Client.ts"
import { Conflict } from "../../../domain/errors.ts"

type Errors = BulkDeleted["errors"]

export interface Removal {
  readonly remove: (bucket: string, key: string) => Effect.Effect<void, StoreError>
  /** Removes at most 1000 objects; returns those that could not be removed. */
  readonly removeMany: (bucket: string, objects: ReadonlyArray<ObjectIdentifier>) => Effect.Effect<Errors, StoreError>
}

export const makeRemoval = ({ send, call }: S3): Removal => {
  const removeOne = (bucket: string, object: ObjectIdentifier) =>
    send((s3, options) => s3.send(new DeleteObjectCommand({ Bucket: bucket, ...object }), options))

  const one = (bucket: string, object: ObjectIdentifier): Effect.Effect<Errors, StoreError> =>
    Effect.matchEffect(removeOne(bucket, object), {
      onSuccess: () => Effect.succeed([]),
      onFailure: (failure) =>
        failure.code === "AccessDenied"
          ? Effect.succeed([{ key: object.Key ?? "", code: failure.code, message: failure.message }])
          : failWith(failure, { bucket, key: object.Key ?? "" })
    })

  const many = (bucket: string, objects: ReadonlyArray<ObjectIdentifier>): Effect.Effect<Errors, StoreError> =>
    Effect.map(
      call({ bucket }, (s3, options) =>
        s3.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: [...objects], Quiet: true } }), options)
      ),
      ({ Errors }) =>
        (Errors ?? []).map(({ Code, Key, Message }) => ({ key: Key ?? "", code: Code ?? "", message: Message ?? "" }))
    )

  return {
    remove: (bucket, key) =>
      removeOne(bucket, { Key: key }).pipe(
        Effect.catch((failure) => failWith(failure, { bucket, key })),
        Effect.asVoid
      ),
    removeMany: Effect.fn("ObjectStore.removeMany")(function* (
      bucket: string,
      objects: ReadonlyArray<ObjectIdentifier>
    ) {
      const sent = objects.filter(({ Key }) => fitsXml(Key ?? ""))
      const single = objects.filter(({ Key }) => !fitsXml(Key ?? ""))
      const errors = sent.length === 0 ? [] : yield* many(bucket, sent)
      const more = yield* Effect.forEach(single, (object) => one(bucket, object), { concurrency: 8 })
      return [...errors, ...more.flat()]
    })
  }
}

/** Concurrent aborts. */
const aborts = 8

interface Page {
  readonly objects: ReadonlyArray<ObjectIdentifier>
  /** The next page; undefined after the last. */
  readonly next: Effect.Effect<Page, StoreError> | undefined
}

/** Deletes everything in a bucket, page by page. */
export const makeEmptyBucket = ({ send, call }: S3, { removeMany }: Removal) => {
  const abort = (bucket: string, key: string, uploadId: string) =>
    call({ bucket, key, uploadId }, (s3, options) =>
      s3.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: key, UploadId: uploadId }), options)
    ).pipe(
      Effect.asVoid,
      // Another client has completed or aborted it.
      Effect.catchIf(
        ({ code }) => code === "UPLOAD_NOT_FOUND",
        () => Effect.void
      )
    )

  const abortAll = Effect.fnUntraced(function* (bucket: string) {
    let marker: { readonly KeyMarker: string; readonly UploadIdMarker: string | undefined } | undefined
    do {
      const page = yield* call({ bucket }, (s3, options) =>
        s3.send(new ListMultipartUploadsCommand({ Bucket: bucket, EncodingType: "url", ...marker }), options)
      )
      yield* Effect.forEach(
        page.Uploads ?? [],
        ({ Key, UploadId }) => abort(bucket, decodedKey(Key, page.EncodingType), UploadId ?? ""),
        { concurrency: aborts, discard: true }
      )
      marker =
        page.IsTruncated === true
          ? { KeyMarker: decodedKey(page.NextKeyMarker, page.EncodingType), UploadIdMarker: page.NextUploadIdMarker }
          : undefined
    } while (marker !== undefined)
  })

  /** Versions and delete markers, or the objects of a store without versions. */
  const versions = (bucket: string, key?: string, version?: string): Effect.Effect<Page, StoreError> =>
    send((s3, options) =>
      s3.send(
        new ListObjectVersionsCommand({
          Bucket: bucket,
          EncodingType: "url",
          KeyMarker: key,
          VersionIdMarker: version
        }),
        options
      )
    ).pipe(
      Effect.map(({ DeleteMarkers, EncodingType, IsTruncated, NextKeyMarker, NextVersionIdMarker, Versions }) => ({
        objects: [...(Versions ?? []), ...(DeleteMarkers ?? [])].map(({ Key, VersionId }) => ({
          Key: decodedKey(Key, EncodingType),
          VersionId
        })),
        next: IsTruncated ? versions(bucket, decodedKey(NextKeyMarker, EncodingType), NextVersionIdMarker) : undefined
      })),
      Effect.catch((failure) => (failure.code === "NotImplemented" ? objects(bucket) : failWith(failure, { bucket })))
    )

  const objects = (bucket: string, token?: string): Effect.Effect<Page, StoreError> =>
    Effect.map(
      call({ bucket }, (s3, options) =>
        s3.send(new ListObjectsV2Command({ Bucket: bucket, EncodingType: "url", ContinuationToken: token }), options)
      ),
      ({ Contents, EncodingType, NextContinuationToken }) => ({
        objects: (Contents ?? []).map(({ Key }) => ({ Key: decodedKey(Key, EncodingType) })),
        next: NextContinuationToken === undefined ? undefined : objects(bucket, NextContinuationToken)
      })
    )

  return Effect.fn("ObjectStore.emptyBucket")(function* (bucket: string) {
    yield* abortAll(bucket)
    let next: Effect.Effect<Page, StoreError> | undefined = versions(bucket)
    while (next !== undefined) {
      const page: Page = yield* next
      const errors = page.objects.length === 0 ? [] : yield* removeMany(bucket, page.objects)
      if (errors.length > 0) {
        return yield* new Conflict({
          error: `Some objects in the bucket "${bucket}" could not be deleted`,
          code: "BUCKET_NOT_EMPTY",
          details: errors.slice(0, 10).map(({ code, key }) => `${key}: ${code}`)
        })
      }
      next = page.next
    }
  })
}
