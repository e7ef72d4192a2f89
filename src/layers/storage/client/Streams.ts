import { GetObjectCommand, UploadPartCommand } from "@aws-sdk/client-s3"
import { Effect, Stream } from "effect"
import { maxParts } from "../../../domain/storage/Object.ts"
import { type ObjectStore, type StoreError } from "../../../services/ports/ObjectStore.ts"
import { type S3, failWith } from "./Client.ts"
import { storeFailureOf, S3Failure } from "./Errors.ts"

type Store = ObjectStore["Service"]
type Port = Pick<Store, "putStream" | "read">

/** Bytes in memory at a time: larger objects are uploaded in parts of this size, or larger if there would be over 10,000. */
const smallestPart = 8 * 1024 * 1024

/** The longest pause between two chunks of a download, in ms. */
const idleMillis = 60_000

/** Splits bytes into pieces of equal size, except the last. */
const pieces = <E>(bytes: Stream.Stream<Uint8Array, E>, size: number) =>
  Stream.suspend(() => {
    let buffered: Array<Uint8Array> = []
    let length = 0
    const takeWhole = () => {
      const all = Buffer.concat(buffered)
      const whole: Array<Uint8Array> = []
      let at = 0
      for (; all.length - at >= size; at += size) whole.push(all.subarray(at, at + size))
      buffered = at === all.length ? [] : [all.subarray(at)]
      length = all.length - at
      return whole
    }
    const rest = () => (buffered.length === 0 ? [] : [Buffer.concat(buffered)])
    return Stream.concat(
      Stream.flatMap(bytes, (piece) => {
        buffered.push(piece)
        length += piece.length
        return Stream.fromIterable(length < size ? [] : takeWhole())
      }),
      Stream.suspend(() => Stream.fromIterable(rest()))
    )
  })

/** Transfers of objects too large to hold in memory. */
export const makeStreams = (
  { send, call }: S3,
  store: Pick<Store, "put" | "createUpload" | "completeUpload" | "abortUpload">
): Port => ({
  putStream: <E>(bucket: string, key: string, contentType: string, bytes: Stream.Stream<Uint8Array, E>, size: number) =>
    Effect.gen(function* () {
      if (size <= smallestPart) {
        const all = yield* Stream.runFold(
          bytes,
          (): Array<Uint8Array> => [],
          (buffered, piece) => {
            buffered.push(piece)
            return buffered
          }
        )
        return yield* store.put(bucket, key, contentType, Buffer.concat(all))
      }
      const uploadId = yield* store.createUpload(bucket, key, contentType)
      const upload = { bucket, key, uploadId }
      return yield* pieces(bytes, Math.max(smallestPart, Math.ceil(size / maxParts))).pipe(
        Stream.mapEffect((piece, index) =>
          Effect.map(
            call(
              upload,
              (s3, options) =>
                s3.send(
                  new UploadPartCommand({
                    Bucket: bucket,
                    Key: key,
                    UploadId: uploadId,
                    PartNumber: index + 1,
                    Body: piece
                  }),
                  options
                ),
              "slow"
            ),
            ({ ETag }) => ({ partNumber: index + 1, etag: ETag ?? "" })
          )
        ),
        Stream.runCollect,
        Effect.flatMap((parts) => store.completeUpload(upload, parts)),
        Effect.onError(() => Effect.ignore(store.abortUpload(upload)))
      )
    }),

  read: (bucket, key, range) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const { Body } = yield* Effect.catch(
          send((s3, options) =>
            s3.send(
              new GetObjectCommand({
                Bucket: bucket,
                Key: key,
                Range: range === undefined ? undefined : `bytes=${range.first}-${range.last}`
              }),
              options
            )
          ),
          (failure) => failWith(failure, { bucket, key })
        )
        if (Body === undefined) return Stream.empty
        return Stream.fromAsyncIterable(Body as AsyncIterable<Uint8Array>, storeFailureOf).pipe(
          Stream.timeoutOrElse({
            duration: idleMillis,
            orElse: () => Stream.fail(new S3Failure({ code: "Timeout", status: 0, message: "The download stalled" }))
          }),
          Stream.catch((failure): Stream.Stream<never, StoreError> =>
            Stream.fromEffect(failWith(failure, { bucket, key }))
          )
        )
      })
    )
})
