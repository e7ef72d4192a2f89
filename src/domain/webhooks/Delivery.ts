/** The largest payload that is sent, in bytes: sender and log hold it in memory in one piece. */
export const maxPayload = 10 * 1024 * 1024

/** Bytes of a response that are logged, and bytes that are read before the connection is dropped. */
const loggedBytes = 1024
export const readBytes = 64 * 1024

/** The result of one delivery attempt. */
export interface WebhookReply {
  /** Null when there was no complete response: see `error`. */
  readonly status: number | null
  /** The first 1,024 bytes of the response body as text; null without a response. */
  readonly body: string | null
  /** Why there was no response; null when there was one. */
  readonly error: string | null
  /** The raw `Retry-After` header. */
  readonly retryAfter: string | undefined
  readonly latencyMillis: number
  /** A retry can't succeed. */
  readonly final?: boolean
}

/** Redirects are not followed and count as failures. */
export const isSuccess = ({ status }: WebhookReply) => status !== null && status >= 200 && status < 300

/** The receiver refuses further deliveries. */
export const isReceiverGone = ({ status }: WebhookReply) => status === 410

/**
 * The first 1,024 bytes as text that PostgreSQL can store, cut at a character boundary. Invalid UTF-8 and NUL become
 * U+FFFD.
 */
export const loggedText = (bytes: Uint8Array): string => {
  const whole = bytes.length <= loggedBytes
  // The decoder withholds an incomplete character with `stream`, instead of replacing it.
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, loggedBytes), { stream: !whole })
  return text.replaceAll("\0", "\ufffd")
}

/** Retries are spread by this share of the step, so that deliveries that failed together are not retried together. */
const jitter = 0.1

/** `Retry-After` as ms from now: seconds or an HTTP date (RFC 9110 10.2.3); undefined for anything else. */
export const retryAfterMillis = (header: string | undefined, now: number): number | undefined => {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const date = /^[A-Z][a-z]{2},? /.test(header) ? Date.parse(header) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/**
 * The delay after a failed attempt, in ms; null after the last one.
 *
 * @param steps ms before each retry
 * @param attempt that failed, from 1
 * @param retryAfter requested by the receiver, in ms: extends the delay to at most twice the step
 * @param random 0 to 1
 */
export const retryDelay = (
  steps: ReadonlyArray<number>,
  attempt: number,
  retryAfter: number | undefined,
  random: number
): number | null => {
  const step = steps[attempt - 1]
  if (step === undefined) return null
  const jittered = step * (1 + jitter * (2 * random - 1))
  return Math.round(Math.max(jittered, Math.min(retryAfter ?? 0, 2 * step)))
}
