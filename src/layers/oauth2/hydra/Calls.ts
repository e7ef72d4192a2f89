import { Effect, Redacted, type Scope } from "effect"
import { BadGateway, GatewayTimeout } from "../../../domain/errors.ts"
import { isJsonObject } from "../../../domain/text/JsonObject.ts"
import { type OAuth2Address } from "../Address.ts"
import { type Reader } from "./Replies.ts"
import { oneLine } from "./Text.ts"
import { makeUpstreamWith, type UpstreamAnswer, type UpstreamCall } from "../../net/Upstream.ts"

/** A page of clients or consents has all of their metadata and keys in it. */
const limits = { answerBytes: 16 * 1024 * 1024, connections: null }

/** A call of the admin side. */
interface HydraCall {
  readonly method: UpstreamCall["method"]
  /** Behind the admin address, its ids percent-encoded. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** False: may be asked again when no answer came. So for GET, true for the others, unless told. */
  readonly once?: boolean
  /** ms; 5,000 for GET, 10,000 for the others unless told. */
  readonly millis?: number
  /** Whether a failure is expected now and then, and no matter for the log. */
  readonly quiet?: boolean
}

/** An answer that is no success, in the server's words. */
export interface HydraRefusal {
  readonly status: number
  /** `error` of the body; "" when the body is not the server's: a gateway, or something else at that address. */
  readonly error: string
  readonly description: string
  /** Where a browser may begin again; of 410 only. */
  readonly redirectTo: string | null
}

/** What a refusal means to a caller; undefined: nothing, the server is to blame. */
export type Meaning<E> = (refusal: HydraRefusal) => E | undefined
export const noMeaning: Meaning<never> = () => undefined

/** Nothing a caller could do about it. */
type HydraTrouble = BadGateway | GatewayTimeout

interface HydraAnswer<A> {
  readonly value: A
  /** Token of the next page; null on the last. */
  readonly next: string | null
}

export interface Hydra {
  /** The answer as `read` makes it. */
  readonly call: <A, E>(
    call: HydraCall,
    read: Reader<A>,
    meaning: Meaning<E>
  ) => Effect.Effect<HydraAnswer<A>, HydraTrouble | E>
  /** Of the answer only whether it is a success. */
  readonly tell: <E>(call: HydraCall, meaning: Meaning<E>) => Effect.Effect<void, HydraTrouble | E>
}

const unavailable = new BadGateway({
  error: "The OAuth 2.0 server failed or does not answer",
  code: "OAUTH2_UNAVAILABLE"
})
const late = new GatewayTimeout({ error: "The OAuth 2.0 server did not answer in time", code: "OAUTH2_TIMEOUT" })
const refused = new BadGateway({
  error: "The OAuth 2.0 server refuses the credentials of this service",
  code: "OAUTH2_CREDENTIALS_REFUSED"
})

export const makeHydra = ({ adminUrl, token }: OAuth2Address): Effect.Effect<Hydra, never, Scope.Scope> =>
  Effect.map(makeUpstreamWith(limits), (upstream) => {
    const credentials: Readonly<Record<string, string>> =
      token === undefined ? {} : { authorization: `Bearer ${Redacted.value(token)}` }

    /** What comes from outside, for the log; a gateway may repeat what it was sent. */
    const clean = (text: string) => {
      const known = token === undefined ? text : text.replaceAll(Redacted.value(token), "…")
      return oneLine(known).slice(0, 200)
    }

    /** Paths are logged without query and ids: challenges are as good as passwords. */
    const blame = ({ method, path, quiet }: HydraCall, what: string, error: HydraTrouble) => {
      const name = path.replace(/(?<=^\/admin\/clients\/).*/, "…")
      return quiet === true
        ? Effect.fail(error)
        : Effect.andThen(
            Effect.logWarning(`The OAuth 2.0 server failed: ${method} ${name}: ${what}`),
            Effect.fail(error)
          )
    }

    const send = <E>(call: HydraCall, meaning: Meaning<E>): Effect.Effect<UpstreamAnswer, HydraTrouble | E> => {
      const search = new URLSearchParams(call.query).toString()
      const reading = call.method === "GET"
      const asked = upstream({
        method: call.method,
        url: `${adminUrl}${call.path}${search === "" ? "" : `?${search}`}`,
        headers: credentials,
        body: call.body,
        millis: call.millis ?? (reading ? 5_000 : 10_000),
        once: call.once ?? !reading
      })
      return Effect.matchEffect(asked, {
        onFailure: ({ message, reason }): Effect.Effect<UpstreamAnswer, HydraTrouble | E> =>
          blame(call, `${reason}, ${clean(message)}`, reason === "timeout" ? late : unavailable),
        onSuccess: (answer): Effect.Effect<UpstreamAnswer, HydraTrouble | E> => {
          if (answer.status >= 200 && answer.status < 300) return Effect.succeed(answer)
          const refusal = refusalOf(answer)
          const meant = meaning(refusal)
          if (meant !== undefined) return Effect.fail(meant)
          const what = clean([refusal.status, refusal.error, refusal.description].filter(Boolean).join(" "))
          return blame(call, what, answer.status === 401 || answer.status === 403 ? refused : unavailable)
        }
      })
    }

    return {
      call: (call, read, meaning) =>
        Effect.flatMap(send(call, meaning), (answer) => {
          const value = read(answer.body)
          return value === undefined
            ? blame(call, `${answer.status} with an answer of another form than expected`, unavailable)
            : Effect.succeed({ value, next: nextOf(answer) })
        }),
      tell: (call, meaning) => Effect.asVoid(send(call, meaning))
    }
  })

const textOf = (value: unknown) => (typeof value === "string" ? value : "")

const refusalOf = ({ body, status }: UpstreamAnswer): HydraRefusal => {
  const said = isJsonObject(body) ? body : {}
  const redirectTo = textOf(said["redirect_to"])
  return {
    status,
    error: textOf(said["error"]),
    description: textOf(said["error_description"]),
    redirectTo: /^https?:\/\//i.test(redirectTo) ? redirectTo : null
  }
}

/** `page_token` of the link with rel="next" (RFC 8288). */
const nextOf = ({ headers }: UpstreamAnswer) => {
  for (const [, target = "", rest = ""] of (headers["link"] ?? "").matchAll(/<([^>]*)>([^<]*)/g)) {
    if (!/;\s*rel="?next"?/i.test(rest) || !URL.canParse(target, "http://_")) continue
    const token = new URL(target, "http://_").searchParams.get("page_token") ?? ""
    if (token !== "") return token
  }
  return null
}
