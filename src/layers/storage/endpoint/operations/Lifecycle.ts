import { Effect } from "effect"
import { emptyReply, type Exchange, type S3Operation, type Reply } from "../Exchange.ts"
import { s3Error } from "../Error.ts"
import { parseLifecycle } from "../lifecycle/Rules.ts"
import { readDocument } from "../Payload.ts"
import { tryS3 } from "../Request.ts"
import { bodyHeaders } from "../RequestHeaders.ts"

/** The minimum size of objects for transitions, of which there are none. Its default is the only value. */
const minimumSize = "x-amz-transition-default-minimum-object-size"
const minimum = "all_storage_classes_128K"

export const getLifecycle: S3Operation = {
  action: "s3:GetLifecycleConfiguration",
  run: Effect.fnUntraced(function* ({ request, store }: Exchange) {
    const body = yield* store.document(request.bucket, "lifecycle")
    if (body === undefined) {
      return yield* s3Error("NoSuchLifecycleConfiguration", undefined, { BucketName: request.bucket })
    }
    const reply: Reply = {
      status: 200,
      headers: { "Content-Type": "application/xml", [minimumSize]: minimum },
      body
    }
    return reply
  })
}

export const putLifecycle: S3Operation = {
  action: "s3:PutLifecycleConfiguration",
  headers: [...bodyHeaders, minimumSize],
  run: Effect.fnUntraced(function* ({ payload, request, store }: Exchange) {
    if ((request.header(minimumSize) ?? minimum) !== minimum) {
      return yield* s3Error("NotImplemented", undefined, { Header: minimumSize })
    }
    const text = yield* readDocument(yield* tryS3(payload))
    const { document } = yield* tryS3(() => parseLifecycle(text))
    yield* store.setDocument(request.bucket, "lifecycle", document)
    return emptyReply(200, { [minimumSize]: minimum })
  })
}

export const deleteLifecycle: S3Operation = {
  action: "s3:PutLifecycleConfiguration",
  run: ({ request, store }) => Effect.as(store.setDocument(request.bucket, "lifecycle", undefined), emptyReply(204))
}
