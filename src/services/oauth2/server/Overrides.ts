import { timingSafeEqual } from "node:crypto"
import type { Client, OIDCContext, Provider, UnknownObject } from "oidc-provider"
import { tokenHashOf } from "./Store.ts"

/** Behaviour that the library's configuration can't express. Its classes are public, and each provider has its own. */
export const overrideClasses = ({ Claims, Client, OIDCContext }: Provider) => {
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
}
