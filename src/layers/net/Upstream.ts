import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Data, Effect, Schedule, type Scope } from "effect"
import { Cookies, HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { errorCode } from "../process/StartError.ts"

/** A call of another component over HTTP with JSON. */
export interface UpstreamCall {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** Absolute. */
  readonly url: string
  /** Lower-case names. Secrets may only be in here and in the body, which are never logged. */
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** Serialised JSON, in place of `body`. */
  readonly text?: string
  /** Time limit for the call with its retries, in ms. */
  readonly millis: number
  /** Disables retries after transient failures. Default: false for GET, true for the others. */
  readonly once?: boolean
}

/** A response of any status. Redirects are returned, not followed. */
export interface UpstreamAnswer {
  readonly status: number
  /** Parsed JSON, undefined when the response is empty or of another type. */
  readonly body: unknown
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Set-Cookie lines. */
  readonly setCookies: ReadonlyArray<string>
}

/** There is no readable response. `message` is for the log and contains nothing that was sent. */
export class UpstreamFailure extends Data.TaggedError("UpstreamFailure")<{
  readonly reason: "timeout" | "unreachable" | "unreadable"
  readonly message: string
}> {}

/** Time limit for opening a connection, in ms. */
const connectMillis = 2_000
const defaultLimits: UpstreamLimits = { answerBytes: 4 * 1024 * 1024, connections: null }
/** Pauses between retries, in ms. */
const pauses = Schedule.exponential(50).pipe(Schedule.upTo({ times: 2 }))

/** The request was not accepted, or the connection broke without a response. */
const transientCodes = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "UND_ERR_SOCKET"])

/** The other side is silent, at one of the steps. */
const silentCodes = new Set(["UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "ETIMEDOUT"])

const failureOf = (cause: unknown) => {
  const code = errorCode(cause) ?? "no code"
  const unread = code === "UND_ERR_RES_EXCEEDED_MAX_SIZE" ? "unreadable" : "unreachable"
  return new UpstreamFailure({ reason: silentCodes.has(code) ? "timeout" : unread, message: code })
}

/** The text is not repeated in the message, since it may contain personal data. */
const notJson = () => new UpstreamFailure({ reason: "unreadable", message: "not JSON" })

const answerOf = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse) {
  const text = yield* Effect.mapError(response.text, ({ reason }) => failureOf(reason.cause))
  const isJson = /^application\/(.+\+)?json\b/.test(response.headers["content-type"] ?? "")
  const answer: UpstreamAnswer = {
    status: response.status,
    body:
      isJson && text !== "" ? yield* Effect.try({ try: () => JSON.parse(text) as unknown, catch: notJson }) : undefined,
    headers: response.headers,
    setCookies: Cookies.toSetCookieHeaders(response.cookies)
  }
  return answer
})

const isAnswer = (last: UpstreamAnswer | UpstreamFailure): last is UpstreamAnswer => "status" in last

type Send = (call: UpstreamCall) => Effect.Effect<UpstreamAnswer, UpstreamFailure>

export interface UpstreamLimits {
  /** Maximum size of a response, in bytes. */
  readonly answerBytes: number
  /** Maximum number of connections, further calls wait for one; null: unlimited. */
  readonly connections: number | null
}

/** An HTTP client with connections of its own, which are closed with the scope. */
export const makeUpstreamWith = ({
  answerBytes,
  connections
}: UpstreamLimits): Effect.Effect<Send, never, Scope.Scope> =>
  Effect.gen(function* () {
    const dispatcher = yield* NodeHttpClient.makeDispatcherOptions({
      connect: { timeout: connectMillis },
      connections,
      maxResponseSize: answerBytes
    })
    const client = yield* Effect.provideService(NodeHttpClient.makeUndici, NodeHttpClient.Dispatcher, dispatcher)

    const once: Send = ({ body, headers, method, text = body === undefined ? undefined : JSON.stringify(body), url }) =>
      HttpClientRequest.make(method)(url, { headers: { accept: "application/json", ...headers } }).pipe(
        text === undefined ? (request) => request : HttpClientRequest.bodyText(text, "application/json"),
        client.execute,
        Effect.mapError(({ reason }) => failureOf(reason.cause)),
        Effect.flatMap(answerOf),
        // Spans would contain URLs and headers with secrets. The calls of the ports have spans of their own.
        Effect.provideService(HttpClient.TracerDisabledWhen, () => true)
      )

    const retried: Send = (call) =>
      once(call).pipe(
        Effect.filterOrFail(
          ({ status }) => status < 502 || status > 504,
          (answer) => answer
        ),
        Effect.retry({ schedule: pauses, while: (last) => isAnswer(last) || transientCodes.has(last.message) }),
        Effect.catchIf(isAnswer, Effect.succeed)
      )

    return (call) =>
      ((call.once ?? call.method !== "GET") ? once : retried)(call).pipe(
        Effect.timeoutOrElse({
          duration: call.millis,
          orElse: () =>
            Effect.fail(new UpstreamFailure({ reason: "timeout", message: `no answer within ${call.millis} ms` }))
        })
      )
  })

export const makeUpstream = makeUpstreamWith(defaultLimits)
