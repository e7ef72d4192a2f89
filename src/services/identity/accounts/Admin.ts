import { Context, Effect, Layer, Option, Stream } from "effect"
import { InvalidRequest } from "../../../domain/errors.ts"
import { SignInFactor } from "../../../domain/identity/Identity.ts"
import { type AccountChange, type FactorKind, type NewAccount } from "../../ports/identity/Accounts.ts"
import { hashIn } from "./passwords/Passwords.ts"
import { PasswordSignIn } from "./passwords/PasswordSignIn.ts"
import { AccountChanges } from "./Changes.ts"
import { addressOf, AccountRecords } from "./Records.ts"
import { AccountRecovery } from "./Recovery.ts"
import { invalidPageToken, invalidPassword, noIdentity } from "./Refusals.ts"
import { AccountSessions } from "./Sessions.ts"
import { iso, isUuid, pageOf, AccountStore } from "./Store.ts"
import { claimAddress } from "./TakeBack.ts"
import { FirstAdministration } from "./FirstAdministrator.ts"

const removals: Readonly<Record<FactorKind, string>> = {
  totp: "update svc.identities set totp_secret = null, updated_at = now() where id = $1::text::uuid returning 1",
  webauthn: "delete from svc.identity_keys where identity_id = $1::text::uuid and not passkey returning 1",
  passkeys: "delete from svc.identity_keys where identity_id = $1::text::uuid and passkey returning 1",
  recovery_codes: "delete from svc.identity_recovery_codes where identity_id = $1::text::uuid returning 1",
  providers: "delete from svc.identity_links where identity_id = $1::text::uuid returning 1"
}

/** An authenticator app was last used in the time step whose code was shown, which lasts 30 s. */
const factorsSql = `
  select type, id, name, unused, ${iso("created_at")} as created_at, ${iso("last_used_at")} as last_used_at from (
    select 1 as place, 'password' as type, null as id, null as name, null::int4 as unused,
      password_changed_at as created_at, null::timestamptz as last_used_at
    from svc.identities where id = $1::text::uuid and password_hash is not null
    union all select 2, case when passkey then 'passkey' else 'webauthn' end, id, display_name, null, added_at, last_used_at
    from svc.identity_keys where identity_id = $1::text::uuid
    union all select 3, 'provider', provider, account, null, added_at, last_used_at
    from svc.identity_links where identity_id = $1::text::uuid
    union all select 4, 'totp', null, null, null, null,
      case when totp_last_step > 0 then to_timestamp(totp_last_step * 30) end
    from svc.identities where id = $1::text::uuid and totp_secret is not null
    union all select 5, 'recovery_codes', null, null, (count(*) - count(used_at))::int4, null, max(used_at)
    from svc.identity_recovery_codes where identity_id = $1::text::uuid having count(*) > 0
  ) factors order by place, factors.created_at, id`

const invalidId = new InvalidRequest({ error: "The id must be a UUID" })
const invalidHash = new InvalidRequest({
  error: "password_hash must be argon2 (PHC, at most 128 MiB and 6 passes) or bcrypt (cost 4 to 14)",
  code: "INVALID_PASSWORD_HASH"
})

/** Accounts of one statement of an export. */
const exportPage = 200

