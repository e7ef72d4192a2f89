/** How much of a response is logged, and how much of it is read before the connection is dropped; in bytes. */
const loggedBytes = 1024
export const readBytes = 64 * 1024

/** What came of one attempt to deliver. */
export interface WebhookReply {
  /** Null when there was no complete response: see `error`. */
  readonly status: number | null
  /** The first 1,024 bytes of the response's body as text; null without a response. */
  readonly body: string | null
  /** Why there was no response, in words; null when there was one. */
  readonly error: string | null
  /** The header of that name, as it came. */
  readonly retryAfter: string | undefined
  readonly latencyMillis: number
  /** Trying again can't help. */
  readonly final?: boolean
}

/** The receiver took it. A redirect is not followed and is no success. */
export const isSuccess = ({ status }: WebhookReply) => status !== null && status >= 200 && status < 300

/** The receiver wants nothing more. */
export const isGone = ({ status }: WebhookReply) => status === 410

/**
 * The first 1,024 bytes as text that PostgreSQL can store, cut before a character that does not fit. What is not UTF-8,
 * and NUL, becomes U+FFFD.
 */
export const loggedText = (bytes: Uint8Array): string => {
  const whole = bytes.length <= loggedBytes
  // In a stream a character that is not complete yet is held back instead of being replaced.
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, loggedBytes), { stream: !whole })
  return text.replaceAll("\0", "\ufffd")
}
