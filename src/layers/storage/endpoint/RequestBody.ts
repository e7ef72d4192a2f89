import { type IncomingMessage, type ServerResponse } from "node:http"
import { s3Error } from "./Error.ts"

/** How long a sender may keep us waiting. */
interface BodyPatience {
  /** Milliseconds for the next byte. */
  readonly idle: number
  /** At least `bytes` in every `window` milliseconds of waiting. */
  readonly window: number
  readonly bytes: number
}

const bodyPatience: BodyPatience = { idle: 20_000, window: 60_000, bytes: 16 * 1024 }

/**
 * The bytes of a request as they come. Asks for them (100 Continue) when the first is read, and leaves the connection
 * open when it is not read to its end, so that there can be an answer. Throws RequestTimeout when the sender is too
 * slow and IncompleteBody when it is gone.
 */
export const requestBody = (
  message: IncomingMessage,
  response: ServerResponse,
  patience = bodyPatience
): AsyncIterable<Buffer> => ({
  async *[Symbol.asyncIterator]() {
    let wake: (() => void) | undefined
    let failed: Error | undefined
    let waiting: number | undefined
    let waited = 0
    let received = 0
    const signal = () => wake?.()
    const gone = () => {
      if (!message.complete) failed ??= s3Error("IncompleteBody")
      signal()
    }
    const watch = setInterval(
      () => {
        if (waiting === undefined) return
        const now = performance.now()
        const idle = now - waiting
        const window = waited + idle
        if (idle > patience.idle || (window > patience.window && received < patience.bytes)) {
          failed ??= s3Error("RequestTimeout")
          signal()
        } else if (window > patience.window) {
          waited = -idle
          received = 0
        }
      },
      Math.min(1000, patience.idle / 4)
    )
    message.on("readable", signal).on("end", signal).on("close", gone).on("error", gone)
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
        if (message.destroyed) gone()
        if (failed !== undefined) throw failed
        waiting = performance.now()
        await new Promise<void>((resolve) => (wake = resolve))
        wake = undefined
        waited += performance.now() - waiting
        waiting = undefined
      }
    } finally {
      clearInterval(watch)
      message.off("readable", signal).off("end", signal).off("close", gone).off("error", gone)
    }
  }
})

const expectsContinue = (message: IncomingMessage) => message.headers.expect?.toLowerCase() === "100-continue"
