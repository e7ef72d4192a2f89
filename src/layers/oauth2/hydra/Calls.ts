import { Effect, Redacted, type Scope } from "effect"
import { BadGateway, GatewayTimeout } from "../../../domain/errors.ts"
import { isJsonObject } from "../../../domain/text/JsonObject.ts"
import { type OAuth2Address } from "../Address.ts"
import { type Reader } from "./Replies.ts"
import { oneLine } from "../../../domain/oauth2/Text.ts"
import { makeUpstreamWith, type UpstreamAnswer, type UpstreamCall } from "../../net/Upstream.ts"

/** A page of clients or consents contains all of their metadata and keys. */
const limits = { answerBytes: 16 * 1024 * 1024, connections: null }

/** A call of the admin API. */
interface HydraCall {
  readonly method: UpstreamCall["method"]
  /** Below the admin address, with percent-encoded ids. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Disables retries after transient failures. Default: false for GET, true for the others. */
  readonly once?: boolean
  /** ms; default 5,000 for GET, 10,000 for the others. */
  readonly millis?: number
  /** Whether failures are expected, and so not logged. */
  readonly quiet?: boolean
}

/** A response that is not a success. */
export interface HydraRefusal {
  readonly status: number
  /** `error` of the body; "" when the response is not the server's, but a gateway's for example. */
  readonly error: string
  readonly description: string
  /** The URL at which a browser may start again; only with 410. */
  readonly redirectTo: string | null
}

/** Maps a refusal to an error of the caller; undefined: it is the server's fault. */
export type Meaning<E> = (refusal: HydraRefusal) => E | undefined
export const noMeaning: Meaning<never> = () => undefined

/** Failures that callers can't do anything about. */
type HydraError = BadGateway | GatewayTimeout

interface HydraAnswer<A> {
  readonly value: A
  /** Token of the next page; null on the last. */
  readonly next: string | null
}

export interface Hydra {
  /** Returns the response decoded by `read`. */
  readonly call: <A, E>(
    call: HydraCall,
    read: Reader<A>,
    meaning: Meaning<E>
  ) => Effect.Effect<HydraAnswer<A>, HydraError | E>
  /** Ignores the body of a success. */
  readonly send: <E>(call: HydraCall, meaning: Meaning<E>) => Effect.Effect<void, HydraError | E>
}

const unavailable = new BadGateway({
  error: "The OAuth 2.0 server is unavailable",
  code: "OAUTH2_UNAVAILABLE"
})
const late = new GatewayTimeout({ error: "The OAuth 2.0 server did not respond in time", code: "OAUTH2_TIMEOUT" })
const refused = new BadGateway({
  error: "The OAuth 2.0 server rejected the credentials of this service (OAUTH2_ADMIN_TOKEN)",
  code: "OAUTH2_CREDENTIALS_REFUSED"
})

export const makeHydra = ({ adminUrl, token }: OAuth2Address): Effect.Effect<Hydra, never, Scope.Scope> =>
  Effect.map(makeUpstreamWith(limits), (upstream) => {
    const credentials: Readonly<Record<string, string>> =
      token === undefined ? {} : { authorization: `Bearer ${Redacted.value(token)}` }

    /** Cleans foreign text for the log; a gateway may repeat the token. */
    const clean = (text: string) => {
      const known = token === undefined ? text : text.replaceAll(Redacted.value(token), "…")
      return oneLine(known).slice(0, 200)
    }

    /** Logs paths without query and ids: challenges are secrets. */
    const fail = ({ method, path, quiet }: HydraCall, what: string, error: HydraError) => {
      const name = path.replace(/(?<=^\/admin\/clients\/).*/, "…")
      return quiet === true
        ? Effect.fail(error)
        : Effect.andThen(
            Effect.logWarning(`The OAuth 2.0 server failed: ${method} ${name}: ${what}`),
            Effect.fail(error)
          )
    }

    const request = <E>(call: HydraCall, meaning: Meaning<E>): Effect.Effect<UpstreamAnswer, HydraError | E> => {
      const search = new URLSearchParams(call.query).toString()
      const reading = call.method === "GET"
      const response = upstream({
        method: call.method,
        url: `${adminUrl}${call.path}${search === "" ? "" : `?${search}`}`,
        headers: credentials,
        body: call.body,
        millis: call.millis ?? (reading ? 5_000 : 10_000),
        once: call.once ?? !reading
      })
      return Effect.matchEffect(response, {
        onFailure: ({ message, reason }): Effect.Effect<UpstreamAnswer, HydraError | E> =>
          fail(call, `${reason}, ${clean(message)}`, reason === "timeout" ? late : unavailable),
        onSuccess: (answer): Effect.Effect<UpstreamAnswer, HydraError | E> => {
          if (answer.status >= 200 && answer.status < 300) return Effect.succeed(answer)
          const refusal = refusalOf(answer)
          const error = meaning(refusal)
          if (error !== undefined) return Effect.fail(error)
          const what = clean([refusal.status, refusal.error, refusal.description].filter(Boolean).join(" "))
          return fail(call, what, answer.status === 401 || answer.status === 403 ? refused : unavailable)
        }
      })
    }

    return {
      call: (call, read, meaning) =>
        Effect.flatMap(request(call, meaning), (answer) => {
          const value = read(answer.body)
          return value === undefined
            ? fail(call, `${answer.status}, unexpected response body`, unavailable)
            : Effect.succeed({ value, next: nextOf(answer) })
        }),
      send: (call, meaning) => Effect.asVoid(request(call, meaning))
    }
  })

const textOf = (value: unknown) => (typeof value === "string" ? value : "")

const refusalOf = ({ body, status }: UpstreamAnswer): HydraRefusal => {
  const fields = isJsonObject(body) ? body : {}
  const redirectTo = textOf(fields["redirect_to"])
  return {
    status,
    error: textOf(fields["error"]),
    description: textOf(fields["error_description"]),
    redirectTo: /^https?:\/\//i.test(redirectTo) ? redirectTo : null
  }
}

/** The `page_token` of the link with rel="next" (RFC 8288). */
const nextOf = ({ headers }: UpstreamAnswer) => {
  for (const [, target = "", rest = ""] of (headers["link"] ?? "").matchAll(/<([^>]*)>([^<]*)/g)) {
    if (!/;\s*rel="?next"?/i.test(rest) || !URL.canParse(target, "http://_")) continue
    const token = new URL(target, "http://_").searchParams.get("page_token") ?? ""
    if (token !== "") return token
  }
  return null
}
