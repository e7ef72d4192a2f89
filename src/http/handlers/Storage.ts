import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { InvalidRequest } from "../../domain/errors.ts"
import { encodeWords } from "../../domain/storage/EncodedWords.ts"
import { type ObjectRecord } from "../../domain/storage/Metadata.ts"
import { defaultExpiresIn, maxKeys, maxParts } from "../../domain/storage/Object.ts"
import { describeChange } from "../../services/audit/Change.ts"
import { ObjectStore, type Presigned } from "../../services/ports/ObjectStore.ts"
import { Storage } from "../../services/storage/Storage.ts"
import { Api } from "../Api.ts"
import { success } from "../wire/Body.ts"

const presigned = ({ expiresAt, url }: Presigned) => ({ url, expires_at: expiresAt.toISOString() })

const listed = ({ reads }: Storage["Service"]) => Effect.flatMap(reads, ({ buckets }) => buckets)

export const StorageHandlers = HttpApiBuilder.group(
  Api,
  "storage",
  Effect.fn(function* (handlers) {
    const store = yield* ObjectStore
    const storage = yield* Storage
    return handlers.handleAll({
      list: () => Effect.map(listed(storage), (buckets) => ({ buckets })),
      create: ({ payload }) =>
        Effect.tap(store.createBucket(payload.name), () => describeChange({ subject: `bucket:${payload.name}` })),
      remove: ({ params, query }) => Effect.as(storage.deleteBucket(params.bucket, query.force === "true"), success),
      policy: ({ params }) => Effect.map(store.policy(params.bucket), (policy) => ({ policy })),
      setPolicy: ({ params, payload }) =>
        Effect.gen(function* () {
          const before = yield* store.policy(params.bucket)
          const policy = yield* storage.setPolicy(params.bucket, payload.policy)
          yield* describeChange({ subject: `bucket:${params.bucket}`, before: { policy: before }, after: { policy } })
          return { policy }
        }),
      cors: ({ params }) => Effect.map(store.cors(params.bucket), (corsRules) => ({ corsRules })),
      setCors: ({ params, payload }) =>
        Effect.gen(function* () {
          const before = yield* store.cors(params.bucket)
          const corsRules = yield* storage.setCors(params.bucket, payload.corsRules)
          yield* describeChange({
            subject: `bucket:${params.bucket}`,
            before: { corsRules: before },
            after: { corsRules }
          })
          return { corsRules }
        })
    })
  })
)

const noKey = new InvalidRequest({ error: "Invalid payload", details: ["key: Missing key"] })
const twoKeys = new InvalidRequest({
  error: "The key in the body differs from the one in the query",
  details: ["key: Expected one key"]
})

/** The key of a DELETE, from its body or its query. */
const keyOf = (inBody: string | undefined, inQuery: string | undefined) => {
  const key = inBody ?? inQuery
  if (key === undefined) return Effect.fail(noKey)
  return inQuery === undefined || inQuery === key ? Effect.succeed(key) : Effect.fail(twoKeys)
}

/** An object's metadata as in S3's response to HEAD, without headers for attributes that are not set. */
const headersOf = (record: ObjectRecord) => {
  const headers: Record<string, string> = {
    "content-length": String(record.size),
    "content-type": record.content_type,
    etag: record.etag,
    "last-modified": new Date(record.last_modified).toUTCString(),
    // The object's own value is about its bytes; this response must not be cached.
    "cache-control": "no-store"
  }
  if (record.content_disposition !== null) headers["content-disposition"] = record.content_disposition
  if (record.content_encoding !== null) headers["content-encoding"] = record.content_encoding
  if (record.content_language !== null) headers["content-language"] = record.content_language
  for (const [name, value] of Object.entries(record.metadata)) headers[`x-amz-meta-${name}`] = encodeWords(value)
  return headers
}

interface Presigning {
  readonly key: string
  readonly contentType: string
  readonly size?: number
  /** Seconds. */
  readonly expiresIn?: number | undefined
}

/** Objects are named only: their metadata and tags are an application's data. */
const changing = (bucket: string, key: string) => describeChange({ subject: `object:${bucket}/${key}` })

