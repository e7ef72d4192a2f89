import { Clock, Context, Effect, Layer } from "effect"
import { type Forbidden, type Unavailable } from "../../domain/errors.ts"
import { accountOf, type Browser } from "../../domain/identity/Identity.ts"
import { sessionTokenType, TokenSettings } from "../access/Tokens.ts"
import { type SessionError } from "../ports/IdP.ts"
import { OwnSigningKeys } from "../access/OwnSigningKeys.ts"
import { type JsonObject } from "../../domain/text/JsonObject.ts"
import { AuthHooks, hookErrorsOfPages } from "./accounts/hooks/AuthHooks.ts"
import { Sessions } from "./Sessions.ts"

/** How long a token is valid, in s. A session that has ended is still good for as long. */
const lifeSeconds = 600

/** JWTs for `/v1`, each from a session, of whichever identity provider. */
export class SessionTokens extends Context.Service<
  SessionTokens,
  {
    /** Fails like `Sessions.current`: a session that needs a second factor gets no token. */
    readonly issue: (
      browser: Browser
    ) => Effect.Effect<{ readonly token: string; readonly expiresIn: number }, SessionError | Forbidden | Unavailable>
  }
>()("svc/services/SessionTokens") {
  static readonly layer = Layer.effect(
    SessionTokens,
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const keys = yield* OwnSigningKeys
      const hooks = yield* AuthHooks
      const { audiences, own: iss } = yield* TokenSettings
      const [aud = iss] = audiences
      return SessionTokens.of({
        issue: Effect.fn("SessionTokens.issue")(function* (browser) {
          const { aal, expires_at, id, identity, methods } = yield* sessions.current(browser)
          const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
          const exp = Math.min(now + lifeSeconds, Math.floor(Date.parse(expires_at) / 1000))
          const account = accountOf(identity)
          // Policies compare it: an unproven address would make anyone its owner.
          const proven = identity.addresses.some(({ value, verified }) => verified && value === account)
          const claims: JsonObject = {
            iss,
            aud,
            sub: identity.id,
            iat: now,
            exp,
            role: "authenticated",
            ...(proven ? { email: account, email_verified: true } : {}),
            aal,
            amr: [...methods],
            session_id: id
          }
          const changed = yield* hookErrorsOfPages(hooks.claims(claims, methods.at(-1) ?? ""))
          const token = yield* keys.sign(sessionTokenType, changed)
          return { token, expiresIn: Math.max(0, Number(changed["exp"]) - now) }
        })
      })
    })
  )
}
