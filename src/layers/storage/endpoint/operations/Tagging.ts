import { Effect } from "effect"
import {
  emptyReply,
  type Exchange,
  foundObject,
  type Reply,
  type S3Operation,
  versionHeader,
  versionParam,
  xmlReply
} from "../Exchange.ts"
import { s3Error } from "../Error.ts"
import { readDocument } from "../Payload.ts"
import { tryS3 } from "../Request.ts"
import { bodyHeaders } from "../RequestHeaders.ts"
import { parseTagging, taggingXml } from "../tags/Tags.ts"
import { xmlDocument } from "../Xml.ts"

export const getObjectTagging: S3Operation = {
  action: "s3:GetObjectTagging",
  versionAction: "s3:GetObjectVersionTagging",
  past: true,
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const info = yield* foundObject(exchange, yield* tryS3(() => versionParam(exchange.request)))
    return xmlReply("Tagging", taggingXml(info.tags), versionHeader(exchange, info))
  })
}

export const putObjectTagging: S3Operation = {
  action: "s3:PutObjectTagging",
  versionAction: "s3:PutObjectVersionTagging",
  headers: bodyHeaders,
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const { payload, request, store } = exchange
    const version = yield* tryS3(() => versionParam(request))
    const text = yield* readDocument(yield* tryS3(payload))
    const tags = yield* tryS3(() => parseTagging(text, "object"))
    const info = yield* store.setTags(request.bucket, request.key, tags, version)
    return emptyReply(200, versionHeader(exchange, info))
  })
}

export const deleteObjectTagging: S3Operation = {
  action: "s3:DeleteObjectTagging",
  versionAction: "s3:DeleteObjectVersionTagging",
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const { request, store } = exchange
    const info = yield* store.setTags(request.bucket, request.key, [], yield* tryS3(() => versionParam(request)))
    return emptyReply(204, versionHeader(exchange, info))
  })
}

export const getBucketTagging: S3Operation = {
  action: "s3:GetBucketTagging",
  run: Effect.fnUntraced(function* ({ request, store }: Exchange) {
    const body = yield* store.document(request.bucket, "tagging")
    if (body === undefined) return yield* s3Error("NoSuchTagSet", undefined, { BucketName: request.bucket })
    const reply: Reply = { status: 200, headers: { "Content-Type": "application/xml" }, body }
    return reply
  })
}

export const putBucketTagging: S3Operation = {
  action: "s3:PutBucketTagging",
  headers: bodyHeaders,
  run: Effect.fnUntraced(function* ({ payload, request, store }: Exchange) {
    const text = yield* readDocument(yield* tryS3(payload))
    const tags = yield* tryS3(() => parseTagging(text, "bucket"))
    yield* store.setDocument(request.bucket, "tagging", xmlDocument("Tagging", taggingXml(tags)))
    return emptyReply(204)
  })
}

export const deleteBucketTagging: S3Operation = {
  action: "s3:PutBucketTagging",
  run: ({ request, store }) => Effect.as(store.setDocument(request.bucket, "tagging", undefined), emptyReply(204))
}
