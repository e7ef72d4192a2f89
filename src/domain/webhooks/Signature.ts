import { createHmac, createSecretKey } from "node:crypto"

const prefix = "whsec_"

/** Standard Base64 with its padding, not empty. */
const isBase64 = (text: string) => text !== "" && Buffer.from(text, "base64").toString("base64") === text

/** A secret of Standard Webhooks (`whsec_…`) must be one; any other text is a secret as it is. */
export const isSecret = (secret: string) => !secret.startsWith(prefix) || isBase64(secret.slice(prefix.length))

/** The key of `webhook-signature`: the bytes behind `whsec_`, else the secret itself. (A Buffer would cost 13 µs more.) */
const keyOf = (secret: string) =>
  secret.startsWith(prefix) ? createSecretKey(secret.slice(prefix.length), "base64") : secret

/**
 * Headers that let a receiver tell that we sent exactly this body: `X-Svc-Signature` (spec: Webhook deliveries), always
 * keyed by the secret as it is, and the one of https://www.standardwebhooks.com.
 *
 * @param id `msg_…`, the same at every attempt
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
