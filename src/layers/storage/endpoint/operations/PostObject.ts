import { Effect } from "effect"
import { byteString } from "../../../../domain/text/Utf8.ts"
import { authorize } from "../Authorization.ts"
import { isChecksum, makeHasher, sentChecksum } from "../Checksums.ts"
import { emptyReply, type Exchange, type S3Operation, type Reply, versionHeader } from "../Exchange.ts"
import { checkKey, metaFrom } from "../ObjectHeaders.ts"
import { maximumPut } from "../Payload.ts"
import { readForm } from "./PostForm.ts"
import { checkPostPolicy, parsePostPolicy } from "./PostPolicy.ts"
import { bodyHeaders, checkHeaders, newObjectHeaders } from "../RequestHeaders.ts"
import { s3Error } from "../Error.ts"
import { tryS3 } from "../Request.ts"
import { checkSigned } from "../signature/SigV2.ts"
import { checkAccess, parseCredential, type Signed, signingKeyOf } from "../signature/SigV4.ts"
import { hmac, parseTimestamp, sameSignature, scopeOf } from "../signature/Signing.ts"
import { type Checksum, type ObjectInfo } from "../store/Model.ts"
import { parseTagging, tagHeader } from "../tags/Tags.ts"
import { xmlDocument } from "../Xml.ts"

type Fields = ReadonlyMap<string, string>

/** An upload from an HTML form, authorized by the policy in the form. */
export const postObject: S3Operation = {
  action: "anyone",
  onBytes: true,
  run: Effect.fnUntraced(function* (exchange: Exchange) {
    const { rawBody, request, store } = exchange
    const form = yield* readForm(request.message.headers["content-type"] ?? "", rawBody)
    const plan = yield* tryS3(() => planOf(exchange, form.fields, form.filename))
    const hasher = plan.checksum === undefined ? undefined : makeHasher(plan.checksum.algorithm)
    const blob = yield* store.write(form.bytes, {
      limit: Math.min(plan.maximum, maximumPut),
      ...(hasher === undefined ? {} : { sink: hasher.update })
    })
    if (blob.size < plan.minimum) {
      return yield* s3Error("EntityTooSmall", undefined, {
        ProposedSize: String(blob.size),
        MinSizeAllowed: String(plan.minimum)
      })
    }
    const value = hasher === undefined ? undefined : yield* Effect.promise(hasher.value)
    if (value !== plan.checksum?.value) return yield* s3Error("BadDigest")
    const info = yield* store.put(request.bucket, plan.key, blob, { ...plan.meta, checksum: plan.checksum })
    return replyOf(exchange, form.fields, info)
  })
}

const planOf = ({ bucketInfo, request, settings }: Exchange, given: Fields, filename: string) => {
  if (bucketInfo === undefined) throw s3Error("NoSuchBucket")
  const template = given.get("key")
  if (template === undefined || template === "") {
    throw s3Error(
      "InvalidArgument",
      "Bucket POST must contain a field named 'key'. If it is specified, please check the order of the fields.",
      { ArgumentName: "key" }
    )
  }
  const key = template.replaceAll("${filename}", () => filename)
  checkKey(key)
  const fields = new Map([...given, ["key", key], ["bucket", request.bucket]])
  const { caller, limits } = policyOf({ settings, request }, fields)
  authorize({ request, caller }, bucketInfo, "s3:PutObject", key)
  const header = (name: string) => fields.get(name)
  const headers = headersFrom(fields)
  checkHeaders({ names: headers.keys(), header: (name) => headers.get(name) }, honouredFields, settings.encrypted)
  const meta = metaFrom(headers)
  if (meta.tags.length > 0) authorize({ request, caller }, bucketInfo, "s3:PutObjectTagging", key)
  return { key, meta, checksum: checksumFrom(header), ...limits }
}

const honouredFields = [...bodyHeaders, ...newObjectHeaders, "x-amz-algorithm", "x-amz-credential", "x-amz-signature"]

