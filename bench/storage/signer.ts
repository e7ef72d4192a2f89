/** Signs requests to the S3 endpoint as its owner. */
import {
  algorithm,
  canonicalRequest,
  emptyHash,
  formatTimestamp,
  hmac,
  scopeOf,
  signingKey,
  stringToSign
} from "../../src/layers/storage/endpoint/signature/Signing.ts"
import { uriEncode } from "../../src/domain/text/UriText.ts"

export interface S3Access {
  readonly url: string
  readonly accessKey: string
  readonly secretKey: string
}

type Query = ReadonlyArray<readonly [name: string, value: string]>

const written = (query: Query) => query.map(([name, value]) => `${uriEncode(name)}=${uriEncode(value)}`).join("&")

/** Valid for an hour by query, for 15 minutes by header. Paths must not need encoding. */
export const makeSigner = ({ accessKey, secretKey, url }: S3Access) => {
  const { host } = new URL(url)
  const timestamp = formatTimestamp(Date.now())
  const credential = { accessKey, day: timestamp.slice(0, 8), region: "us-east-1" }
  const scope = scopeOf(credential)
  const key = signingKey(secretKey, credential)
  const sign = (canonical: string) => hmac(key, stringToSign(timestamp, scope, canonical)).digest("hex")

  /** Returns path and query. The payload is not signed. */
  const byQuery = (method: string, path: string) => {
    const query: Query = [
      ["X-Amz-Algorithm", algorithm],
      ["X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD"],
      ["X-Amz-Credential", `${accessKey}/${scope}`],
      ["X-Amz-Date", timestamp],
      ["X-Amz-Expires", "3600"],
      ["X-Amz-SignedHeaders", "host"]
    ]
    const headers = [["host", [host]]] as const
    const canonical = canonicalRequest({ method, path, query, headers, payloadHash: "UNSIGNED-PAYLOAD" })
    return `${path}?${written(query)}&X-Amz-Signature=${sign(canonical)}`
  }

  /** Also signs the payload, by its SHA-256 in hex. */
  const byHeaders = (method: string, path: string, query: Query, payloadHash = emptyHash) => {
    const signed = { host, "x-amz-content-sha256": payloadHash, "x-amz-date": timestamp }
    const headers = Object.entries(signed).map(([name, value]) => [name, [value]] as const)
    const signature = sign(canonicalRequest({ method, path, query, headers, payloadHash }))
    const names = Object.keys(signed).join(";")
    const authorization = `${algorithm} Credential=${accessKey}/${scope}, SignedHeaders=${names}, Signature=${signature}`
    return { path: query.length === 0 ? path : `${path}?${written(query)}`, headers: { ...signed, authorization } }
  }

  return { byQuery, byHeaders }
}

/** The request line and headers. */
export const headOf = (method: string, path: string, headers: Readonly<Record<string, string>>, length?: number) => {
  const all = length === undefined ? headers : { ...headers, "content-length": String(length) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`
}
