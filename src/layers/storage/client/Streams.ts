import { GetObjectCommand, UploadPartCommand } from "@aws-sdk/client-s3"
import { Effect, Stream } from "effect"
import { type ObjectStore, type StoreError } from "../../../services/ports/ObjectStore.ts"
import { type S3, told } from "./Client.ts"
import { failureOf, S3Failure } from "./Errors.ts"

type Store = ObjectStore["Service"]
type Port = Pick<Store, "putStream" | "read">

/** Bytes that are in memory at a time: a larger object is uploaded in parts of so many, or more when they'd be over 10,000. */
const smallestPart = 8 * 1024 * 1024
const maxParts = 10_000

/** Longest pause between two pieces of an object, in ms. */
const stallMillis = 60_000

/** The same bytes in pieces of one size, but the last. */
const pieces = <E>(bytes: Stream.Stream<Uint8Array, E>, size: number) =>
  Stream.suspend(() => {
    let held: Array<Uint8Array> = []
    let length = 0
    const taken = () => {
      const all = Buffer.concat(held)
      const whole: Array<Uint8Array> = []
      let at = 0
      for (; all.length - at >= size; at += size) whole.push(all.subarray(at, at + size))
      held = at === all.length ? [] : [all.subarray(at)]
      length = all.length - at
      return whole
    }
    const rest = () => (held.length === 0 ? [] : [Buffer.concat(held)])
    return Stream.concat(
      Stream.flatMap(bytes, (piece) => {
        held.push(piece)
        length += piece.length
        return Stream.fromIterable(length < size ? [] : taken())
      }),
      Stream.suspend(() => Stream.fromIterable(rest()))
    )
  })

/** Objects that are larger than what one likes to have in memory. */
export const streamsOn = (
  { ask, call }: S3,
  store: Pick<Store, "put" | "createUpload" | "completeUpload" | "abortUpload">
): Port => ({
  putStream: <E>(bucket: string, key: string, contentType: string, bytes: Stream.Stream<Uint8Array, E>, size: number) =>
    Effect.gen(function* () {
      if (size <= smallestPart) {
        const all = yield* Stream.runFold(
          bytes,
          (): Array<Uint8Array> => [],
          (held, piece) => {
            held.push(piece)
            return held
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
          ask((s3, options) =>
            s3.send(
              new GetObjectCommand({
                Bucket: bucket,
                Key: key,
                Range: range === undefined ? undefined : `bytes=${range.first}-${range.last}`
              }),
              options
            )
          ),
          (failure) => told(failure, { bucket, key })
        )
        if (Body === undefined) return Stream.empty
        return Stream.fromAsyncIterable(Body as AsyncIterable<Uint8Array>, failureOf).pipe(
          Stream.timeoutOrElse({
            duration: stallMillis,
            orElse: () => Stream.fail(new S3Failure({ code: "Timeout", status: 0, message: "Nothing more came" }))
          }),
          Stream.catch((failure): Stream.Stream<never, StoreError> => Stream.fromEffect(told(failure, { bucket, key })))
        )
      })
    )
})
