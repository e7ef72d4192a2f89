import { Cause, Context, Effect, Exit, Tracer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomUUID } from "node:crypto"
import { IncomingMessage } from "node:http"
import { type ClientError, InvalidRequest, PayloadTooLarge } from "../../domain/errors.ts"
import { url } from "../../domain/Settings.ts"
import { type Caller, CurrentCaller } from "../access/Caller.ts"
import { clientAddress } from "../access/ClientAddress.ts"
import { withBearerKey } from "../access/Credentials.ts"
import { type Headers, headersOf } from "../wire/Headers.ts"
import { identify } from "../access/Admitted.ts"
import { ApiGate } from "../access/ApiGate.ts"
import { dashboardHeader } from "../access/Origins.ts"
import { hasSessionCookie } from "../access/cookies/SessionCookies.ts"
import { ClientGate } from "../access/ClientGate.ts"
import { type Quota } from "../access/KeyLimits.ts"
import { AnswerBudget, largeAnswer } from "../../services/access/AnswerBudget.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { Turns } from "../../services/access/Turns.ts"
import { SupabaseSettings } from "../../services/supabase/Settings.ts"
import { notServed, shaped } from "../supabase/Errors.ts"
import { SupabaseGate } from "../supabase/Gate.ts"
import { rowsUrl, type SupabaseApi, supabaseApiOf } from "../supabase/Prefix.ts"
import { withHeaders } from "../wire/OwnedResponse.ts"
import { corsHeaders, preflight, supabaseCorsHeaders, varyOf } from "./Cors.ts"
import {
  bearer,
  completed,
  errorResponse,
  frameworkFailure,
  hasChosenStatus,
  isOAuthError,
  knownFailure,
  withErrorDetails
} from "../wire/ErrorBodies.ts"
import { makeFailureLog } from "./FailureLog.ts"
import { makeMcpChallenge } from "../mcp/Challenge.ts"
import { noRoute } from "./NoRoute.ts"
import { makeRequestRecord } from "./RequestRecord.ts"
import { inTurnIfLarge } from "./LargeBodies.ts"

type Response = HttpServerResponse.HttpServerResponse

/** Maximum length of a URL in characters; longer ones are 414. */
const maxUrlLength = 16 * 1024

const bySession: Caller = { keyType: "anon", actor: { role: "authenticated", claims: "", sub: "" } }

const pathOf = (url: string) => {
  const query = url.indexOf("?")
  return query < 0 ? url : url.slice(0, query)
}

/** The caller's own request id is kept if it is safe in a log line. */
const requestIdOf = (given: string | undefined) =>
  given !== undefined && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID()

/**
 * Middleware around every request, including those the framework rejects: request id, URL length, CORS, the
 * authentication of `/v1` and `/ofrep`, and the body of every error response.
 *
 * `methodsOf` returns the methods of a path, so that another method is 405 and not 404.
 */
