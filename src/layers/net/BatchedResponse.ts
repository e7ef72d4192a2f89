import { type IncomingMessage, ServerResponse } from "node:http"
import { type UnreadResponses } from "./Unread.ts"

let ended: Array<() => void> = []

const sendAll = () => {
  const batch = ended
  ended = []
  for (const send of batch) send()
}

const bytesOf = (body: unknown) =>
  typeof body === "string" ? Buffer.byteLength(body) : body instanceof Uint8Array ? body.byteLength : 0

/**
 * Responses that are written at the end of the turn of the event loop in which it ended, after those of other requests. A
 * write that wakes a sleeping process costs more than the rest of a request; one that follows at once finds it awake.
 */
export const batchedResponses = (unread: UnreadResponses) =>
  class BatchedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
    /** The length of the body according to the headers. */
    private bytes: number | undefined

    override writeHead(...head: ReadonlyArray<never>): this {
      const headers: Readonly<Record<string, unknown>> | undefined = head.at(-1)
      this.bytes = Number(headers?.["content-length"] ?? 0)
      return super.writeHead(...(head as unknown as [number]))
    }

    override end(...last: ReadonlyArray<never>): this {
      const [body] = last
      const plain = last.length < 2 && typeof body !== "function"
      // Only `super.end` itself may throw, so a body that does not fit the headers is ended at once.
      const bytes = bytesOf(body)
      unread.sending(this, bytes)
      if (!plain || bytes !== this.bytes) return super.end(...last)
      // Node writes head and body separately if it has to compare the lengths, which has just been done.
      this.strictContentLength = false
      const send = () => void (this.destroyed || super.end(body))
      if (ended.push(send) === 1) setImmediate(sendAll)
      return this
    }
  }
