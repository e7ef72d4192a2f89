import { Effect } from "effect"
import { type ClientError } from "../../domain/errors.ts"
import { ApiGate } from "../access/ApiGate.ts"
import { type Caller } from "../access/Caller.ts"
import { ClientGate } from "../access/ClientGate.ts"
import { hasSessionCookie } from "../access/cookies/SessionCookies.ts"
import { withBearerKey } from "../access/Credentials.ts"
import { dashboardHeader } from "../access/Origins.ts"
import { type ServedRequest } from "../access/ServedRequest.ts"

const bySession: Caller = { keyType: "anon", actor: { role: "authenticated", claims: "", sub: "" } }

const hasKey = ({ headers }: ServedRequest) => headers["apikey"] !== undefined || headers["x-api-key"] !== undefined

/** Whether a page of the dashboard sent the request with its session instead of a key. */
export const isByPage = (request: ServedRequest) => request.headers[dashboardHeader] === "1" && !hasKey(request)

/** Who calls `/v1` and `/ofrep`, by one function for each kind of credential. */
export const makeAuthentication = Effect.gen(function* () {
  const gate = yield* ClientGate
  const apiGate = yield* ApiGate

  type Enter = (request: ServedRequest) => Effect.Effect<Caller, ClientError>

  /** An API key, and a JWT if there is one. */
  const byKey: Enter = (request) => gate.enter(request.headers, request)

  /** The session of a page of the dashboard. */
  const byPage: Enter = gate.enterBySession

  /** An API key, as bearer token too, or any session: clients of OFREP can send nothing else. */
  const byKeyOrSession: Enter = (request) => {
    const headers = withBearerKey(request.headers)
    return headers["apikey"] !== undefined || hasKey(request) || !hasSessionCookie(headers["cookie"])
      ? gate.enter(headers, request)
      : Effect.as(apiGate.keyOrSession(request), bySession)
  }

  return { byKey, byPage, byKeyOrSession }
})
