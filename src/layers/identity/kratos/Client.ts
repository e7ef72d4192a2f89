import { Effect, Redacted, Schema } from "effect"
import { BadGateway, GatewayTimeout, Unauthorized } from "../../../domain/errors.ts"
import { type Credential } from "../../../domain/identity/Identity.ts"
import { type IdPError, type RelayedCookies, notConfigured } from "../../../services/ports/IdP.ts"
import { type IdPAddress } from "../Address.ts"
import { makeUpstream, type UpstreamAnswer, type UpstreamCall, type UpstreamFailure } from "../../net/Upstream.ts"

/** Time limits of calls, in ms: submits hash passwords and send e-mail. */
const getMillis = 5_000
const submitMillis = 10_000

/** The name of the identity provider's session cookie, which must be configured there (docs/configuration.md). */
const sessionCookie = "idp_session"

/** Double-submit CSRF protection: the cookie, and the token for the body. */
export interface CsrfPair {
  /** `name=value`. */
  readonly cookie: string
  readonly token: string
}

export interface KratosCall {
  readonly method: UpstreamCall["method"]
  /** Starts with a slash; may have a query, which is not logged. */
  readonly path: string
  readonly credential?: Credential
  readonly csrf?: CsrfPair
  readonly body?: Readonly<Record<string, unknown>>
  readonly once?: boolean
}

export interface Kratos {
  /** Calls the public address and returns a response of any status. 401 without a call when the credential is malformed. */
  readonly call: (call: KratosCall) => Effect.Effect<UpstreamAnswer, BadGateway | GatewayTimeout | Unauthorized>
  /** Calls the admin address, without a credential. */
  readonly admin: (call: Omit<KratosCall, "credential" | "csrf">) => Effect.Effect<UpstreamAnswer, IdPError>
  /** Ids of the flows that are being submitted. */
  readonly submitting: Set<string>
  /** The URL where browsers sign in. */
  readonly loginUrl: (parameters: Readonly<Record<string, string>>) => string
}

const unavailable = new BadGateway({ error: "The identity provider is unavailable", code: "IDP_UNAVAILABLE" })
const late = new GatewayTimeout({ error: "The identity provider did not respond in time", code: "IDP_TIMEOUT" })

export const kratosUnauthenticated = () =>
  new Unauthorized({ error: "There is no session, or it has ended", code: "UNAUTHENTICATED" })

/**
 * Never sends both: a valid token with an unreadable cookie is a 500 (v26.2.0). Undefined when the value can't be in a
 * header, or would end the cookie and start another.
 */
const headersOf = ({ credential, csrf }: KratosCall): Readonly<Record<string, string>> | undefined => {
  const cookies = csrf === undefined ? [] : [csrf.cookie]
  if (credential === undefined) return cookies.length === 0 ? {} : { cookie: cookies.join("; ") }
  const value = Redacted.value(credential.value)
  if (!/^[\x21-\x3a\x3c-\x7e]{1,4096}$/.test(value)) return undefined
  if (credential._tag === "Cookie") cookies.unshift(`${sessionCookie}=${value}`)
  return {
    ...(cookies.length === 0 ? {} : { cookie: cookies.join("; ") }),
    ...(credential._tag === "Token" ? { "x-session-token": value } : {})
  }
}

/** Method and path without query, for the log. */
const nameOf = ({ method, path }: Pick<KratosCall, "method" | "path">) => `${method} ${path.split("?")[0]}`

export const makeKratos = (address: IdPAddress) =>
  Effect.map(makeUpstream, (upstream): Kratos => {
    const failed = (call: Pick<KratosCall, "method" | "path">) => (failure: UpstreamFailure) =>
      Effect.andThen(
        Effect.logWarning(`The identity provider failed: ${nameOf(call)}: ${failure.reason}, ${failure.message}`),
        Effect.fail(failure.reason === "timeout" ? late : unavailable)
      )
    const send = (base: string, call: KratosCall, headers: Readonly<Record<string, string>>) =>
      Effect.catch(
        upstream({
          method: call.method,
          url: `${base}${call.path}`,
          headers,
          body: call.body,
          millis: call.method === "GET" ? getMillis : submitMillis,
          once: call.once ?? call.method !== "GET"
        }),
        failed(call)
      )
    return {
      call: (call) =>
        Effect.gen(function* () {
          const headers = headersOf(call)
          if (headers === undefined) return yield* kratosUnauthenticated()
          return yield* send(address.publicUrl, call, headers)
        }),
      admin: (call) =>
        address.adminUrl === undefined ? Effect.fail(notConfigured("IDP_ADMIN_URL")) : send(address.adminUrl, call, {}),
      submitting: new Set(),
      loginUrl: (parameters) => {
        const query = new URLSearchParams(parameters).toString()
        return `${address.publicUrl}/self-service/login/browser${query === "" ? "" : `?${query}`}`
      }
    }
  })

/** A response that callers can't act on: 502. Kratos's reason is logged, but not returned. */
export const broken = (call: Pick<KratosCall, "method" | "path">, status: number, reason: string) =>
  Effect.andThen(
    Effect.logWarning(`The identity provider failed: ${nameOf(call)}: ${status} ${oneLine(reason)}`),
    Effect.fail(unavailable)
  )

const oneLine = (text: string) => text.replaceAll(/\p{Cc}+/gu, " ").slice(0, 200)

/** Decodes the body of a success; a body of another form is a 502. */
export const decoded =
  <A>(schema: Schema.Decoder<A>) =>
  (call: Pick<KratosCall, "method" | "path">, answer: UpstreamAnswer): Effect.Effect<A, BadGateway> =>
    Effect.catchTag(Schema.decodeUnknownEffect(schema)(answer.body), "SchemaError", () =>
      // The issue would contain values.
      broken(call, answer.status, "unexpected response body")
    )

/** The Set-Cookie lines for the browser: of the session cookie only, and only if it does not use a token. */
export const relayed = (answer: UpstreamAnswer, credential: Credential | undefined): RelayedCookies =>
  credential?._tag === "Token"
    ? []
    : answer.setCookies.filter((line) => line.slice(0, line.indexOf("=")).trim() === sessionCookie)
