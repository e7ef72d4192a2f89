import { Effect, Schema } from "effect"
import { HttpEffect, type HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { looksLikeKey } from "../../../domain/access/ApiKey.ts"
import { type ClientError, InvalidRequest } from "../../../domain/errors.ts"
import { badJwt, validationFailed, noBearer, notAdmin } from "../../../domain/supabase/AuthErrors.ts"
import { redirectOf } from "../../../domain/supabase/Redirects.ts"
import { type JsonObject } from "../../../domain/text/JsonObject.ts"
import { JsonObjectSchema } from "../../../domain/text/JsonObjectSchema.ts"
import { CurrentLanguage } from "../../../services/identity/CurrentLanguage.ts"
import { IdentitySettings } from "../../../services/identity/Settings.ts"
import { CurrentDevice } from "../../../services/ports/identity/Accounts.ts"
import {
  type AuthCalls,
  type Challenge,
  type CurrentSession,
  SupabaseAuth
} from "../../../services/ports/supabase/AuthCalls.ts"
import { SupabaseSettings } from "../../../services/supabase/Settings.ts"
import { deviceOf } from "../../access/BrowserRequests.ts"
import { noGate } from "../../access/Caller.ts"
import { apiKeyOf, bearerOf } from "../../access/Credentials.ts"
import { headersOf } from "../../wire/Headers.ts"
import { languageOfRequest } from "../../access/PageLanguage.ts"
import { type AuditedEndpoint, keyActorOf, ManagementAudit } from "../../access/ManagementAudit.ts"
import { CurrentRequest } from "../../access/ServedRequest.ts"
import { issueLines } from "../../wire/RequestErrors.ts"
import { bodyBytes, bodyLimit, utf8, withinBounds } from "../../wire/Body.ts"
import { queryOf } from "../../wire/Paths.ts"
import { SupabaseGate } from "../Gate.ts"

export type AuthResponse = HttpServerResponse.HttpServerResponse

/** A call of the sign-in API. */
export interface Call {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly calls: AuthCalls
  readonly query: URLSearchParams
  /** The redirect URL that the client requests, if it is allowed; otherwise the site. */
  readonly redirectTo: string
  /** The session of the bearer token. */
  readonly session: Effect.Effect<CurrentSession, ClientError>
}

/** The callers that a call admits: every browser, every client with a key, or service_role keys alone. */
type Admits = "everybody" | "key" | "admin"
type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
/** A write by service_role keys, with its name in the audit. */
interface Recorded {
  readonly admin: string
}

const noStore = HttpEffect.appendPreResponseHandler((_request, response) =>
  Effect.succeed(HttpServerResponse.setHeader(response, "cache-control", "no-store"))
)

/** Adds routes of `/auth/v1`, if it is served. */
export const makeAuthRoutes = Effect.fnUntraced(function* (router: HttpRouter.HttpRouter) {
  const { auth, enabled } = yield* SupabaseSettings
  const port = yield* SupabaseAuth
  const gate = yield* SupabaseGate
  const audit = yield* ManagementAudit
  const identity = yield* IdentitySettings

  /** Admits a request by its key; the call itself checks the bearer token. */
  const admit = Effect.fnUntraced(function* (admits: Admits) {
    if (admits === "everybody") return
    const request = yield* CurrentRequest
    const { headers } = request
    const key = yield* apiKeyOf(headers)
    const bearer = bearerOf(headers)
    const shown =
      admits === "admin"
        ? headers
        : key !== ""
          ? { apikey: key }
          : bearer !== undefined && looksLikeKey(bearer)
            ? { authorization: `Bearer ${bearer}` }
            : {}
    return (yield* gate.enter(shown, request)).actor.role
  })

  /** Runs a call of admins, which the audit records if it is a write. */
  const administered = <E extends ClientError, R>(
    { request }: Call,
    role: string | undefined,
    place: AuditedEndpoint,
    work: Effect.Effect<AuthResponse, E, R>
  ) =>
    role === "service_role"
      ? Effect.flatMap(CurrentRequest, (served) => audit.around(work, place, keyActorOf(served)))
      : Effect.tapError(notAdminOf(request), (error) => audit.refused(place, error))

  const on = <M extends Method, E extends ClientError, R>(
    method: M,
    path: `/${string}`,
    given: (Admits & (M extends "GET" ? Admits : Exclude<Admits, "admin">)) | Recorded,
    use: (call: Call) => Effect.Effect<AuthResponse, E, R>
  ) => {
    const admits: Admits = typeof given === "object" ? "admin" : given
    const identifier = typeof given === "object" ? given.admin : "read"
    const place: AuditedEndpoint = { endpoint: { identifier, method }, group: { identifier: "supabaseUsers" } }
    return enabled
      ? router.add(
          method,
          `/auth/v1${path}`,
          Effect.gen(function* () {
            const request = yield* HttpServerRequest.HttpServerRequest
            if (!request.url.startsWith("/auth/v1/")) return yield* noGate
            yield* noStore
            const role = yield* admit(admits)
            const query = new URLSearchParams(queryOf(request.url))
            const calls = yield* port.calls
            const session = Effect.suspend(() => {
              const bearer = bearerOf(headersOf(request))
              if (bearer === undefined) return Effect.fail(noBearer)
              return looksLikeKey(bearer) ? Effect.fail(badJwt) : calls.authenticate(bearer)
            })
            const redirectTo = redirectOf(query.get("redirect_to"), auth.site, auth.redirects)
            const call: Call = { request, calls, query, redirectTo, session }
            const work = Effect.provideService(use(call), CurrentLanguage, languageOfRequest(request))
            return yield* admits === "admin"
              ? administered(call, role, place, work)
              : Effect.provideService(work, CurrentDevice, deviceOf(request, identity))
          })
        )
      : Effect.void
  }

  return { on, settings: auth, identity, enabled }
})

const notAdminOf = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.fail(bearerOf(headersOf(request)) === undefined ? noBearer : notAdmin)

const broken = new InvalidRequest({ error: "Could not read request body", code: "bad_json" })

/** The JSON body; unknown fields are ignored. */
export const bodyOf = <S extends Schema.Decoder<unknown>>(schema: S) => {
  const decode = Schema.decodeUnknownEffect(schema)
  return Effect.fnUntraced(function* ({ request }: Call): Effect.fn.Return<S["Type"], ClientError> {
    const bytes = yield* Effect.flatMap(bodyBytes(request, bodyLimit), utf8).pipe(
      Effect.flatMap(withinBounds),
      Effect.catchTag("HttpServerError", () => Effect.fail(broken))
    )
    const value = yield* Effect.try({
      try: (): unknown => (bytes.length === 0 ? {} : JSON.parse(bytes.toString("utf8"))),
      catch: () => broken
    })
    return yield* Effect.mapError(decode(value, { onExcessProperty: "ignore" }), (error) =>
      validationFailed(issueLines(error.issue).join("; "))
    )
  })
}

export const maybe = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** Fields of bodies. Clients send null for what they leave out. */
export const shortText = maybe(Schema.String.check(Schema.isMaxLength(4096)))
/** Tokens of other services, which may have many claims. */
export const token = maybe(Schema.String.check(Schema.isMaxLength(16_384)))
export const bool = maybe(Schema.Boolean)
export const object = maybe(JsonObjectSchema)
export const pkce = { code_challenge: shortText, code_challenge_method: shortText }

/** The challenge of a client that uses PKCE. */
export const challengeOf = (given: {
  readonly code_challenge?: string | null
  readonly code_challenge_method?: string | null
}): Effect.Effect<Challenge | undefined, InvalidRequest> => {
  const { code_challenge: value, code_challenge_method: name } = given
  if (value == null || value === "") return Effect.undefined
  const method = (name ?? "plain").toLowerCase()
  if (!/^[\w.~-]{43,128}$/.test(value) || (method !== "s256" && method !== "plain")) {
    return Effect.fail(
      validationFailed("code_challenge must have 43 to 128 characters, and code_challenge_method be s256 or plain")
    )
  }
  return Effect.succeed({ value, method })
}

export const json = (value: object, headers?: Record<string, string>): AuthResponse =>
  HttpServerResponse.jsonUnsafe(value, headers === undefined ? {} : { headers })
export const empty: AuthResponse = json({})

export const present = (value: string | null | undefined) => (value == null || value === "" ? undefined : value)
export const objectOr = (value: JsonObject | null | undefined): JsonObject => value ?? {}