/** The signer of the form's policy, undefined without a policy, and the policy's size limits. Throws S3Errors. */
const policyOf = (
  { request, settings: { owner } }: Pick<Exchange, "settings" | "request">,
  fields: Fields
): { readonly caller: Signed | undefined; readonly limits: { readonly minimum: number; readonly maximum: number } } => {
  const policy = fields.get("policy")
  if (policy === undefined) {
    if (fields.has("x-amz-signature") || fields.has("signature")) {
      throw s3Error("InvalidArgument", "Bucket POST must contain a field named 'policy'.", { ArgumentName: "policy" })
    }
    return { caller: undefined, limits: { minimum: 0, maximum: Infinity } }
  }
  const field = (name: string) => {
    const value = fields.get(name)
    if (value === undefined) {
      throw s3Error("InvalidArgument", `Bucket POST must contain a field named '${name}'.`, { ArgumentName: name })
    }
    return value
  }
  const checked = () => {
    const document = parsePostPolicy(policy)
    checkPostPolicy(document, fields, Date.now())
    return { minimum: document.minimum, maximum: document.maximum }
  }
  if (fields.has("awsaccesskeyid") && !fields.has("x-amz-algorithm")) {
    checkSigned(owner, field("awsaccesskeyid"), policy, field("signature"))
    return { caller: { by: "form", version: "AWS" }, limits: checked() }
  }
  if (field("x-amz-algorithm") !== "AWS4-HMAC-SHA256") {
    throw s3Error("InvalidArgument", 'X-Amz-Algorithm only supports "AWS4-HMAC-SHA256"')
  }
  const timestamp = field("x-amz-date")
  const at = parseTimestamp(timestamp)
  const credential = parseCredential(field("x-amz-credential"), (why) =>
    s3Error("InvalidArgument", `Error parsing the X-Amz-Credential parameter; ${why}.`)
  )
  if (at === undefined) throw s3Error("AccessDenied", "The form's x-amz-date is invalid")
  checkAccess(request, owner, credential)
  const key = signingKeyOf(owner, credential)
  const signature = field("x-amz-signature")
  if (!sameSignature(hmac(key, policy).digest("hex"), signature)) {
    throw s3Error("SignatureDoesNotMatch", undefined, { AWSAccessKeyId: credential.accessKey, StringToSign: policy })
  }
  const age = Date.now() - at
  return {
    caller: { by: "form", version: "AWS4-HMAC-SHA256", signature, timestamp, scope: scopeOf(credential), key, age },
    limits: checked()
  }
}

/** The form's fields as headers. Throws S3Errors for invalid tags. */
const headersFrom = (fields: Fields) => {
  const headers = new Map<string, string>()
  for (const [name, value] of fields) headers.set(name, byteString(value))
  const [acl, tagging] = [headers.get("acl"), fields.get("tagging")]
  if (acl !== undefined) headers.set("x-amz-acl", acl)
  // Forms contain tags as a document.
  if (tagging !== undefined) headers.set("x-amz-tagging", tagHeader(parseTagging(tagging, "object")))
  return headers
}

const checksumFrom = (header: (name: string) => string | undefined): Checksum | undefined => {
  const sent = sentChecksum(header)
  if (sent === undefined) return undefined
  if (!isChecksum(sent.algorithm, sent.value)) throw s3Error("InvalidRequest")
  return { ...sent, type: "FULL_OBJECT" }
}

/** The response requested by `success_action_redirect` and `success_action_status`. */
const replyOf = (exchange: Exchange, fields: Fields, info: ObjectInfo): Reply => {
  const { etag, key } = info
  const { bucket, message } = exchange.request
  const path = `${bucket}/${key.split("/").map(encodeURIComponent).join("/")}`
  const place = `http://${message.headers.host ?? "localhost"}/${path}`
  const headers = { ETag: `"${etag}"`, Location: place, ...versionHeader(exchange, info) }
  const redirect = fields.get("success_action_redirect") ?? fields.get("redirect") ?? ""
  if (/^https?:/i.test(redirect) && URL.canParse(redirect)) {
    const url = new URL(redirect)
    for (const [name, value] of Object.entries({ bucket, key, etag: `"${etag}"` })) url.searchParams.set(name, value)
    return emptyReply(303, { ...headers, Location: url.href })
  }
  const status = fields.get("success_action_status")
  if (status === "201") {
    const body = xmlDocument("PostResponse", { Location: place, Bucket: bucket, Key: key, ETag: `"${etag}"` })
    return { status: 201, headers: { ...headers, "Content-Type": "application/xml" }, body }
  }
  return emptyReply(status === "200" ? 200 : 204, headers)
}