export const StorageObjectsHandlers = HttpApiBuilder.group(
  Api,
  "storageObjects",
  Effect.fn(function* (handlers) {
    const store = yield* ObjectStore
    const storage = yield* Storage
    const presignUpload = (bucket: string, { contentType, expiresIn = defaultExpiresIn, key, size }: Presigning) =>
      Effect.map(storage.presignUpload(bucket, key, contentType, expiresIn, size), (made) => ({
        ...presigned(made),
        headers: { "Content-Type": contentType }
      }))
    return handlers.handleAll({
      list: ({ params, query }) =>
        Effect.flatMap(storage.reads, (objects) =>
          objects.list(params.bucket, {
            prefix: query.prefix ?? "",
            delimiter: query.delimiter,
            limit: query.max_keys ?? maxKeys,
            token: query.continuation_token
          })
        ),
      remove: ({ params, payload, query }) =>
        Effect.flatMap(keyOf(payload?.key, query.key), (key) =>
          Effect.andThen(changing(params.bucket, key), Effect.as(store.remove(params.bucket, key), success))
        ),
      presignUpload: ({ params, payload }) => presignUpload(params.bucket, payload),
      presignUploads: ({ params, payload: { expiresIn, files } }) =>
        Effect.map(
          Effect.forEach(files, (file) =>
            Effect.map(presignUpload(params.bucket, { ...file, expiresIn }), (made) => ({ key: file.key, ...made }))
          ),
          (files) => ({ files })
        ),
      presignDownload: ({ params, payload: { expiresIn = defaultExpiresIn, key } }) =>
        Effect.map(storage.presignDownload(params.bucket, key, expiresIn), presigned),
      uploadText: ({ params, payload: { content, contentType, key } }) =>
        Effect.andThen(changing(params.bucket, key), storage.uploadText(params.bucket, key, content, contentType)),
      bulkDelete: ({ params, payload }) =>
        Effect.tap(storage.deleteObjects(params.bucket, payload.keys), ({ deleted }) =>
          describeChange({ subject: `object:${params.bucket}/`, after: { deleted } })
        ),
      metadata: ({ params, query }) =>
        Effect.flatMap(storage.reads, (objects) =>
          Effect.map(objects.record(params.bucket, query.key), (record) =>
            HttpServerResponse.empty({ status: 200, headers: headersOf(record) })
          )
        ),
      setMetadata: ({ params, payload }) =>
        Effect.andThen(changing(params.bucket, payload.key), storage.changeMetadata(params.bucket, payload)),
      tags: ({ params, query: { key } }) =>
        Effect.flatMap(storage.reads, (objects) =>
          Effect.map(objects.tags(params.bucket, key), (tags) => ({ key, tags }))
        ),
      setTags: ({ params, payload: { key, tags } }) =>
        Effect.andThen(changing(params.bucket, key), Effect.as(store.setTags(params.bucket, key, tags), { key, tags }))
    })
  })
)

export const StorageUploadsHandlers = HttpApiBuilder.group(
  Api,
  "storageUploads",
  Effect.fn(function* (handlers) {
    const store = yield* ObjectStore
    const storage = yield* Storage
    return handlers.handleAll({
      list: ({ params, query }) =>
        store.uploads(params.bucket, {
          prefix: query.prefix ?? "",
          limit: query.max_uploads ?? maxKeys,
          token: query.continuation_token
        }),
      create: ({ params: { bucket }, payload: { contentType, key } }) =>
        Effect.map(store.createUpload(bucket, key, contentType), (uploadId) => ({ uploadId, key, bucket })),
      presignPart: ({ params: { bucket }, payload: { expiresIn = defaultExpiresIn, key, partNumber, uploadId } }) =>
        Effect.map(storage.presignPart({ bucket, key, uploadId }, partNumber, expiresIn), presigned),
      parts: ({ params: { bucket }, query: { key, uploadId } }) =>
        Effect.map(store.parts({ bucket, key, uploadId }, maxParts), (parts) => ({ bucket, key, uploadId, parts })),
      complete: ({ params: { bucket }, payload: { key, parts, uploadId } }) =>
        Effect.map(
          Effect.andThen(changing(bucket, key), store.completeUpload({ bucket, key, uploadId }, parts)),
          ({ etag }) => ({
            bucket,
            key,
            etag,
            location: store.locationOf(bucket, key)
          })
        ),
      abort: ({ params: { bucket }, payload: { key, uploadId } }) =>
        Effect.andThen(changing(bucket, key), Effect.as(store.abortUpload({ bucket, key, uploadId }), success))
    })
  })
)

export const ClientStorageHandlers = HttpApiBuilder.group(
  Api,
  "clientStorage",
  Effect.fn(function* (handlers) {
    const storage = yield* Storage
    return handlers.handleAll({ list: () => Effect.map(listed(storage), (buckets) => ({ buckets })) })
  })
)
