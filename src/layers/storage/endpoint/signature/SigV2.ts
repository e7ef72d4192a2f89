import { createHmac } from "node:crypto"
import { s3Error } from "../Error.ts"
import { type S3Request } from "../Request.ts"
import { sameSignature } from "./Signing.ts"

/** AWS Signature Version 2 in presigned URLs and forms, which AWS CLI 1, boto3 and s3cmd make by default. */

interface Owner {
  readonly accessKey: string
  readonly secretKey: string
}

/** Node's header values are Latin-1. */
const signatureOf = (secret: string, text: string) => createHmac("sha1", secret).update(text, "latin1").digest("base64")

/** Throws InvalidAccessKeyId and SignatureDoesNotMatch. */
export const checkSigned = (owner: Owner, accessKey: string, text: string, given: string) => {
  if (!sameSignature(owner.accessKey, accessKey)) {
    throw s3Error("InvalidAccessKeyId", undefined, { AWSAccessKeyId: accessKey })
  }
  if (!sameSignature(signatureOf(owner.secretKey, text), given)) {
    throw s3Error("SignatureDoesNotMatch", undefined, {
      AWSAccessKeyId: accessKey,
      StringToSign: text,
      SignatureProvided: given
    })
  }
}

/** Throws AccessDenied and SignatureDoesNotMatch unless the owner signed the URL and `now`, in ms, is before its end. */
export const checkUrl = (request: S3Request, owner: Owner, now: number) => {
  const { header, headerNames, method, param, path, query } = request
  const expires = param("Expires") ?? ""
  if (!/^\d{1,12}$/.test(expires))
    throw s3Error("AccessDenied", `Invalid date (should be seconds since epoch): ${expires}`)
  const unsigned = query.find(([name]) => !signed.has(name) && !harmless.test(name))
  if (unsigned !== undefined) {
    throw s3Error("AccessDenied", `The signature (version 2) does not cover the parameter ${unsigned[0]}`)
  }
  const amz = headerNames.filter((name) => name.startsWith("x-amz-")).toSorted()
  const resource = query
    .filter(([name]) => signed.has(name))
    .map(([name, value]) => (value === "" ? name : `${name}=${value}`))
    .toSorted()
  const content = (name: string) => header(name) ?? param(name) ?? ""
  const lines = [
    method,
    content("content-md5"),
    content("content-type"),
    expires,
    ...amz.map((name) => `${name}:${(header(name) ?? "").trim()}`),
    resource.length === 0 ? path : `${path}?${resource.join("&")}`
  ]
  checkSigned(owner, param("AWSAccessKeyId") ?? "", lines.join("\n"), param("Signature") ?? "")
  if (now > Number(expires) * 1000) {
    throw s3Error("AccessDenied", "Request has expired", { Expires: new Date(Number(expires) * 1000).toISOString() })
  }
}

/** The parameters that the signature covers. */
const signed = new Set(
  [
    "accelerate acl analytics cors defaultObjectAcl delete inventory lifecycle location logging metrics notification",
    "object-lock partNumber policy replication requestPayment response-cache-control response-content-disposition",
    "response-content-encoding response-content-language response-content-type response-expires restore select",
    "select-type storageClass tagging torrent uploadId uploads versionId versioning versions website"
  ].flatMap((line) => line.split(" "))
)

/** Parameters that don't change what the request does; those that do, but are not covered, must not be added to a URL. */
const harmless =
  /^(?:AWSAccessKeyId|Expires|Signature|content-md5|content-type|x-id|x-amz-.+|list-type|prefix|delimiter|marker|max-keys|start-after|continuation-token|encoding-type|fetch-owner)$/i
