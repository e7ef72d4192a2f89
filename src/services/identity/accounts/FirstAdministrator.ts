import { Context, Effect, Layer } from "effect"
import { randomBytes } from "node:crypto"
import { Gone } from "../../../domain/errors.ts"
import { firstAdministratorLock } from "../../../domain/sql/AdvisoryLocks.ts"
import { type FirstAdministrator } from "../../ports/identity/Accounts.ts"
import { Flows } from "./Flows.ts"
import { PasswordSignIn } from "./passwords/PasswordSignIn.ts"
import { addressOf, AccountRecords } from "./Records.ts"
import { invalidPassword } from "./Refusals.ts"
import { AccountSessions } from "./Sessions.ts"
import { hashOf, AccountStore } from "./Store.ts"

const over = new Gone({
  error: "The link has expired or was used, or there is an administrator",
  code: "LINK_EXPIRED",
  hint: "svc account admin <address> makes an administrator too"
})

/** Makes the first administrator: by a link that the start prints, valid once, and only until there is an administrator. */
export class FirstAdministration extends Context.Service<FirstAdministration>()("svc/identity/FirstAdministration", {
  make: Effect.gen(function* () {
    const store = yield* AccountStore
    const records = yield* AccountRecords
    const sessions = yield* AccountSessions
    const flows = yield* Flows
    const byPassword = yield* PasswordSignIn
    const exists = Effect.map(
      store.count("select 1 from svc.identities where metadata_public ->> 'svc_role' = 'admin' limit 1"),
      (count) => count > 0
    )
    const lookUp = (flowId: string) => Effect.mapError(flows.find(flowId, "administrator", null), () => over)

    const calls: FirstAdministrator = {
      link: Effect.gen(function* () {
        if (yield* exists) return undefined
        // Links of earlier starts.
        yield* store.count("delete from svc.identity_flows where kind = 'administrator' returning 1")
        const token = randomBytes(32).toString("base64url")
        const { id } = yield* flows.begin("administrator", null, { token: hashOf(token) })
        return `/auth/administrator?flow=${id}&token=${token}`
      }),

      check: Effect.fnUntraced(function* (flowId, token) {
        const { data, used } = yield* lookUp(flowId)
        if (used || data["token"] !== hashOf(token) || (yield* exists)) return yield* over
      }),

      claim: Effect.fnUntraced(function* (flowId, token, by) {
        yield* lookUp(flowId)
        const account =
          "credential" in by
            ? undefined
            : yield* Effect.gen(function* () {
                const address = yield* addressOf(by.email)
                return { address, passwordHash: yield* byPassword.hashOf(by.password, address.value, invalidPassword) }
              })
        const id = yield* store.atomically(
          Effect.gen(function* () {
            yield* store.count(`select pg_advisory_xact_lock(${firstAdministratorLock})`)
            yield* Effect.mapError(flows.take(flowId, "administrator", { token: hashOf(token) }), () => over)
            if (yield* exists) return yield* over
            if (account !== undefined) {
              const metadataPublic = { svc_role: "admin" }
              return yield* records.createByAdministrator({
                ...account,
                traits: {},
                metadataPublic,
                verified: true,
                state: "active"
              })
            }
            if (!("credential" in by)) return yield* over
            const { identity_id } = yield* sessions.privileged(by.credential)
            yield* store.count(
              `update svc.identities set metadata_public = metadata_public || '{"svc_role": "admin"}', updated_at = now()
             where id = $1::text::uuid returning 1`,
              [identity_id]
            )
            return identity_id
          })
        )
        return yield* "credential" in by ? sessions.signedIn(by.credential) : sessions.open(id, "Cookie", "password")
      })
    }
    return calls
  })
}) {
  static readonly layer = Layer.effect(FirstAdministration, FirstAdministration.make)
}
