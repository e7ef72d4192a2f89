import { Data, Effect, Schedule, type Scope } from "effect"
import { errorCode } from "../process/StartError.ts"

/** A call of another component over HTTP with JSON. */
export interface UpstreamCall {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** Absolute. */
  readonly url: string
  /** Lower-case names; what must not reach a log is only in here and in the body. */
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** In place of a body: JSON that is written already. */
  readonly text?: string
  /** For all of it, retries included, in ms. */
  readonly millis: number
  /** Not to be sent again after a failure that came fast. Unless told, GETs may be and others not. */
  readonly once?: boolean
}

/** Whatever status it has. Redirects are answers like any other; none is followed. */
export interface UpstreamAnswer {
  readonly status: number
  /** Parsed JSON, undefined when the answer is of another type or empty. */
  readonly body: unknown
  /** Lower-case names, Set-Cookie left out. */
  readonly headers: Readonly<Record<string, string>>
  /** Set-Cookie lines as they came. */
  readonly setCookies: ReadonlyArray<string>
}

/** No answer that can be read. `message` is for the log and holds nothing that was sent. */
export class UpstreamFailure extends Data.TaggedError("UpstreamFailure")<{
  readonly reason: "timeout" | "unreachable" | "unreadable"
  readonly message: string
}> {}

/** How long a connection may take to open, in ms. */
const connectMillis = 2_000
const usual = { answerBytes: 4 * 1024 * 1024, connections: null }
/** After a failure, in ms. */
const pauses = Schedule.exponential(50).pipe(Schedule.upTo({ times: 2 }))

/** Nobody took the request, or the connection broke without an answer. */
const passing = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "UND_ERR_SOCKET"])

class Passing extends Data.TaggedError("Passing")<{ readonly last: UpstreamAnswer | UpstreamFailure }> {}

const failureOf = (cause: unknown) => {
  const code = errorCode(cause) ?? "no code"
  // The body was there and is no JSON: its text is not repeated, somebody's data may be in it.
  if (cause instanceof SyntaxError) return new UpstreamFailure({ reason: "unreadable", message: "not JSON" })
  const reason = code === "UND_ERR_RES_EXCEEDED_MAX_SIZE" ? "unreadable" : "unreachable"
  return new UpstreamFailure({ reason, message: code })
}

type Send = (call: UpstreamCall) => Effect.Effect<UpstreamAnswer, UpstreamFailure>

export interface UpstreamLimits {
  /** The largest answer that is read, in bytes. */
  readonly answerBytes: number
  /** Connections to one address, further calls wait for one; null: as many as there are calls. */
  readonly connections: number | null
}

/** A way to call, with connections of its own that are closed with the scope. */
export const makeUpstreamWith = (limits: UpstreamLimits): Effect.Effect<Send, never, Scope.Scope> =>
  Effect.gen(function* () {
    // Loaded only where there is something to call.
    const { Agent } = yield* Effect.promise(() => import("@effect/platform-node/Undici"))
    const agent = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new Agent({
            connect: { timeout: connectMillis },
            connections: limits.connections,
            maxResponseSize: limits.answerBytes
          })
      ),
      (agent) => Effect.promise(() => agent.destroy())
    )

    const exchange = async (call: UpstreamCall, signal: AbortSignal): Promise<UpstreamAnswer> => {
      const { origin, pathname, search } = new URL(call.url)
      const sent = call.text ?? (call.body === undefined ? null : JSON.stringify(call.body))
      const { body, headers, statusCode } = await agent.request({
        origin,
        path: `${pathname}${search}`,
        method: call.method,
        headers: {
          accept: "application/json",
          ...(sent === null ? {} : { "content-type": "application/json" }),
          ...call.headers
        },
        body: sent,
        signal
      })
      const text = await body.text()
      const { "set-cookie": cookies = [], ...others } = headers
      const json = /^application\/(.+\+)?json\b/.test(String(others["content-type"] ?? ""))
      return {
        status: statusCode,
        body: json && text !== "" ? JSON.parse(text) : undefined,
        headers: Object.fromEntries(Object.entries(others).map(([name, value]) => [name, String(value ?? "")])),
        setCookies: [cookies].flat()
      }
    }

    const once: Send = (call) => Effect.tryPromise({ try: (signal) => exchange(call, signal), catch: failureOf })

    const again: Send = (call) =>
      once(call).pipe(
        Effect.matchEffect({
          onFailure: (failure) => Effect.fail(passing.has(failure.message) ? new Passing({ last: failure }) : failure),
          onSuccess: (answer) =>
            answer.status >= 502 && answer.status <= 504
              ? Effect.fail(new Passing({ last: answer }))
              : Effect.succeed(answer)
        }),
        Effect.retry({ schedule: pauses, while: (failure) => failure._tag === "Passing" }),
        Effect.catchTag("Passing", ({ last }) => ("status" in last ? Effect.succeed(last) : Effect.fail(last)))
      )

    return (call) =>
      ((call.once ?? call.method !== "GET") ? once : again)(call).pipe(
        Effect.timeoutOrElse({
          duration: call.millis,
          orElse: () =>
            Effect.fail(new UpstreamFailure({ reason: "timeout", message: `no answer within ${call.millis} ms` }))
        })
      )
  })

export const makeUpstream = makeUpstreamWith(usual)
