import { s3Error } from "../Error.ts"
import { checkUrl } from "./SigV2.ts"
import { type S3Request } from "../Request.ts"
import {
  algorithm,
  canonicalRequest,
  type SigningCredential,
  formatTimestamp,
  hmac,
  parseTimestamp,
  sameSignature,
  scopeOf,
  signingKey,
  stringToSign
} from "./Signing.ts"

/** The credentials of the owner of all buckets. */
export interface StoreOwner {
  readonly accessKey: string
  readonly secretKey: string
}

/** A request that the owner signed. */
export type Signed = SignedV4 | SignedV2

/** A request signed with AWS Signature Version 2. */
interface SignedV2 {
  readonly by: "query" | "form"
  readonly version: "AWS"
}

export interface SignedV4 {
  readonly by: "header" | "query" | "form"
  readonly version: "AWS4-HMAC-SHA256"
  /** The seed of the chunk signatures of a streamed body. */
  readonly signature: string
  readonly timestamp: string
  readonly scope: string
  readonly key: Buffer
  /** Time since signing, in ms. */
  readonly age: number
}

/** undefined: anonymous. */
export type Signer = Signed | undefined

const maximumSkew = 15 * 60_000
const maximumExpires = 604_800

/** The caller of a request at `now`, in ms. Throws an S3Error if the request's signature is invalid. */
export const authenticate = (request: S3Request, owner: StoreOwner, now: number): Signer => {
  const authorization = request.message.headers.authorization
  const byQuery = request.param("X-Amz-Algorithm") !== undefined || request.param("X-Amz-Signature") !== undefined
  const version2 = request.param("AWSAccessKeyId") !== undefined && request.param("Signature") !== undefined
  if (Number(authorization !== undefined) + Number(byQuery) + Number(version2) > 1) {
    throw s3Error(
      "InvalidArgument",
      "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter or the Authorization header should be specified"
    )
  }
  if (authorization?.startsWith("AWS ")) {
    throw s3Error(
      "InvalidRequest",
      "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256."
    )
  }
  if (version2) {
    rejectTokens(request)
    checkUrl(request, owner, now)
    return { by: "query", version: "AWS" }
  }
  if (byQuery) return byPresignedUrl(request, owner, now)
  return authorization === undefined ? undefined : byHeader(request, authorization, owner, now)
}

const byHeader = (request: S3Request, authorization: string, owner: StoreOwner, now: number): SignedV4 => {
  const malformed = (why: string) =>
    s3Error("AuthorizationHeaderMalformed", `The authorization header is malformed; ${why}.`)
  if (!authorization.startsWith(`${algorithm} `)) throw s3Error("InvalidArgument", "Unsupported Authorization Type")
  const fields = new Map<string, string>()
  for (const field of authorization.slice(algorithm.length).split(",")) {
    const equals = field.indexOf("=")
    if (equals > 0) fields.set(field.slice(0, equals).trim(), field.slice(equals + 1).trim())
  }
  const [given, signedHeaders, signature] = ["Credential", "SignedHeaders", "Signature"].map((name) => fields.get(name))
  if (!given || !signedHeaders || !signature) {
    throw malformed("Credential, SignedHeaders and Signature are required")
  }
  const credential = parseCredential(given, malformed)
  const payloadHash = request.message.headers["x-amz-content-sha256"]
  if (typeof payloadHash !== "string") {
    throw s3Error("InvalidRequest", "Missing required header for this request: x-amz-content-sha256")
  }
  const signedAt = headerTime(request)
  if (signedAt === undefined)
    throw s3Error("AccessDenied", "AWS authentication requires a valid Date or x-amz-date header")
  if (Math.abs(now - signedAt) > maximumSkew) {
    throw s3Error("RequestTimeTooSkewed", undefined, {
      RequestTime: formatTimestamp(signedAt),
      ServerTime: new Date(now).toISOString(),
      MaxAllowedSkewMilliseconds: String(maximumSkew)
    })
  }
  const timestamp = formatTimestamp(signedAt)
  if (credential.day !== timestamp.slice(0, 8))
    throw malformed("the date in the Credential must match the date of the request")
  return check(request, owner, { credential, signedHeaders, signature, timestamp, payloadHash, by: "header", now })
}

const headerTime = ({ message: { headers } }: S3Request) => {
  const amz = headers["x-amz-date"]
  const text = typeof amz === "string" ? amz : headers.date
  if (text === undefined) return undefined
  const date = Date.parse(text)
  return parseTimestamp(text) ?? (Number.isNaN(date) ? undefined : date)
}

