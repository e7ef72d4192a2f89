import { createHmac, createSecretKey } from "node:crypto"

/** Headers that the service sets itself, or that would change the framing of the request; lower case. */
const reserved = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "webhook-id",
  "webhook-signature",
  "webhook-timestamp",
  "x-svc-signature"
])

const maxHeaders = 50
/** Total bytes of names and values; both are ASCII. */
const maxSize = 8 * 1024

/** RFC 9110 5.6.2 */
const token = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/
/** Visible ASCII, with spaces and tabs only in between. */
const value = /^(?:[!-~](?:[\t -~]*[!-~])?)?$/

/** The problems of custom headers, each with the name of its header; empty when they can be sent. */
export const headerProblems = (
  headers: Readonly<Record<string, string>>
): ReadonlyArray<{ readonly name: string; readonly problem: string }> => {
  const entries = Object.entries(headers)
  if (entries.length > maxHeaders) return [{ name: "", problem: `Expected at most ${maxHeaders} headers` }]
  if (entries.reduce((size, [name, text]) => size + name.length + text.length, 0) > maxSize) {
    return [{ name: "", problem: `Expected at most ${maxSize} bytes of headers` }]
  }
  const seen = new Set<string>()
  return entries.flatMap(([name, text]) => {
    const problem = problemOf(name, text, seen)
    seen.add(name.toLowerCase())
    return problem === undefined ? [] : [{ name, problem }]
  })
}

const problemOf = (name: string, text: string, seen: ReadonlySet<string>) => {
  if (!token.test(name)) return "Expected a header name (RFC 9110)"
  if (reserved.has(name.toLowerCase())) return "This header is set by the service"
  if (seen.has(name.toLowerCase())) return "This header is given twice"
  return value.test(text) ? undefined : "Expected printable ASCII without line breaks"
}

const prefix = "whsec_"

/** Standard Base64 with padding, not empty. */
const isBase64 = (text: string) => text !== "" && Buffer.from(text, "base64").toString("base64") === text

/** Base64 must follow `whsec_` (Standard Webhooks); any other text is a valid secret. */
export const isSecret = (secret: string) => !secret.startsWith(prefix) || isBase64(secret.slice(prefix.length))

/** The key of `webhook-signature`: the bytes after `whsec_`, otherwise the secret itself. (A Buffer would cost 13 µs more.) */
const keyOf = (secret: string) =>
  secret.startsWith(prefix) ? createSecretKey(secret.slice(prefix.length), "base64") : secret

/** A `webhook-signature` of Standard Webhooks, `v1,…`. */
export const standardSignature = (secret: string, id: string, timestamp: number, body: string) =>
  `v1,${createHmac("sha256", keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest("base64")}`

/**
 * Headers by which a receiver verifies sender and body: `X-Svc-Signature` (spec: Webhook deliveries), whose key is the
 * secret's text, and those of https://www.standardwebhooks.com.
 *
 * @param id `msg_…`, the same for every attempt
 * @param timestamp of the attempt, in seconds since 1970
 */
export const signatureHeaders = (
  secret: string | null,
  id: string,
  timestamp: number,
  body: string
): Record<string, string> => {
  const headers = { "webhook-id": id, "webhook-timestamp": String(timestamp) }
  if (secret === null) return headers
  return {
    ...headers,
    "webhook-signature": standardSignature(secret, id, timestamp, body),
    "x-svc-signature": createHmac("sha256", secret).update(body).digest("hex")
  }
}
