import { Effect } from "effect"
import { emptyReply, type Exchange, hiddenFrom, limitParam, type S3Operation, ownerXml, xmlReply } from "../Exchange.ts"
import { readDocument } from "../Payload.ts"
import { bodyHeaders } from "../RequestHeaders.ts"
import { s3Error } from "../Error.ts"
import { tryS3 } from "../Request.ts"
import { parseXml } from "../Xml.ts"

/** S3's rules for bucket names. */
const isBucketName = (name: string) =>
  /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name) &&
  !name.includes("..") &&
  !/^\d{1,3}(?:\.\d{1,3}){3}$/.test(name) &&
  !/^(?:xn--|sthree-|amzn-s3-demo-)/.test(name) &&
  !/(?:-s3alias|--ol-s3|\.mrap|--x-s3|--table-s3)$/.test(name)

/** Throws InvalidBucketName. */
export const checkBucketName = (name: string) => {
  if (!isBucketName(name)) throw s3Error("InvalidBucketName", undefined, { BucketName: name })
}

export const listBuckets: S3Operation = {
  action: undefined,
  past: true,
  run: Effect.fnUntraced(function* ({ at, request, settings, store }: Exchange) {
    const prefix = request.param("prefix") ?? ""
    const after = Buffer.from(request.param("continuation-token") ?? "", "base64url").toString("utf8")
    const limit = yield* tryS3(() => limitParam(request, "max-buckets", 10_000))
    const hidden = hiddenFrom(request, settings)
    const all = (yield* at === undefined ? store.buckets : store.history.buckets(at))
      .filter(({ name }) => name.startsWith(prefix) && name > after && name !== hidden)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    const given = all.slice(0, limit)
    const last = all.length > given.length ? given.at(-1)?.name : undefined
    return xmlReply("ListAllMyBucketsResult", {
      Owner: ownerXml,
      Buckets: {
        Bucket: given.map(({ createdAt, name }) => ({
          Name: name,
          CreationDate: createdAt.toISOString(),
          BucketRegion: settings.region
        }))
      },
      ContinuationToken: last === undefined ? undefined : Buffer.from(last).toString("base64url"),
      Prefix: prefix === "" ? undefined : prefix
    })
  })
}

export const createBucket: S3Operation = {
  action: undefined,
  headers: [...bodyHeaders, "x-amz-acl", "x-amz-bucket-object-lock-enabled", "x-amz-object-ownership"],
  run: Effect.fnUntraced(function* ({ payload, request, store }: Exchange) {
    const { bucket, header } = request
    // The location constraint is validated and ignored: there is only one location.
    const text = yield* readDocument(yield* tryS3(payload))
    yield* tryS3(() => {
      if (text.trim() !== "") parseXml(text, "CreateBucketConfiguration")
      if (header("x-amz-bucket-object-lock-enabled")?.toLowerCase() === "true") {
        throw s3Error("NotImplemented", undefined, { Header: "x-amz-bucket-object-lock-enabled" })
      }
      const acl = header("x-amz-acl") ?? "private"
      if (acl !== "private") throw s3Error("AccessControlListNotSupported")
      const ownership = header("x-amz-object-ownership") ?? "BucketOwnerEnforced"
      if (ownership !== "BucketOwnerEnforced") {
        throw s3Error("NotImplemented", "The only object ownership is BucketOwnerEnforced", {
          Header: "x-amz-object-ownership"
        })
      }
    })
    yield* store.createBucket(bucket)
    return emptyReply(200, { Location: `/${bucket}` })
  })
}

export const headBucket: S3Operation = {
  action: "s3:ListBucket",
  past: true,
  run: Effect.fnUntraced(function* ({ at, request, settings, store }: Exchange) {
    if (at !== undefined && !(yield* store.history.buckets(at)).some(({ name }) => name === request.bucket)) {
      return yield* s3Error("NoSuchBucket", undefined, { BucketName: request.bucket })
    }
    return emptyReply(200, {
      "x-amz-bucket-region": settings.region,
      "x-amz-access-point-alias": "false",
      "Content-Type": "application/xml"
    })
  })
}

export const deleteBucket: S3Operation = {
  action: "s3:DeleteBucket",
  run: ({ request, store }) => Effect.as(store.deleteBucket(request.bucket), emptyReply(204))
}
