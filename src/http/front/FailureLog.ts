import { Clock, Effect } from "effect"
import { type HttpServerResponse } from "effect/http"
import { failureOf } from "../wire/ErrorBodies.ts"

/** More lines in a second would fill the disk during an outage; they are counted instead. */
const maxPerSecond = 20

/** A request that got a response of status 500 or above. */
export interface FailedRequest {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly response: HttpServerResponse.HttpServerResponse
  /** The database's own text may contain what callers sent, so the log does not repeat it. */
  readonly ofDatabase: boolean
}

/** Logs requests that failed for no fault of their caller, by the `request_id` that the caller has. */
export const makeFailureLog = () => {
  let second = 0
  let lines = 0
  let omitted = 0
  return ({ id, method, ofDatabase, path, response }: FailedRequest): Effect.Effect<void> =>
    // Probes repeat while the service is not ready, which is logged elsewhere.
    response.status < 500 || path === "/readyz"
      ? Effect.void
      : Effect.flatMap(Clock.currentTimeMillis, (now) => {
          if (Math.floor(now / 1000) !== second) {
            second = Math.floor(now / 1000)
            lines = 0
          }
          if (++lines > maxPerSecond) {
            omitted++
            return Effect.void
          }
          const before = omitted === 0 ? "" : `; ${omitted} more before are not in the log`
          omitted = 0
          const { code, error } = failureOf(response)
          const text = ofDatabase || error === "" ? "" : `: ${error}`
          const line = `Responded with ${response.status} ${code} to ${method} ${path.slice(0, 200)}${text}${before}`
          return Effect.annotateLogs(Effect.logWarning(line), { request_id: id })
        })
}
