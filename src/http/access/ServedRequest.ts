import { Context } from "effect"
import { type HttpServerRequest } from "effect/http"
import { type Author } from "../../domain/Author.ts"
import { accountOf } from "../../domain/identity/Identity.ts"
import { type LiveKey } from "../../services/access/Keys.ts"
import { type Session } from "../../services/identity/Sessions.ts"
import { type Headers } from "../wire/Headers.ts"
import { type Caller } from "./Caller.ts"

/**
 * The credential that admitted a request: an API key (sent, or of the dashboard's session), or a session of the
 * identity provider.
 */
export type KeyOrSession =
  | { readonly _tag: "Key"; readonly key: LiveKey }
  | { readonly _tag: "Session"; readonly session: Session }

/** The author for histories. */
export const authorOf = (credential: KeyOrSession): Author => {
  if (credential._tag === "Key") return { type: "key", id: credential.key.id, label: credential.key.label }
  const { identity } = credential.session
  return { type: "identity", id: identity.id, label: accountOf(identity) }
}

/** What a gate finds out about a request, whether it admits it or not. */
export interface Admission {
  /** The client's address; see `clientAddress`. */
  readonly address: string
  credential: KeyOrSession | undefined
  /** The values of the rate limit headers; -1 for unlimited and for unknown callers. */
  limit: number
  remaining: number
  /** Seconds after which a refused caller may retry; 0 when it was not refused. */
  reset: number
}

export const newAdmission = (address: string): Admission => ({
  address,
  credential: undefined,
  limit: -1,
  remaining: -1,
  reset: 0
})

/** A request while it is served: Front makes it, the gates add the caller, the audit and the request log read it. */
export interface ServedRequest extends Admission {
  readonly id: string
  readonly http: HttpServerRequest.HttpServerRequest
  readonly headers: Headers
  /** The path as the client sent it, and that of the route, where paths of another API lead to it. Neither has the query. */
  readonly sentPath: string
  readonly path: string
  /** The time in ms since 1970, and in ns of a clock that is never adjusted. */
  readonly at: number
  readonly begun: bigint
  /** Set before the route runs on `/v1` and `/ofrep`. */
  caller: Caller | undefined
}

/** The request that is being served. Front provides it to every route. */
export const CurrentRequest = Context.Reference<ServedRequest>("svc/http/CurrentRequest", {
  defaultValue: () => {
    throw new Error("No request is being served here")
  }
})

/** The client by which large requests and responses are counted. */
export const payerOf = ({ address, caller }: Pick<ServedRequest, "address" | "caller">) =>
  caller?.actor.client ?? address
