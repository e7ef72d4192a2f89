import { DeleteObjectCommand, DeleteObjectsCommand, type ObjectIdentifier } from "@aws-sdk/client-s3"
import { Effect } from "effect"
import { type BulkDeleted } from "../../../domain/storage/Object.ts"
import { type StoreError } from "../../../services/ports/ObjectStore.ts"
import { type S3, told } from "./Client.ts"
import { fitsXml } from "./Keys.ts"

type Errors = BulkDeleted["errors"]

export interface Removal {
  readonly remove: (bucket: string, key: string) => Effect.Effect<void, StoreError>
  /** At most 1000; gives what could not be removed. */
  readonly removeMany: (bucket: string, objects: ReadonlyArray<ObjectIdentifier>) => Effect.Effect<Errors, StoreError>
}

/** Removes objects. */
export const removalOn = ({ ask, call }: S3): Removal => {
  const removeOne = (bucket: string, object: ObjectIdentifier) =>
    ask((s3, options) => s3.send(new DeleteObjectCommand({ Bucket: bucket, ...object }), options))

  const one = (bucket: string, object: ObjectIdentifier): Effect.Effect<Errors, StoreError> =>
    Effect.matchEffect(removeOne(bucket, object), {
      onSuccess: () => Effect.succeed([]),
      onFailure: (failure) =>
        failure.code === "AccessDenied"
          ? Effect.succeed([{ key: object.Key ?? "", code: failure.code, message: failure.message }])
          : told(failure, { bucket, key: object.Key ?? "" })
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
        Effect.catch((failure) => told(failure, { bucket, key })),
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
