import { Effect } from "effect"
import { parseCors, printCors } from "../Cors.ts"
import { type S3Code, s3Error } from "../Error.ts"
import { type Exchange, type Reply, type S3Operation, emptyReply, ownerXml, xmlReply } from "../Exchange.ts"
import { readDocument } from "../Payload.ts"
import { tryS3 } from "../Request.ts"
import { bodyHeaders } from "../RequestHeaders.ts"
import { type XmlElements } from "../Xml.ts"
import { parseLifecycle } from "../lifecycle/Rules.ts"
import { parsePolicy } from "../policy/Document.ts"
import { allowsAnonymous, isPublic } from "../policy/Policy.ts"

export const getPolicy: S3Operation = {
  action: "s3:GetBucketPolicy",
  run: Effect.fnUntraced(function* ({ bucketInfo, request }: Exchange) {
    const body = bucketInfo?.policy
    if (body === undefined) {
      return yield* s3Error("NoSuchBucketPolicy", "The bucket policy does not exist", { BucketName: request.bucket })
    }
    const reply: Reply = { status: 200, headers: { "Content-Type": "application/json" }, body }
    return reply
  })
}

export const putPolicy: S3Operation = {
  action: "s3:PutBucketPolicy",
  headers: [...bodyHeaders, "x-amz-confirm-remove-self-bucket-access"],
  run: Effect.fnUntraced(function* ({ bucketInfo, payload, request, store }: Exchange) {
    const text = yield* readDocument(yield* tryS3(payload))
    const statements = yield* tryS3(() => parsePolicy(text, request.bucket))
    if (bucketInfo?.publicAccess?.BlockPublicPolicy === true && allowsAnonymous(statements)) {
      return yield* s3Error("AccessDenied", "The policy is public, which the bucket's BlockPublicPolicy does not allow")
    }
    yield* store.setDocument(request.bucket, "policy", text)
    return emptyReply(204)
  })
}

export const deletePolicy: S3Operation = {
  action: "s3:DeleteBucketPolicy",
  run: ({ request, store }) => Effect.as(store.setDocument(request.bucket, "policy", undefined), emptyReply(204))
}

export const getPolicyStatus: S3Operation = {
  action: "s3:GetBucketPolicyStatus",
  run: Effect.fnUntraced(function* ({ bucketInfo, request }: Exchange) {
    const text = bucketInfo?.policy
    if (text === undefined) return yield* s3Error("NoSuchBucketPolicy")
    return xmlReply("PolicyStatus", { IsPublic: isPublic(yield* tryS3(() => parsePolicy(text, request.bucket))) })
  })
}

export const getCors: S3Operation = {
  action: "s3:GetBucketCORS",
  run: Effect.fnUntraced(function* ({ bucketInfo, request }: Exchange) {
    const body = bucketInfo?.cors
    if (body === undefined) {
      return yield* s3Error("NoSuchCORSConfiguration", "The CORS configuration does not exist", {
        BucketName: request.bucket
      })
    }
    const reply: Reply = { status: 200, headers: { "Content-Type": "application/xml" }, body }
    return reply
  })
}

export const putCors: S3Operation = {
  action: "s3:PutBucketCORS",
  headers: bodyHeaders,
  run: Effect.fnUntraced(function* ({ payload, request, store }: Exchange) {
    const text = yield* readDocument(yield* tryS3(payload))
    const rules = yield* tryS3(() => parseCors(text))
    yield* store.setDocument(request.bucket, "cors", printCors(rules))
    return emptyReply(200)
  })
}

export const deleteCors: S3Operation = {
  action: "s3:PutBucketCORS",
  run: ({ request, store }) => Effect.as(store.setDocument(request.bucket, "cors", undefined), emptyReply(204))
}

const fixedReply = (action: string, root: string, elements: XmlElements): S3Operation => ({
  action,
  run: () => Effect.succeed(xmlReply(root, elements))
})

const notConfigured = (action: string, code: S3Code): S3Operation => ({
  action,
  run: ({ request }) => s3Error(code, undefined, { BucketName: request.bucket })
})

/** S3's root element has text instead of child elements here. */
export const getLocation: S3Operation = {
  action: "s3:GetBucketLocation",
  run: ({ settings: { region } }) => {
    const place = region === "us-east-1" ? "" : region
    const { body, ...reply } = xmlReply("LocationConstraint", {})
    return Effect.succeed({ ...reply, body: String(body).replace("></", `>${place}</`) })
  }
}

const fullControl = (action: string): S3Operation => ({
  action,
  run: () => {
    const { body, ...reply } = xmlReply("AccessControlPolicy", {
      Owner: ownerXml,
      AccessControlList: { Grant: { Grantee: ownerXml, Permission: "FULL_CONTROL" } }
    })
    const type = '<Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser">'
    return Effect.succeed({ ...reply, body: String(body).replace("<Grantee>", type) })
  }
})

/** S3's responses for a bucket without these configurations. Setting them is not implemented. */
export const bucketDefaults: Readonly<Record<string, S3Operation>> = {
  acl: fullControl("s3:GetBucketAcl"),
  accelerate: fixedReply("s3:GetAccelerateConfiguration", "AccelerateConfiguration", {}),
  logging: fixedReply("s3:GetBucketLogging", "BucketLoggingStatus", {}),
  notification: fixedReply("s3:GetBucketNotification", "NotificationConfiguration", {}),
  "object-lock": notConfigured("s3:GetBucketObjectLockConfiguration", "ObjectLockConfigurationNotFoundError"),
  replication: notConfigured("s3:GetReplicationConfiguration", "ReplicationConfigurationNotFoundError"),
  requestPayment: fixedReply("s3:GetBucketRequestPayment", "RequestPaymentConfiguration", { Payer: "BucketOwner" }),
  website: notConfigured("s3:GetBucketWebsite", "NoSuchWebsiteConfiguration")
}

export const objectDefaults: Readonly<Record<string, S3Operation>> = {
  acl: { ...fullControl("s3:GetObjectAcl"), versionAction: "s3:GetObjectVersionAcl" }
}

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
