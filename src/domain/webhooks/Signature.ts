import { createHmac, createSecretKey } from "node:crypto"

const prefix = "whsec_"

/** Standard Base64 with padding, not empty. */
const isBase64 = (text: string) => text !== "" && Buffer.from(text, "base64").toString("base64") === text

/** Base64 must follow `whsec_` (Standard Webhooks); any other text is a valid secret. */
export const isSecret = (secret: string) => !secret.startsWith(prefix) || isBase64(secret.slice(prefix.length))

/** The key of `webhook-signature`: the bytes after `whsec_`, otherwise the secret itself. (A Buffer would cost 13 µs more.) */
const keyOf = (secret: string) =>
  secret.startsWith(prefix) ? createSecretKey(secret.slice(prefix.length), "base64") : secret

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
  const signature = createHmac("sha256", keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest("base64")
  return {
    ...headers,
    "webhook-signature": `v1,${signature}`,
    "x-svc-signature": createHmac("sha256", secret).update(body).digest("hex")
  }
}
