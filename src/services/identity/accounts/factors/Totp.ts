import { Clock, Context, Effect, Layer, Redacted, Schema } from "effect"
import { Conflict } from "../../../../domain/errors.ts"
import { type Credential } from "../../../../domain/identity/Identity.ts"
import { makeTotpSecret, totpStepOf } from "../../../../domain/identity/SecondFactors.ts"
import { IdentitySeals } from "../../../access/Seals.ts"
import { Flows } from "../Flows.ts"
import { AccountMessages } from "../Messages.ts"
import { flowExpired, wrongCode } from "../Refusals.ts"
import { AccountSessions } from "../Sessions.ts"
import { AccountStore } from "../Store.ts"
import { AccountSettings } from "../../AccountSettings.ts"

const exists = new Conflict({ error: "There is an authenticator app already", code: "TOTP_EXISTS" })
const SecretRow = Schema.Struct({ totp_secret: Schema.NullOr(Schema.String) })

export const totpSealName = (identityId: string) => `authenticator app of ${identityId}`

/** Authenticator apps. Their secrets are sealed. */
export class AuthenticatorApps extends Context.Service<AuthenticatorApps>()("svc/identity/AuthenticatorApps", {
  make: Effect.gen(function* () {
    const issuer = new URL((yield* AccountSettings).ownUrl).hostname
    const store = yield* AccountStore
    const sessions = yield* AccountSessions
    const flows = yield* Flows
    const seals = yield* IdentitySeals
    const messages = yield* AccountMessages
    const secrets = store.rows(SecretRow)
    const stored = (id: string) =>
      Effect.map(
        secrets("select totp_secret from svc.identities where id = $1::text::uuid", [id]),
        ([row]) => row?.totp_secret ?? null
      )

    /**
     * Adds an app whose first code is right. The code is used with that: it does not sign in once more (RFC 6238 5.2). `exists`:
     * there is another app.
     */
    const add = Effect.fnUntraced(function* (identityId: string, sealed: string, code: string) {
      const secret = yield* seals.unseal(totpSealName(identityId), sealed)
      const step = totpStepOf(secret, code, yield* Clock.currentTimeMillis)
      if (step === undefined) return "wrong"
      const added = yield* store.count(
        `update svc.identities set totp_secret = $2, totp_last_step = $3::float8::bigint, updated_at = now()
       where id = $1::text::uuid and totp_secret is null returning 1`,
        [identityId, sealed, step]
      )
      if (added === 0) return "exists"
      yield* messages.toOwner("totp", identityId)
      return "added"
    })

    return {
      add,
      begin: Effect.fnUntraced(function* (credential: Credential) {
        const session = yield* sessions.whole(credential)
        if ((yield* stored(session.identity_id)) !== null) return yield* exists
        const secret = makeTotpSecret()
        const sealed = yield* seals.seal(totpSealName(session.identity_id), secret)
        const { id } = yield* flows.begin("settings", session.identity_id, { totp: sealed })
        const cookies = sessions.cookiesOf(credential, session)
        return { flowId: id, secret: Redacted.make(secret), issuer, cookies }
      }),

      confirm: Effect.fnUntraced(function* (credential: Credential, flowId: string, code: string) {
        const current = yield* sessions.whole(credential)
        yield* flows.find(flowId, "settings", current.identity_id)
        const session = yield* sessions.privileged(credential)
        yield* store.exclusively(
          session.identity_id,
          Effect.fnUntraced(function* (row) {
            const { data, used } = yield* flows.find(flowId, "settings", session.identity_id, true)
            if (row.totp_secret !== null) return yield* exists
            const { totp } = data
            if (used || typeof totp !== "string") return yield* flowExpired
            const outcome = yield* add(row.id, totp, code)
            if (outcome !== "added") return yield* outcome === "wrong" ? wrongCode : exists
            yield* flows.use(flowId)
            yield* sessions.raise(session.id, "totp", false)
          })
        )
        return sessions.cookiesOf(credential, current)
      }),

      /** Succeeds when there is none. */
      remove: Effect.fnUntraced(function* (credential: Credential) {
        const session = yield* sessions.privileged(credential)
        const removed = yield* store.count(
          "update svc.identities set totp_secret = null, updated_at = now() where id = $1::text::uuid and totp_secret is not null returning 1",
          [session.identity_id]
        )
        if (removed > 0) yield* messages.toOwner("removed", session.identity_id)
        return sessions.cookiesOf(credential, session)
      }),

      /** Whether a code is right and its time step was not used before, in any session (RFC 6238 5.2). */
      show: Effect.fnUntraced(function* (identityId: string, code: string) {
        const sealed = yield* stored(identityId)
        if (sealed === null) return false
        const secret = yield* seals.unseal(totpSealName(identityId), sealed)
        const step = totpStepOf(secret, code, yield* Clock.currentTimeMillis)
        if (step === undefined) return false
        const first = yield* store.count(
          `update svc.identities set totp_last_step = $2::float8::bigint
         where id = $1::text::uuid and totp_secret = $3 and totp_last_step < $2::float8::bigint returning 1`,
          [identityId, step, sealed]
        )
        return first > 0
      })
    }
  })
}) {
  static readonly layer = Layer.effect(AuthenticatorApps, AuthenticatorApps.make)
}
