import { type IncomingMessage, type ServerResponse } from "node:http"
import { s3Error } from "./Error.ts"

/** The minimum speed of a sender. */
interface BodyTimeouts {
  /** The maximum wait for the next byte, in ms. */
  readonly idle: number
  /** At least `bytes` must arrive in every `window` milliseconds of waiting. */
  readonly window: number
  readonly bytes: number
}

const defaultTimeouts: BodyTimeouts = { idle: 20_000, window: 60_000, bytes: 16 * 1024 }

/**
 * The body of a request as it arrives. Sends 100 Continue when reading starts, and leaves the connection open if the
 * body is not read to its end, so that a response can be sent. Throws RequestTimeout if the sender is too slow and
 * IncompleteBody if it disconnects.
 */
export const requestBody = (
  message: IncomingMessage,
  response: ServerResponse,
  timeouts = defaultTimeouts
): AsyncIterable<Buffer> => ({
  async *[Symbol.asyncIterator]() {
    let wake: (() => void) | undefined
    let failed: Error | undefined
    let waiting: number | undefined
    let waited = 0
    let received = 0
    const signal = () => wake?.()
    const onClose = () => {
      if (!message.complete) failed ??= s3Error("IncompleteBody")
      signal()
    }
    const timer = setInterval(
      () => {
        if (waiting === undefined) return
        const now = performance.now()
        const idle = now - waiting
        const window = waited + idle
        if (idle > timeouts.idle || (window > timeouts.window && received < timeouts.bytes)) {
          failed ??= s3Error("RequestTimeout")
          signal()
        } else if (window > timeouts.window) {
          waited = -idle
          received = 0
        }
      },
      Math.min(1000, timeouts.idle / 4)
    )
    message.on("readable", signal).on("end", signal).on("close", onClose).on("error", onClose)
    try {
      if (expectsContinue(message)) response.writeContinue()
      for (;;) {
        const chunk: Buffer | null = message.read()
        if (chunk !== null) {
          received += chunk.length
          yield chunk
          continue
        }
        if (message.readableEnded) return
        if (message.destroyed) onClose()
        if (failed !== undefined) throw failed
        waiting = performance.now()
        await new Promise<void>((resolve) => (wake = resolve))
        wake = undefined
        waited += performance.now() - waiting
        waiting = undefined
      }
    } finally {
      clearInterval(timer)
      message.off("readable", signal).off("end", signal).off("close", onClose).off("error", onClose)
    }
  }
})

const expectsContinue = (message: IncomingMessage) => message.headers.expect?.toLowerCase() === "100-continue"