export const Front = (methodsOf: (path: string) => ReadonlyArray<string>) =>
  HttpRouter.middleware(
    Effect.gen(function* () {
      const gate = yield* ClientGate
      const apiGate = yield* ApiGate
      const supabase = yield* SupabaseGate
      const { enabled } = yield* SupabaseSettings
      const turns = yield* Turns
      const memory = yield* AnswerBudget
      const settings = yield* IdentitySettings
      const mcpChallenge = yield* makeMcpChallenge
      const log = makeFailureLog()
      const record = yield* makeRequestRecord
      const dashboard = (yield* url("DASHBOARD_URL"))?.origin

      /** Sessions may evaluate flags too. */
      const enterRemote = (request: HttpServerRequest.HttpServerRequest, address: string, quota: Quota) => {
        const headers = withBearerKey(headersOf(request))
        return headers["apikey"] !== undefined ||
          headers["x-api-key"] !== undefined ||
          !hasSessionCookie(headers["cookie"])
          ? gate.enter(headers, address, quota)
          : Effect.as(apiGate.keyOrSession(request), bySession)
      }

      const failed = (
        cause: Cause.Cause<unknown>,
        method: string,
        path: string,
        requestId: string
      ): Effect.Effect<Response> => {
        const known = knownFailure(cause)
        if (known !== undefined) {
          const response = errorResponse(known, requestId)
          const ofDatabase = known._tag === "DatabaseError"
          return Effect.as(log({ id: requestId, method, path, response, ofDatabase }), response)
        }
        const framework = frameworkFailure(cause)
        if (framework === "route") return Effect.succeed(noRoute(methodsOf(path), method, path, requestId))
        if (framework !== undefined) {
          const error: ClientError =
            framework === "size"
              ? new PayloadTooLarge({ error: "The body is too large" })
              : new InvalidRequest({ error: "The request is malformed" })
          return Effect.succeed(errorResponse(error, requestId))
        }
        return Effect.as(
          Effect.logError(`Request ${requestId} failed: ${method} ${path}`, cause).pipe(
            Effect.annotateLogs({ request_id: requestId })
          ),
          completed(HttpServerResponse.empty({ status: 500 }), requestId)
        )
      }

      return (app: Effect.Effect<Response, unknown, HttpServerRequest.HttpServerRequest>) =>
        Effect.withFiber((fiber) => {
          const asked = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
          const askedPath = pathOf(asked.url)
          const api = enabled && !askedPath.startsWith("/v1/") ? supabaseApiOf(askedPath) : undefined
          const rest = api === "rest"
          // The routes of /v1/db serve /rest/v1 too.
          const request = rest ? asked.modify({ url: rowsUrl(asked.url) }) : asked
          const path = rest ? rowsUrl(askedPath) : askedPath
          const given = headersOf(request)
          const requestId = requestIdOf(given["x-request-id"])
          const span = Context.getOrUndefined(fiber.context, Tracer.ParentSpan)
          if (span?._tag === "Span") span.attribute("request_id", requestId)
          const address = clientAddress(request, settings)
          const arrival = record.arrived(asked, askedPath, requestId, address)
          const cors =
            api === undefined ? corsHeaders(path, given["origin"], dashboard) : supabaseCorsHeaders(given["origin"])
          const remote = path.startsWith("/ofrep/")
          const client = remote || path === "/v1" || path.startsWith("/v1/")
          const quota: Quota = { limit: -1, remaining: -1, reset: 0, key: undefined }
          let owner = address
          const byPage = client && !rest && isByPage(given)
          if (!client || byPage) identify(request, requestId)
          const enter = () => {
            if (rest) return supabase.enter(given, address, quota)
            if (remote) return enterRemote(request, address, quota)
            return byPage ? gate.enterBySession(request, address, quota) : gate.enter(given, address, quota)
          }
          const run = client
            ? Effect.flatMapEager(enter(), (caller) => {
                owner = caller.actor.client ?? address
                arrival.caller = caller
                const known = Effect.provideService(app, CurrentCaller, caller)
                return inTurnIfLarge(turns, owner, request, rest ? served(known, request) : known)
              })
            : streams(api)
              ? app
              : inTurnIfLarge(turns, address, request, app)
          const headers = (response: Response) => {
            if ((contentLengthOf(response) ?? 0) >= largeAnswer && request.source instanceof IncomingMessage) {
              memory.belongs(request.source, owner)
            }
            const added: Record<string, string> = {
              "x-request-id": requestId,
              "x-content-type-options": "nosniff",
              vary: varyOf(path, response.headers["vary"]),
              ...cors
            }
            if (response.status === 401 && !isOAuthError(response)) {
              const challenge = response.headers["www-authenticate"] ?? bearer
              added["www-authenticate"] = path === "/mcp" ? mcpChallenge(challenge) : challenge
            }
            if (client) {
              addQuota(added, quota)
              // Functions choose the media type of their answers, and a page of theirs would be one of this origin.
              if (response.headers["content-type"]?.startsWith("application/json") !== true) {
                added["content-security-policy"] = "sandbox; default-src 'none'"
              }
            }
            // Caches ignore this header, and the next request may come without it.
            if (byPage) added["cache-control"] = "no-store"
            record.ended(arrival, response, quota.key)
            return withHeaders(response, added)
          }

          const preflighted = preflight(request, path, cors)
          if (preflighted !== undefined) return Effect.succeed(headers(preflighted))
          if (lacksHost(request)) return Effect.succeed(headers(noHost(requestId)))
          if (request.url.length > maxUrlLength) return Effect.succeed(headers(urlTooLong(requestId)))
          return Effect.matchCauseEffect(run, {
            onSuccess: (given) => {
              if (given.status < 400 || remote || hasChosenStatus(given)) return Effect.succeed(headers(given))
              const response = completed(given, requestId)
              const { method } = request
              return Effect.as(
                log({ id: requestId, method, path, response, ofDatabase: false }),
                headers(api === undefined ? response : shaped(api, response, method))
              )
            },
            onFailure: (cause) => {
              if (Exit.hasInterrupts(Exit.failCause(cause))) {
                record.ended(arrival, undefined, quota.key)
                return Effect.failCause(cause)
              }
              if (api !== undefined) {
                const refused = !rest && frameworkFailure(cause) === "route" ? Cause.fail(notServed(api, path)) : cause
                return Effect.map(failed(refused, request.method, path, requestId), (response) =>
                  headers(shaped(api, response, request.method))
                )
              }
              return Effect.map(failed(cause, request.method, path, requestId), (response) =>
                headers(remote ? withErrorDetails(response) : response)
              )
            }
          })
        })
    }),
    { global: true }
  )

/** Whether a page of the dashboard sent the request with its session instead of a key. */
const isByPage = (headers: Headers) =>
  headers[dashboardHeader] === "1" && headers["apikey"] === undefined && headers["x-api-key"] === undefined

/** Whether bodies are passed on as they arrive, and so take no memory. */
const streams = (api: SupabaseApi | undefined) => api === "functions" || api === "storage"

/** Serves a request other than the one that arrived. */
const served = <A, E, R>(app: Effect.Effect<A, E, R>, request: HttpServerRequest.HttpServerRequest) =>
  Effect.provideService(app, HttpServerRequest.HttpServerRequest, request)

const contentLengthOf = ({ body }: Response) => ("contentLength" in body ? body.contentLength : undefined)

const addQuota = (headers: Record<string, string>, quota: Quota) => {
  headers["x-ratelimit-limit"] = String(quota.limit)
  headers["x-ratelimit-remaining"] = String(quota.remaining)
  if (quota.reset > 0) headers["x-ratelimit-reset"] = String(quota.reset)
}

/** RFC 9112 3.2: HTTP/1.1 requires a Host header. */
const lacksHost = (request: HttpServerRequest.HttpServerRequest) =>
  headersOf(request)["host"] === undefined && (request.source as Partial<IncomingMessage>).httpVersion === "1.1"

const noHost = (requestId: string) =>
  errorResponse(new InvalidRequest({ error: "The request has no Host header", code: "INVALID_HTTP" }), requestId)

const urlTooLong = (requestId: string) =>
  HttpServerResponse.setStatus(
    errorResponse(
      new InvalidRequest({ error: `The URL exceeds ${maxUrlLength} characters`, code: "URI_TOO_LONG" }),
      requestId
    ),
    414
  )