const byPresignedUrl = (request: S3Request, owner: StoreOwner, now: number): SignedV4 => {
  const invalid = (why: string) => s3Error("AuthorizationQueryParametersError", why)
  const names = ["Algorithm", "Credential", "Signature", "Date", "SignedHeaders", "Expires"]
  const [kind, given, signature, timestamp, signedHeaders, lifetime] = names.map((name) =>
    request.param(`X-Amz-${name}`)
  )
  if (!kind || !given || !signature || !timestamp || !signedHeaders || !lifetime) {
    throw invalid(
      "Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters."
    )
  }
  if (kind !== algorithm) throw invalid(`X-Amz-Algorithm only supports "${algorithm}"`)
  const credential = parseCredential(given, (why) => invalid(`Error parsing the X-Amz-Credential parameter; ${why}.`))
  const signedAt = parseTimestamp(timestamp)
  if (signedAt === undefined) throw invalid("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"")
  if (!/^-?\d+$/.test(lifetime)) throw invalid("X-Amz-Expires should be a number")
  const seconds = Number(lifetime)
  if (seconds < 1) throw invalid("X-Amz-Expires must be at least 1 second")
  if (seconds > maximumExpires) {
    throw invalid(
      `X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must be at most ${maximumExpires} seconds`
    )
  }
  if (credential.day !== timestamp.slice(0, 8)) {
    throw invalid("Invalid credential date. This date is not the same as X-Amz-Date.")
  }
  if (signedAt - now > maximumSkew) throw s3Error("AccessDenied", "Request is not yet valid")
  const expires = signedAt + seconds * 1000
  if (now > expires) {
    throw s3Error("AccessDenied", "Request has expired", {
      "X-Amz-Expires": lifetime,
      Expires: new Date(expires).toISOString(),
      ServerTime: new Date(now).toISOString()
    })
  }
  const payloadHash = request.header("x-amz-content-sha256") ?? "UNSIGNED-PAYLOAD"
  return check(request, owner, { credential, signedHeaders, signature, timestamp, payloadHash, by: "query", now })
}

/** `<key>/<yyyymmdd>/<region>/s3/aws4_request`; any region is accepted, since there is only one location. */
export const parseCredential = (text: string, malformed: (why: string) => Error): SigningCredential => {
  const [end, service, region, day, ...key] = text.split("/").toReversed()
  if (key.length === 0 || region === undefined || day === undefined) {
    throw malformed('the Credential must be of the form "<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request"')
  }
  if (end !== "aws4_request") throw malformed('the Credential must end with "aws4_request"')
  if (service !== "s3") throw malformed('the service in the Credential must be "s3"')
  if (!/^\d{8}$/.test(day)) throw malformed("the date in the Credential must be yyyyMMdd")
  return { accessKey: key.toReversed().join("/"), day, region }
}

interface Claim {
  readonly credential: SigningCredential
  readonly signedHeaders: string
  readonly signature: string
  readonly timestamp: string
  readonly payloadHash: string
  readonly by: "header" | "query"
  readonly now: number
}

const check = (request: S3Request, owner: StoreOwner, claim: Claim): SignedV4 => {
  const { by, credential, now, payloadHash, signature, signedHeaders, timestamp } = claim
  checkAccess(request, owner, credential)
  const names = signedHeaders.split(";")
  checkSigned(request, names)
  const all = request.message.headersDistinct
  const canonical = canonicalRequest({
    method: request.method,
    path: request.key === "" ? decodeURIComponent(request.path) : `/${request.bucket}/${request.key}`,
    query: request.query.filter(([name]) => name !== "X-Amz-Signature"),
    headers: names.map((name) => [name, all[name] ?? []]),
    payloadHash
  })
  const scope = scopeOf(credential)
  const text = stringToSign(timestamp, scope, canonical)
  const key = signingKeyOf(owner, credential)
  if (!sameSignature(hmac(key, text).digest("hex"), signature)) {
    throw s3Error("SignatureDoesNotMatch", undefined, {
      AWSAccessKeyId: credential.accessKey,
      StringToSign: text,
      SignatureProvided: signature,
      CanonicalRequest: canonical
    })
  }
  return { by, version: algorithm, signature, timestamp, scope, key, age: now - (parseTimestamp(timestamp) ?? now) }
}

/** Rejects other access keys and session tokens. */
export const checkAccess = (request: S3Request, owner: StoreOwner, { accessKey }: SigningCredential) => {
  if (!sameSignature(owner.accessKey, accessKey)) {
    throw s3Error("InvalidAccessKeyId", undefined, { AWSAccessKeyId: accessKey })
  }
  rejectTokens(request)
}

const rejectTokens = (request: S3Request) => {
  const token =
    request.message.headers["x-amz-security-token"] ??
    request.param("X-Amz-Security-Token") ??
    request.param("x-amz-security-token")
  if (token !== undefined) {
    throw s3Error(
      "InvalidToken",
      "The provided token is malformed or otherwise invalid: session tokens are not supported."
    )
  }
}

/** Requires `host` and all `x-amz-` headers to be signed, so that they can't be changed in transit. */
const checkSigned = ({ message }: S3Request, names: ReadonlyArray<string>) => {
  const signed = new Set(names)
  const unsigned = Object.keys(message.headers).filter(
    (name) => (name.startsWith("x-amz-") || name === "host") && !signed.has(name)
  )
  if (!signed.has("host") || unsigned.length > 0) {
    throw s3Error("AccessDenied", "There were headers present in the request which were not signed", {
      HeadersNotSigned: unsigned.join(", ") || "host"
    })
  }
}

let lastKey: { readonly of: string; readonly key: Buffer } | undefined

/** Caches the last signing key, which is the same for a day. */
export const signingKeyOf = (owner: StoreOwner, credential: SigningCredential): Buffer => {
  const of = `${owner.accessKey}\n${owner.secretKey}\n${scopeOf(credential)}`
  if (lastKey?.of !== of) lastKey = { of, key: signingKey(owner.secretKey, credential) }
  return lastKey.key
}
