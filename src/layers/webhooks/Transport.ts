import { Effect, Layer } from "effect"
import { lookup as lookUp } from "node:dns"
import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http"
import { Agent as AgentTls, request as requestHttps } from "node:https"
import { type Socket } from "node:net"
import { isPublicAddress } from "../../domain/PublicAddress.ts"
import { loggedText, readBytes } from "../../domain/webhooks/Delivery.ts"
import { WebhookSettings } from "../../services/webhooks/Settings.ts"
import { type WebhookAnswer, type WebhookRequest, WebhookTransport } from "../../services/ports/WebhookTransport.ts"
import { isPrivateLiteral, NotPublic, publicOnly, type Resolve, socketMessages } from "../net/Outbound.ts"
import { errorCode } from "../process/StartError.ts"

/** Idle connections are closed before most receivers would close them, which might be just as we send; in ms. */
const idleMillis = 4_000

const setting = "WEBHOOK_ALLOW_PRIVATE"

/** Checks the connected address once more, before anything is written. */
const checkPeer = (socket: Socket, hostname: string) => {
  if (!isPublicAddress(socket.remoteAddress ?? "")) socket.destroy(new NotPublic(hostname, setting))
}

const incomplete = "Connection closed before the response was complete"
const messages: Readonly<Record<string, string>> = { ...socketMessages, ECONNRESET: incomplete, EPIPE: incomplete }

const messageOf = (cause: Error) => {
  if (cause instanceof NotPublic) return cause.message
  // Several addresses were tried: report the last one.
  const last = cause instanceof AggregateError ? ((cause.errors.at(-1) as Error | undefined) ?? cause) : cause
  return messages[errorCode(last) ?? ""] ?? `${last.message.split("\n")[0]}`.slice(0, 500)
}

const makeTransport = (timeout: number, allowPrivate: boolean, resolve: Resolve) => {
  const options = { keepAlive: true, maxSockets: Infinity, maxFreeSockets: 64, timeout: idleMillis }
  const agents = { "http:": new Agent(options), "https:": new AgentTls(options) }
  const guard = allowPrivate ? {} : { lookup: publicOnly(resolve, setting) }

  const send = (given: WebhookRequest, url: URL) => {
    const secure = url.protocol === "https:"
    const body = Buffer.from(given.body, "utf8")
    return (secure ? requestHttps : requestHttp)(url, {
      ...guard,
      method: "POST",
      agent: secure ? agents["https:"] : agents["http:"],
      headers: { ...given.headers, "content-length": body.length }
    }).end(body)
  }

  /** `maxBytes`: those of the body that are read; the connection is dropped after them. */
  const exchange = (given: WebhookRequest, maxBytes: number) =>
    Effect.callback<Exchange>((resume) => {
      const from = performance.now()
      let request: ClientRequest | undefined
      let ended = false
      const end = (result: Omit<Exchange, "latencyMillis">) => {
        if (ended) return
        ended = true
        clearTimeout(timer)
        resume(Effect.succeed({ ...result, latencyMillis: Math.round(performance.now() - from) }))
      }
      const none = { status: null, bytes: null, contentType: undefined, retryAfter: undefined }
      const fail = (cause: Error) => end({ ...none, error: messageOf(cause) })
      const timer = setTimeout(() => {
        end({ ...none, error: `Timeout: no complete response within ${timeout} ms` })
        request?.destroy()
      }, timeout)

      const attempt = (again: boolean) => {
        const url = new URL(given.url)
        const hostname = url.hostname.replace(/^\[|\]$/g, "")
        if (!allowPrivate && isPrivateLiteral(hostname)) return fail(new NotPublic(hostname, setting))
        const sent = send(given, url)
        let responded = false
        request = sent
        sent
          .once("socket", (socket) => {
            if (!allowPrivate && socket.connecting)
              socket.prependOnceListener("connect", () => checkPeer(socket, hostname))
          })
          .once("response", (response) =>
            read(
              response,
              maxBytes,
              (bytes) => {
                const { "content-type": contentType, "retry-after": retryAfter } = response.headers
                end({ status: response.statusCode ?? null, bytes, contentType, error: null, retryAfter })
              },
              fail
            )
          )
          .once("error", (cause) => {
            // The receiver closed a kept-alive connection just as it was reused, so it has not received the request.
            const stale = sent.reusedSocket && errorCode(cause) === "ECONNRESET" && !responded
            if (stale && again && !ended) attempt(false)
            else fail(cause)
          })
          .once("close", () => {
            if (request === sent) fail(new Error(incomplete))
          })
        return undefined
      }
      try {
        attempt(true)
      } catch (cause) {
        fail(cause as Error) // invalid URLs and headers that validation let through
      }
      return Effect.sync(() => {
        ended = true
        clearTimeout(timer)
        request?.destroy()
      })
    })

  const close = Effect.sync(() => {
    for (const agent of Object.values(agents)) agent.destroy()
  })
  return {
    close,
    post: (given: WebhookRequest) =>
      Effect.map(exchange(given, readBytes), ({ bytes, error, latencyMillis, retryAfter, status }) => {
        return { status, body: bytes === null ? null : loggedText(bytes), error, retryAfter, latencyMillis }
      }),
    call: (given: WebhookRequest, maxBytes: number) =>
      Effect.map(exchange(given, maxBytes + 1), ({ bytes, contentType, error, retryAfter, status }): WebhookAnswer => {
        const body = bytes === null || bytes.length > maxBytes ? null : bytes
        return { status, contentType, body, error, retryAfter }
      })
  }
}

interface Exchange extends Omit<WebhookAnswer, "body"> {
  readonly bytes: Buffer | null
  readonly latencyMillis: number
}

/** Reads at most about `maxBytes` of a response. */
const read = (
  response: IncomingMessage,
  maxBytes: number,
  done: (bytes: Buffer) => void,
  fail: (cause: Error) => void
) => {
  const chunks: Array<Buffer> = []
  let size = 0
  const finish = () => done(Buffer.concat(chunks))
  response
    .on("data", (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.length
      if (size < maxBytes) return
      finish()
      response.destroy()
    })
    .once("end", finish)
    .once("error", fail)
    .once("close", () => {
      if (!response.complete) fail(new Error(incomplete))
    })
}

/** The transport over `node:http`, with names resolved by `resolve`. */
export const layerWebhookTransportWith = (resolve: Resolve) =>
  Layer.effect(
    WebhookTransport,
    Effect.gen(function* () {
      const { allowPrivate, timeout } = yield* WebhookSettings
      const { call, close, post } = makeTransport(timeout, allowPrivate, resolve)
      yield* Effect.addFinalizer(() => close)
      return WebhookTransport.of({ call, post })
    })
  )

export const layerWebhookTransport = layerWebhookTransportWith(lookUp)
