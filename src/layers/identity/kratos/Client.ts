import { Effect, Redacted, Schema } from "effect"
import { BadGateway, GatewayTimeout, Unauthorized } from "../../../domain/errors.ts"
import { type Credential } from "../../../domain/identity/Identity.ts"
import { type IdPTrouble, type RelayedCookies } from "../../../services/ports/IdP.ts"
import { type IdPAddress } from "../Address.ts"
import { notConfigured } from "../../../services/ports/IdP.ts"
import { makeUpstream, type UpstreamAnswer, type UpstreamCall, type UpstreamFailure } from "../../net/Upstream.ts"

/** Time for a call, in ms: submits hash passwords and send mail. */
const getMillis = 5_000
const submitMillis = 10_000

/** Our name for the idp's own session cookie; the idp must be set to it (docs/configuration.md). */
const sessionCookie = "idp_session"

/** Double submit: the cookie, and its value once more in the body. */
export interface CsrfPair {
  /** `name=value`. */
  readonly cookie: string
  readonly token: string
}

export interface KratosCall {
  readonly method: UpstreamCall["method"]
  /** Begins with a slash; may have a query, which is not logged. */
  readonly path: string
  readonly credential?: Credential
  readonly csrf?: CsrfPair
  readonly body?: Readonly<Record<string, unknown>>
  readonly once?: boolean
}

export interface Kratos {
  /** Any answer, on the public address. 401 without a call when the credential can't be one. */
  readonly ask: (call: KratosCall) => Effect.Effect<UpstreamAnswer, BadGateway | GatewayTimeout | Unauthorized>
  /** Any answer, on the admin address; never takes a credential. */
  readonly admin: (call: Omit<KratosCall, "credential" | "csrf">) => Effect.Effect<UpstreamAnswer, IdPTrouble>
  /** Flows with a submit on its way, by their id. */
  readonly submitting: Set<string>
  /** Where browsers sign in. */
  readonly loginUrl: (parameters: Readonly<Record<string, string>>) => string
}

const unavailable = new BadGateway({ error: "The identity provider failed", code: "IDP_UNAVAILABLE" })
const late = new GatewayTimeout({ error: "The identity provider did not answer in time", code: "IDP_TIMEOUT" })

const notSignedIn = "No session, or it has ended"
export const unauthenticated = () => new Unauthorized({ error: notSignedIn, code: "UNAUTHENTICATED" })

/**
 * Never both: a good token beside an unreadable cookie is a 500 (facts of v26.2.0). Undefined when the value can't be
 * in a header, or would end the cookie early and begin another.
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

/** Method and path without query: what a log may say of a call. */
const nameOf = ({ method, path }: Pick<KratosCall, "method" | "path">) => `${method} ${path.split("?")[0]}`

export const makeKratos = (address: IdPAddress) =>
  Effect.map(makeUpstream, (upstream): Kratos => {
    const told = (call: Pick<KratosCall, "method" | "path">) => (failure: UpstreamFailure) =>
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
        told(call)
      )
    return {
      ask: (call) =>
        Effect.gen(function* () {
          const headers = headersOf(call)
          if (headers === undefined) return yield* unauthenticated()
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

/** An answer that has no meaning for a caller: 502. The log gets Kratos's own reason, of which nothing is repeated. */
export const broken = (call: Pick<KratosCall, "method" | "path">, status: number, reason: string) =>
  Effect.andThen(
    Effect.logWarning(`The identity provider failed: ${nameOf(call)}: ${status} ${oneLine(reason)}`),
    Effect.fail(unavailable)
  )

const oneLine = (text: string) => text.replaceAll(/\p{Cc}+/gu, " ").slice(0, 200)

/** The body of a success; one that is not of the known form is a 502. */
export const decoded =
  <A>(schema: Schema.Decoder<A>) =>
  (call: Pick<KratosCall, "method" | "path">, answer: UpstreamAnswer): Effect.Effect<A, BadGateway> =>
    Effect.catchTag(Schema.decodeUnknownEffect(schema)(answer.body), "SchemaError", () =>
      // The issue would name values.
      broken(call, answer.status, "an answer of another form than expected")
    )

/** The Set-Cookie lines a browser needs: of its session only, and only when that is what it came with. */
export const relayed = (answer: UpstreamAnswer, credential: Credential | undefined): RelayedCookies =>
  credential?._tag === "Token"
    ? []
    : answer.setCookies.filter((line) => line.slice(0, line.indexOf("=")).trim() === sessionCookie)
