import { Effect } from "effect"
import { InvalidRequest } from "../../../domain/errors.ts"
import { isImportableHash, passwordFault } from "../../../domain/identity/Password.ts"
import {
  type AccountAdmin,
  type AccountChange,
  type FactorKind,
  type FirstAdministrator,
  type NewAccount
} from "../../../services/ports/identity/Accounts.ts"
import { importedHash, type Passwords } from "./Passwords.ts"
import { addressOf, type Records } from "./Records.ts"
import { type EmbeddedRecovery } from "./Recovery.ts"
import { invalidPassword, noIdentity } from "./Refusals.ts"
import { type EmbeddedSessions } from "./Sessions.ts"
import { isUuid, type Store } from "./Store.ts"

const removals: Readonly<Record<FactorKind, string>> = {
  totp: "update svc.identities set totp_secret = null, updated_at = now() where id = $1::text::uuid returning 1",
  webauthn: "delete from svc.identity_keys where identity_id = $1::text::uuid and not passkey returning 1",
  passkeys: "delete from svc.identity_keys where identity_id = $1::text::uuid and passkey returning 1",
  recovery_codes: "delete from svc.identity_recovery_codes where identity_id = $1::text::uuid returning 1"
}

const invalidHash = new InvalidRequest({
  error: "password_hash must be argon2 (PHC, at most 128 MiB and 6 passes) or bcrypt (cost 4 to 14)",
  code: "INVALID_PASSWORD_HASH"
})

/** What operators do with accounts. */
export const makeAdmin = (
  store: Store,
  records: Records,
  sessions: EmbeddedSessions,
  passwords: Passwords,
  recovery: EmbeddedRecovery,
  first: FirstAdministrator
): AccountAdmin => {
  const hashOf = Effect.fnUntraced(function* ({ email, password, passwordHash }: NewAccount) {
    if (passwordHash !== undefined) {
      return isImportableHash(passwordHash) ? importedHash(passwordHash) : yield* invalidHash
    }
    if (password === undefined) return null
    const fault = passwordFault(password, email)
    return fault === undefined ? yield* passwords.hash(password) : yield* invalidPassword(fault)
  })
  const existing = (id: string) => (isUuid(id) ? store.identity(id) : Effect.fail(noIdentity))

  return {
    first,
    create: Effect.fn("AccountAdmin.create")(function* (account) {
      const address = yield* addressOf(account.email)
      const passwordHash = yield* hashOf(account)
      const { metadataPublic = {}, state = "active", traits, verified = false } = account
      const id = yield* store.atomically(
        records.create({ address, traits, metadataPublic, passwordHash, verified, state })
      )
      return yield* store.identity(id)
    }),

    change: Effect.fn("AccountAdmin.change")(function* (
      id,
      { metadataPublic, state, traits, verified }: AccountChange
    ) {
      const before = yield* existing(id)
      const { email } = traits ?? {}
      const address =
        email === undefined || email === before.traits["email"] ? undefined : yield* addressOf(String(email))
      yield* store.exclusively(
        before.id,
        Effect.fnUntraced(function* () {
          if (traits !== undefined)
            yield* records.setTraits(id, { ...traits, email: email ?? before.traits["email"] ?? null })
          if (address !== undefined) yield* records.replaceAddress(id, address, verified ?? false)
          else if (verified !== undefined) yield* records.setVerified(id, verified)
          if (metadataPublic !== undefined) yield* records.setMetadata(id, metadataPublic)
          if (state === undefined) return
          yield* store.count(
            "update svc.identities set state = $2, updated_at = now() where id = $1::text::uuid returning 1",
            [id, state]
          )
          if (state === "inactive") yield* sessions.endAll(id, undefined)
        })
      )
      return yield* store.identity(id)
    }),

    remove: Effect.fn("AccountAdmin.remove")(function* (id) {
      const { id: found } = yield* existing(id)
      yield* store.count("delete from svc.identities where id = $1::text::uuid returning 1", [found])
    }),
    endSessions: Effect.fn("AccountAdmin.endSessions")(function* (id) {
      const { id: found } = yield* existing(id)
      return yield* sessions.endAll(found, undefined)
    }),
    removeFactor: Effect.fn("AccountAdmin.removeFactor")(function* (id, kind) {
      const { id: found } = yield* existing(id)
      yield* store.count(removals[kind], [found])
    }),
    recoveryLink: Effect.fn("AccountAdmin.recoveryLink")(function* (id) {
      const { id: found } = yield* existing(id)
      return yield* recovery.link(found)
    })
  }
}
