import { Clock, Context, Effect, Layer } from "effect"
import { InvalidRequest } from "../../../domain/errors.ts"
import { type Address, isReachable, readAddress } from "../../../domain/identity/Address.ts"
import { type JsonObject } from "../../../domain/text/JsonObject.ts"
import { AuthHooks } from "./hooks/AuthHooks.ts"
import { newUser } from "./hooks/NewUser.ts"
import { addressTaken, idTaken, invalidAddress } from "./Refusals.ts"
import { AccountStore } from "./Store.ts"
import { type Spared, takeBack } from "./TakeBack.ts"

/** Maximum length of an account's traits, or its public metadata, as JSON text. */
const maxTraits = 8 * 1024

/** A NUL or half a surrogate pair, as JSON writes them; PostgreSQL stores neither. */
const unstorable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/i

const checked = (name: string, value: JsonObject) => {
  const text = JSON.stringify(value)
  if (text.length > maxTraits) {
    return Effect.fail(new InvalidRequest({ error: `${name} must be at most ${maxTraits} characters of JSON` }))
  }
  return unstorable.test(text)
    ? Effect.fail(new InvalidRequest({ error: `${name} must not contain NUL characters or half surrogate pairs` }))
    : Effect.succeed(text)
}

export const addressOf = (text: string) => {
  const address = readAddress(text)
  return address === undefined || !isReachable(address) ? Effect.fail(invalidAddress) : Effect.succeed(address)
}

interface NewRecord {
  readonly id?: string
  /** Undefined: the account is anonymous. */
  readonly address: Address | undefined
  readonly traits: JsonObject
  readonly metadataPublic: JsonObject
  readonly passwordHash: string | null
  readonly verified: boolean
  readonly state: "active" | "inactive"
}

/** An account that a person makes, or an administrator's app for one. */
interface NewPerson extends NewRecord {
  /** What the person signs up with: `email`, or the name of another service. */
  readonly provider: string
  /** The id that the hook has admitted already. */
  readonly admitted?: string
}

/** The rows of accounts and their addresses. */
export class AccountRecords extends Context.Service<AccountRecords>()("svc/identity/AccountRecords", {
  make: Effect.gen(function* () {
    const store = yield* AccountStore
    const hooks = yield* AuthHooks
    const setAddress = (id: string, { lookup, value }: Address, verified: boolean) =>
      Effect.flatMap(
        store.count(
          `insert into svc.identity_addresses (lookup, identity_id, value, verified_at)
         values ($1, $2::text::uuid, $3, case when $4::bool then now() end) on conflict do nothing returning 1`,
          [lookup, id, value, verified]
        ),
        (added) => (added === 0 ? Effect.fail(addressTaken) : Effect.void)
      )

    const setTraits = Effect.fnUntraced(function* (id: string, traits: JsonObject) {
      yield* store.count(
        "update svc.identities set traits = $2::text::jsonb, updated_at = now() where id = $1::text::uuid returning 1",
        [id, yield* checked("traits", traits)]
      )
    })

    /** Returns the id; 409 `ADDRESS_TAKEN` or `ID_TAKEN`. In a transaction. */
    const create = Effect.fnUntraced(function* ({ address, id = crypto.randomUUID(), ...record }: NewRecord) {
      const email = address === undefined ? {} : { email: address.value }
      const created = yield* store.count(
        `insert into svc.identities (id, state, traits, metadata_public, password_hash, password_changed_at)
         values ($1::text::uuid, $2, $3::text::jsonb, $4::text::jsonb, $5::text, case when $5::text is not null then now() end)
         on conflict do nothing returning 1`,
        [
          id,
          record.state,
          yield* checked("traits", { ...record.traits, ...email }),
          yield* checked("metadata_public", record.metadataPublic),
          record.passwordHash
        ]
      )
      if (created === 0) return yield* idTaken
      if (address !== undefined) yield* setAddress(id, address, record.verified)
      return id
    })

    const userOf = (id: string, user: { email: string | undefined; data: JsonObject; provider: string }) =>
      Effect.map(Clock.currentTimeMillis, (now) => newUser({ ...user, id, now: new Date(now).toISOString() }))

    /** Asks the hook whether a person may get an account, and returns the id that it then has. Not in a transaction. */
    const admit = Effect.fnUntraced(function* (user: {
      email: string | undefined
      data: JsonObject
      provider: string
    }) {
      const id = crypto.randomUUID()
      // Refused before the hook is asked, as the account would be.
      yield* checked("traits", user.data)
      yield* hooks.beforeCreated(yield* userOf(id, user))
      return id
    })

    return {
      /** The JSON text of an object that fits. */
      checked,
      setTraits,
      setMetadata: Effect.fnUntraced(function* (id: string, metadata: JsonObject) {
        yield* store.count(
          "update svc.identities set metadata_public = $2::text::jsonb, updated_at = now() where id = $1::text::uuid returning 1",
          [id, yield* checked("metadata_public", metadata)]
        )
      }),
      /** An account that an administrator makes, which no hook is asked about. In a transaction. */
      createByAdministrator: create,
      admit,
      /**
       * Creates an account that no administrator makes, if the hook admits it; `more` belongs to its transaction. Not in a
       * transaction, because hooks may call other servers.
       */
      enter: Effect.fnUntraced(function* <E = never>(
        { admitted, provider, ...record }: NewPerson,
        more: (id: string) => Effect.Effect<unknown, E> = () => Effect.void
      ) {
        const user = { email: record.address?.value, data: record.traits, provider }
        const id = admitted ?? (yield* admit(user))
        yield* store.atomically(Effect.flatMap(create({ ...record, id }), more))
        yield* hooks.created(yield* userOf(id, user))
        return id
      }),
      /** Replaces the address of an account, and its trait. In a transaction. */
      replaceAddress: Effect.fnUntraced(function* (id: string, address: Address, verified: boolean) {
        yield* store.count("delete from svc.identity_addresses where identity_id = $1::text::uuid returning 1", [id])
        yield* setAddress(id, address, verified)
        const { traits } = yield* store.identity(id)
        yield* setTraits(id, { ...traits, email: address.value })
      }),
      /**
       * Sets the password, and ends everything else that may act for the account, except `spared`. Runs in a transaction
       * that locks the account.
       */
      setPassword: Effect.fnUntraced(function* (id: string, hash: string, spared: Spared = {}) {
        yield* store.count(
          `update svc.identities set password_hash = $2, password_changed_at = now(), updated_at = now()
         where id = $1::text::uuid returning 1`,
          [id, hash]
        )
        yield* takeBack(store, id, "password", spared)
      }),
      setState: Effect.fnUntraced(function* (id: string, state: "active" | "inactive") {
        yield* store.count(
          "update svc.identities set state = $2, updated_at = now() where id = $1::text::uuid returning 1",
          [id, state]
        )
        if (state === "inactive") yield* takeBack(store, id, "disable")
      }),
      /** Deletes an account with all that it leaves. Returns how many there were. */
      remove: (id: string) =>
        store.atomically(
          Effect.gen(function* () {
            yield* store.count("select 1 from svc.identities where id = $1::text::uuid for update", [id])
            yield* takeBack(store, id, "delete")
            return yield* store.count("delete from svc.identities where id = $1::text::uuid returning 1", [id])
          })
        ),
      setVerified: (id: string, verified: boolean) =>
        store.count(
          `update svc.identity_addresses set verified_at = case when $2::bool then coalesce(verified_at, now()) end
         where identity_id = $1::text::uuid returning 1`,
          [id, verified]
        )
    }
  })
}) {
  static readonly layer = Layer.effect(AccountRecords, AccountRecords.make)
}
