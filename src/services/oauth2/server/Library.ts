import { timingSafeEqual } from "node:crypto"
import { type IncomingMessage, type ServerResponse } from "node:http"
import { Effect } from "effect"
import { decodeProtectedHeader } from "jose"
import type { Client, OIDCContext, Provider, UnknownObject } from "oidc-provider"
import { Unavailable } from "../../../domain/errors.ts"
import { tokenHashOf } from "./Store.ts"

/** Behaviour that the library's configuration can't express. Its classes are public, and each provider has its own. */
export const overrideClasses = ({ Claims, Client, IdToken, OIDCContext }: Provider) => {
  // The consent already determined its claims; the library would remove all but standard ones.
  Object.defineProperty(Claims.prototype, "result", {
    value: function (this: { readonly available: UnknownObject }) {
      return Promise.resolve(
        Object.fromEntries(Object.entries(this.available).filter(([, value]) => value !== undefined))
      )
    }
  })
  // Clients have scopes of their own in addition to those of OpenID Connect (checked in Policy.ts).
  Object.defineProperty(OIDCContext.prototype, "requestParamOIDCScopes", {
    get(this: OIDCContext) {
      return this.requestParamScopes
    }
  })
  Object.defineProperty(Client.prototype, "compareClientSecret", {
    value: function (this: Client, given: string) {
      const [a, b] = [Buffer.from(tokenHashOf(given)), Buffer.from(this.clientSecret ?? "")]
      return a.length === b.length && timingSafeEqual(a, b)
    }
  })
  // Tokens of other kinds have the same issuer, audience and key, such as those that notify of a sign-out (RFC 8725 3.12).
  const { validate } = IdToken
  Object.defineProperty(IdToken, "validate", {
    value: async (token: string, client: Client) => {
      if (decodeProtectedHeader(token).typ !== undefined) throw new TypeError("not an ID token")
      return validate.call(IdToken, token, client)
    }
  })
}

/** npm oidc-provider, configured. */
export interface Loaded {
  readonly provider: Provider
  /** Answers a request. Rejects with what the library answers with a status of 500. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>
}

/** The library is loaded when it is first needed: most starts of the service don't need it. */
export type Library = Effect.Effect<Loaded, Unavailable>

/** An error of the library that is its caller's fault. */
interface Refusal extends Error {
  readonly error: string
  readonly error_description?: string
}
const isRefusal = (error: unknown): error is Refusal =>
  error instanceof Error && "error" in error && "expose" in error && error.expose === true

/** Calls the library. An unreachable database fails as everywhere; `refused` maps refusals, all else is a defect. */
export const libraryCall = <A, E = never>(
  call: () => Promise<A>,
  { refused }: { readonly refused?: (refusal: Refusal) => E } = {}
): Effect.Effect<A, E | Unavailable> =>
  Effect.catch(
    Effect.tryPromise({ try: call, catch: (error) => ({ error }) }),
    ({ error }): Effect.Effect<never, E | Unavailable> => {
      if (error instanceof Unavailable) return Effect.fail(error)
      return refused !== undefined && isRefusal(error) ? Effect.fail(refused(error)) : Effect.die(error)
    }
  )