/** The operators' functions on accounts. */
export class AccountAdministration extends Context.Service<AccountAdministration>()(
  "svc/identity/AccountAdministration",
  {
    make: Effect.gen(function* () {
      const store = yield* AccountStore
      const records = yield* AccountRecords
      const changes = yield* AccountChanges
      const sessions = yield* AccountSessions
      const byPassword = yield* PasswordSignIn
      const recovery = yield* AccountRecovery
      const first = yield* FirstAdministration
      const factorRows = store.rows(SignInFactor)
      const existing = (id: string) => (isUuid(id) ? store.identity(id) : Effect.fail(noIdentity))

      return {
        first,
        create: Effect.fn("AccountAdmin.create")(function* (account: NewAccount) {
          const address = yield* addressOf(account.email)
          const passwordHash = yield* byPassword.hashGiven(account, address.value, invalidHash, invalidPassword)
          const { id: given, metadataPublic = {}, state = "active", traits, verified = false } = account
          if (given !== undefined && !isUuid(given)) return yield* invalidId
          const record = { address, traits, metadataPublic, passwordHash: passwordHash ?? null, verified, state }
          const id = yield* store.atomically(
            records.createByAdministrator(given === undefined ? record : { ...record, id: given })
          )
          return yield* store.identity(id)
        }),

        search: Effect.fn("AccountAdmin.search")(function* (
          part: string,
          pageSize: number,
          pageToken: string | undefined
        ) {
          if (pageToken !== undefined && !isUuid(pageToken)) return yield* invalidPageToken
          const rows = yield* store.search(part.toLowerCase(), pageSize + 1, pageToken)
          return pageOf(rows, pageSize)
        }),
        change: Effect.fn("AccountAdmin.change")(function* (
          id,
          { metadataPublic, readAt, state, traits, verified }: AccountChange
        ) {
          const before = yield* existing(id)
          const email = traits?.["email"]
          const moves = email !== undefined && email !== before.traits["email"]
          const address = moves ? yield* addressOf(String(email)) : undefined
          yield* changes.change(before.id, readAt, () =>
            Effect.succeed({ address, verified, newVerified: false, traits, metadataPublic, state })
          )
          return yield* store.identity(id)
        }),

        remove: Effect.fn("AccountAdmin.remove")(function* (id: string) {
          const { id: found } = yield* existing(id)
          yield* records.remove(found)
        }),
        sessions: Effect.fn("AccountAdmin.sessions")(function* (id: string) {
          const { id: found } = yield* existing(id)
          return yield* sessions.listOf(found, null)
        }),
        endSessions: Effect.fn("AccountAdmin.endSessions")(function* (id: string) {
          const { id: found } = yield* existing(id)
          return yield* sessions.endAll(found, undefined)
        }),
        factors: Effect.fn("AccountAdmin.factors")(function* (id: string) {
          const { id: found } = yield* existing(id)
          return yield* factorRows(factorsSql, [found])
        }),
        exported: Stream.paginate(undefined as string | undefined, (after) =>
          Effect.map(store.exportPage(exportPage, after), (rows) => [
            rows.map(({ addresses, id, metadata_public, password_hash, schema_id, state, traits }) => ({
              id,
              state,
              schema_id,
              traits,
              metadata_public,
              addresses,
              passwordHash: password_hash === null ? null : hashIn(password_hash)
            })),
            rows.length < exportPage ? Option.none() : Option.some(rows.at(-1)?.id)
          ])
        ),
        makeAdministrator: Effect.fn("AccountAdmin.makeAdministrator")(function* (id: string) {
          yield* store.exclusively(
            id,
            Effect.fnUntraced(function* () {
              const { addresses, metadata_public } = yield* store.identity(id)
              // Another person may have registered the address, and must not become an administrator.
              if (!addresses.some(({ verified }) => verified)) {
                yield* claimAddress(store, id, undefined)
                yield* records.setVerified(id, true)
              }
              yield* records.setMetadata(id, { ...metadata_public, svc_role: "admin" })
              yield* records.setState(id, "active")
            })
          )
        }),
        removeFactor: Effect.fn("AccountAdmin.removeFactor")(function* (id: string, kind: FactorKind) {
          const { id: found } = yield* existing(id)
          yield* store.count(removals[kind], [found])
        }),
        recoveryLink: Effect.fn("AccountAdmin.recoveryLink")(function* (id: string) {
          const { id: found } = yield* existing(id)
          return yield* recovery.link(found)
        })
      }
    })
  }
) {
  static readonly layer = Layer.effect(AccountAdministration, AccountAdministration.make)
}
