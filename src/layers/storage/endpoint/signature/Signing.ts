import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import { uriEncode, uriEncodePath } from "../../../../domain/text/UriText.ts"

/** The computations of AWS Signature Version 4 for the service `s3`. */

export const algorithm = "AWS4-HMAC-SHA256"
/** SHA-256 of an empty body. */
export const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/** The parts of `<key>/<yyyymmdd>/<region>/s3/aws4_request`. */
export interface SigningCredential {
  readonly accessKey: string
  readonly day: string
  readonly region: string
}

export const scopeOf = ({ day, region }: SigningCredential) => `${day}/${region}/s3/aws4_request`

export const sha256 = (data: string | Uint8Array) => createHash("sha256").update(data).digest("hex")
export const hmac = (key: string | Uint8Array, text: string) => createHmac("sha256", key).update(text, "latin1")

export const signingKey = (secret: string, { day, region }: SigningCredential): Buffer => {
  const ofDay = hmac(`AWS4${secret}`, day).digest()
  const ofRegion = hmac(ofDay, region).digest()
  return hmac(hmac(ofRegion, "s3").digest(), "aws4_request").digest()
}

export interface Canonical {
  readonly method: string
  /** Decoded, with the leading slash. */
  readonly path: string
  /** Decoded, without X-Amz-Signature. */
  readonly query: ReadonlyArray<readonly [name: string, value: string]>
  /** Headers in the order of `SignedHeaders`; names in lower case, values in Latin-1 as Node returns them. */
  readonly headers: ReadonlyArray<readonly [name: string, values: ReadonlyArray<string>]>
  readonly payloadHash: string
}

/** The canonical request in Latin-1: one character per byte of the request. */
export const canonicalRequest = ({ headers, method, path, payloadHash, query }: Canonical) => {
  const pairs = query.map(([name, value]) => [uriEncode(name), uriEncode(value)] as const)
  pairs.sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : x > y ? 1 : 0))
  return [
    method,
    uriEncodePath(path),
    pairs.map(([name, value]) => `${name}=${value}`).join("&"),
    ...headers.map(([name, values]) => `${name}:${values.map(normalSpaces).join(",")}`),
    "",
    headers.map(([name]) => name).join(";"),
    payloadHash
  ].join("\n")
}

const normalSpaces = (value: string) => value.trim().replaceAll(/ {2,}/g, " ")

export const stringToSign = (timestamp: string, scope: string, canonical: string) =>
  [algorithm, timestamp, scope, sha256(Buffer.from(canonical, "latin1"))].join("\n")

/** Compares in constant time. */
export const sameSignature = (expected: string, given: string) => {
  const [a, b] = [Buffer.from(expected, "latin1"), Buffer.from(given, "latin1")]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Parses `20130524T000000Z` to ms; undefined for any other form. */
export const parseTimestamp = (text: string): number | undefined => {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour, minute, second] = match
  const millis = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  return Number.isNaN(millis) ? undefined : millis
}

export const formatTimestamp = (millis: number) => new Date(millis).toISOString().replaceAll(/[-:]|\.\d{3}/g, "")
