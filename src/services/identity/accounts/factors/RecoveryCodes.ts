import { Context, Effect, Layer } from "effect"
import { randomInt } from "node:crypto"
import { Conflict } from "../../../../domain/errors.ts"
import { type Credential } from "../../../../domain/identity/Identity.ts"
import { IdentitySignatures } from "../../../access/Signatures.ts"
import { Flows } from "../Flows.ts"
import { AccountMessages } from "../Messages.ts"
import { AccountSessions } from "../Sessions.ts"
import { AccountStore } from "../Store.ts"

/** The alphabet lacks letters that look like digits. */
const letters = "abcdefghijkmnpqrstuvwxyz23456789"
const codes = 12
const length = 8

const notGenerated = new Conflict({
  error: "No recovery codes were generated in this flow",
  code: "RECOVERY_CODES_NOT_GENERATED"
})

/** Recovery codes. They have 40 bits, so they are stored as signatures, which can't be searched without the key. */
export class RecoveryCodes extends Context.Service<RecoveryCodes>()("svc/identity/RecoveryCodes", {
  make: Effect.gen(function* () {
    const store = yield* AccountStore
    const sessions = yield* AccountSessions
    const flows = yield* Flows
    const signatures = yield* IdentitySignatures
    const messages = yield* AccountMessages
    const signed = (identityId: string, code: string) => signatures.sign("recovery-code", `${identityId} ${code}`)
    const removeAll = (identityId: string) =>
      store.count("delete from svc.identity_recovery_codes where identity_id = $1::text::uuid returning 1", [
        identityId
      ])

    return {
      begin: Effect.fnUntraced(function* (credential: Credential) {
        const session = yield* sessions.privileged(credential)
        const made = Array.from({ length: codes }, () =>
          Array.from({ length }, () => letters[randomInt(letters.length)]).join("")
        )
        const hashes = yield* Effect.forEach(made, (code) => signed(session.identity_id, code))
        const { id } = yield* flows.begin("settings", session.identity_id, { codes: hashes })
        return { flowId: id, codes: made, cookies: sessions.cookiesOf(credential, session) }
      }),

      confirm: Effect.fnUntraced(function* (credential: Credential, flowId: string) {
        const session = yield* sessions.whole(credential)
        yield* store.exclusively(
          session.identity_id,
          Effect.fnUntraced(function* ({ id }) {
            const { data, used } = yield* flows.find(flowId, "settings", id, true)
            if (used || !Array.isArray(data["codes"])) return yield* notGenerated
            yield* sessions.privileged(credential)
            yield* removeAll(id)
            yield* store.count(
              `insert into svc.identity_recovery_codes (identity_id, hash)
             select $1::text::uuid, unnest($2::text[]) returning 1`,
              [id, data["codes"]]
            )
            yield* flows.use(flowId)
            yield* sessions.raise(session.id, "lookup_secret", false)
            yield* messages.toOwner("codes", id)
          })
        )
        return sessions.cookiesOf(credential, session)
      }),

      /** Succeeds when there are none. */
      remove: Effect.fnUntraced(function* (credential: Credential) {
        const session = yield* sessions.privileged(credential)
        if ((yield* removeAll(session.identity_id)) > 0) yield* messages.toOwner("removed", session.identity_id)
        return sessions.cookiesOf(credential, session)
      }),

      /** Whether a code is one of the account's, and was not used. */
      show: Effect.fnUntraced(function* (identityId: string, code: string) {
        const used = yield* store.count(
          `update svc.identity_recovery_codes set used_at = now()
         where identity_id = $1::text::uuid and hash = $2 and used_at is null returning 1`,
          [identityId, yield* signed(identityId, code.trim().toLowerCase())]
        )
        // The last one of an account without other factors: what reports sign-ins would wait for another.
        if (used > 0) {
          yield* store.count(
            `delete from svc.identity_recovery_codes c where identity_id = $1::text::uuid
             and not exists (select from svc.identity_recovery_codes o where o.identity_id = c.identity_id and o.used_at is null)
             and not exists (select from svc.identity_keys k where k.identity_id = c.identity_id and not k.passkey)
             and exists (select from svc.identities i where i.id = c.identity_id and i.totp_secret is null) returning 1`,
            [identityId]
          )
        }
        return used > 0
      })
    }
  })
}) {
  static readonly layer = Layer.effect(RecoveryCodes, RecoveryCodes.make)
}
