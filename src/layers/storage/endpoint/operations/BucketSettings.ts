import { Effect } from "effect"
import { parseCors, printCors } from "../Cors.ts"
import { emptyReply, type Exchange, type Operation, ownerXml, type Reply, xmlReply } from "../Exchange.ts"
import { readDocument } from "../Payload.ts"
import { isPublic } from "../policy/Policy.ts"
import { parsePolicy } from "../policy/Document.ts"
import { type S3Code, s3Error } from "../Error.ts"
import { judge } from "../Request.ts"
import { type XmlElements } from "../Xml.ts"

export const getPolicy: Operation = {
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

export const putPolicy: Operation = {
  action: "s3:PutBucketPolicy",
  run: Effect.fnUntraced(function* ({ payload, request, store }: Exchange) {
    const text = yield* readDocument(yield* judge(payload))
    yield* judge(() => parsePolicy(text, request.bucket))
    yield* store.setDocument(request.bucket, "policy", text)
    return emptyReply(204)
  })
}

export const deletePolicy: Operation = {
  action: "s3:DeleteBucketPolicy",
  run: ({ request, store }) => Effect.as(store.setDocument(request.bucket, "policy", undefined), emptyReply(204))
}

export const getPolicyStatus: Operation = {
  action: "s3:GetBucketPolicyStatus",
  run: Effect.fnUntraced(function* ({ bucketInfo, request }: Exchange) {
    const text = bucketInfo?.policy
    if (text === undefined) return yield* s3Error("NoSuchBucketPolicy")
    return xmlReply("PolicyStatus", { IsPublic: isPublic(yield* judge(() => parsePolicy(text, request.bucket))) })
  })
}

export const getCors: Operation = {
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

export const putCors: Operation = {
  action: "s3:PutBucketCORS",
  run: Effect.fnUntraced(function* ({ payload, request, store }: Exchange) {
    const text = yield* readDocument(yield* judge(payload))
    const rules = yield* judge(() => parseCors(text))
    yield* store.setDocument(request.bucket, "cors", printCors(rules))
    return emptyReply(200)
  })
}

export const deleteCors: Operation = {
  action: "s3:PutBucketCORS",
  run: ({ request, store }) => Effect.as(store.setDocument(request.bucket, "cors", undefined), emptyReply(204))
}

const answers = (action: string, root: string, elements: XmlElements): Operation => ({
  action,
  run: () => Effect.succeed(xmlReply(root, elements))
})

const lacks = (action: string, code: S3Code): Operation => ({
  action,
  run: ({ request }) => s3Error(code, undefined, { BucketName: request.bucket })
})

/** In S3 this element holds text itself. */
export const getLocation: Operation = {
  action: "s3:GetBucketLocation",
  run: ({ settings: { region } }) => {
    const place = region === "us-east-1" ? "" : region
    const { body, ...reply } = xmlReply("LocationConstraint", {})
    return Effect.succeed({ ...reply, body: String(body).replace("></", `>${place}</`) })
  }
}

const fullControl = (action: string): Operation => ({
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

/** What S3 answers of a bucket on which nobody ever set these. Writing to them is not implemented. */
export const bucketDefaults: Readonly<Record<string, Operation>> = {
  acl: fullControl("s3:GetBucketAcl"),
  accelerate: answers("s3:GetAccelerateConfiguration", "AccelerateConfiguration", {}),
  encryption: lacks("s3:GetEncryptionConfiguration", "ServerSideEncryptionConfigurationNotFoundError"),
  lifecycle: lacks("s3:GetLifecycleConfiguration", "NoSuchLifecycleConfiguration"),
  logging: answers("s3:GetBucketLogging", "BucketLoggingStatus", {}),
  notification: answers("s3:GetBucketNotification", "NotificationConfiguration", {}),
  "object-lock": lacks("s3:GetBucketObjectLockConfiguration", "ObjectLockConfigurationNotFoundError"),
  ownershipControls: answers("s3:GetBucketOwnershipControls", "OwnershipControls", {
    Rule: { ObjectOwnership: "BucketOwnerEnforced" }
  }),
  publicAccessBlock: lacks("s3:GetBucketPublicAccessBlock", "NoSuchPublicAccessBlockConfiguration"),
  replication: lacks("s3:GetReplicationConfiguration", "ReplicationConfigurationNotFoundError"),
  requestPayment: answers("s3:GetBucketRequestPayment", "RequestPaymentConfiguration", { Payer: "BucketOwner" }),
  tagging: lacks("s3:GetBucketTagging", "NoSuchTagSet"),
  versioning: answers("s3:GetBucketVersioning", "VersioningConfiguration", {}),
  website: lacks("s3:GetBucketWebsite", "NoSuchWebsiteConfiguration")
}

export const objectDefaults: Readonly<Record<string, Operation>> = {
  acl: fullControl("s3:GetObjectAcl"),
  tagging: answers("s3:GetObjectTagging", "Tagging", { TagSet: "" })
}
