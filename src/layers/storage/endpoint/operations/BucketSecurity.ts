import { Effect } from "effect"
import { emptyReply, type Exchange, type S3Operation, xmlReply } from "../Exchange.ts"
import { s3Error } from "../Error.ts"
import { readDocument } from "../Payload.ts"
import { tryS3 } from "../Request.ts"
import { bodyHeaders, checkEncryption } from "../RequestHeaders.ts"
import { type PublicAccessBlock } from "../store/Model.ts"
import { children, childText, parseXml, type XmlNode } from "../Xml.ts"

// Settings that control reads, in addition to policies: block of public access, object ownership, encryption.

export const getPublicAccessBlock: S3Operation = {
  action: "s3:GetBucketPublicAccessBlock",
  run: Effect.fnUntraced(function* ({ bucketInfo, request }: Exchange) {
    const block = bucketInfo?.publicAccess
    if (block === undefined) {
      return yield* s3Error("NoSuchPublicAccessBlockConfiguration", undefined, { BucketName: request.bucket })
    }
    return xmlReply("PublicAccessBlockConfiguration", { ...block })
  })
}

const parseBlock = (text: string): PublicAccessBlock => {
  const root = parseXml(text, "PublicAccessBlockConfiguration")
  const flag = (name: keyof PublicAccessBlock) => {
    const value = childText(root, name)?.trim().toLowerCase() ?? "false"
    if (value !== "true" && value !== "false") throw s3Error("MalformedXML")
    return value === "true"
  }
  return {
    BlockPublicAcls: flag("BlockPublicAcls"),
    IgnorePublicAcls: flag("IgnorePublicAcls"),
    BlockPublicPolicy: flag("BlockPublicPolicy"),
    RestrictPublicBuckets: flag("RestrictPublicBuckets")
  }
}

export const putPublicAccessBlock: S3Operation = {
  action: "s3:PutBucketPublicAccessBlock",
  headers: bodyHeaders,
  run: Effect.fnUntraced(function* ({ payload, request, store }: Exchange) {
    const text = yield* readDocument(yield* tryS3(payload))
    const block = yield* tryS3(() => parseBlock(text))
    yield* store.setDocument(request.bucket, "publicAccess", JSON.stringify(block))
    return emptyReply(200)
  })
}

export const deletePublicAccessBlock: S3Operation = {
  action: "s3:PutBucketPublicAccessBlock",
  run: ({ request, store }) => Effect.as(store.setDocument(request.bucket, "publicAccess", undefined), emptyReply(204))
}

const enforced = "BucketOwnerEnforced"

export const getOwnershipControls: S3Operation = {
  action: "s3:GetBucketOwnershipControls",
  run: () => Effect.succeed(xmlReply("OwnershipControls", { Rule: { ObjectOwnership: enforced } }))
}

/** Accepts what holds anyway. */
export const putOwnershipControls: S3Operation = {
  action: "s3:PutBucketOwnershipControls",
  headers: bodyHeaders,
  run: Effect.fnUntraced(function* ({ payload }: Exchange) {
    const text = yield* readDocument(yield* tryS3(payload))
    yield* tryS3(() => {
      const ownership = childText(onlyRule(parseXml(text, "OwnershipControls")), "ObjectOwnership")
      if (ownership !== enforced) throw s3Error("NotImplemented", `The only object ownership is ${enforced}`)
    })
    return emptyReply(200)
  })
}

const onlyRule = (root: XmlNode): XmlNode => {
  const [rule, ...others] = children(root, "Rule")
  if (rule === undefined || others.length > 0) throw s3Error("MalformedXML")
  return rule
}

/** Restores the default, which is the only ownership. */
export const deleteOwnershipControls: S3Operation = {
  action: "s3:PutBucketOwnershipControls",
  run: () => Effect.succeed(emptyReply(204))
}

export const getEncryption: S3Operation = {
  action: "s3:GetEncryptionConfiguration",
  run: Effect.fnUntraced(function* ({ request, settings }: Exchange) {
    if (!settings.encrypted) {
      return yield* s3Error("ServerSideEncryptionConfigurationNotFoundError", undefined, { BucketName: request.bucket })
    }
    return xmlReply("ServerSideEncryptionConfiguration", {
      Rule: { ApplyServerSideEncryptionByDefault: { SSEAlgorithm: "AES256" }, BucketKeyEnabled: false }
    })
  })
}

/** Accepts what holds anyway. */
export const putEncryption: S3Operation = {
  action: "s3:PutEncryptionConfiguration",
  headers: bodyHeaders,
  run: Effect.fnUntraced(function* ({ payload, settings }: Exchange) {
    const text = yield* readDocument(yield* tryS3(payload))
    yield* tryS3(() => {
      const rule = onlyRule(parseXml(text, "ServerSideEncryptionConfiguration"))
      const [given = ""] = children(rule, "ApplyServerSideEncryptionByDefault")
      checkEncryption(childText(given, "SSEAlgorithm") ?? "", settings.encrypted)
    })
    return emptyReply(200)
  })
}

/** Restores the default, which is all there is. */
export const deleteEncryption: S3Operation = {
  action: "s3:PutEncryptionConfiguration",
  run: () => Effect.succeed(emptyReply(204))
}
