import { Context, Effect, Layer } from "effect"
import { InvalidRequest } from "../../../domain/errors.ts"
import { type Address, isReachable, readAddress } from "../../../domain/identity/Address.ts"
import { type JsonObject } from "../../../domain/text/JsonObject.ts"
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
  readonly address: Address
  readonly traits: JsonObject
  readonly metadataPublic: JsonObject
  readonly passwordHash: string | null
  readonly verified: boolean
  readonly state: "active" | "inactive"
}

/** The rows of accounts and their addresses. */
export class AccountRecords extends Context.Service<AccountRecords>()("svc/identity/AccountRecords", {
  make: Effect.gen(function* () {
    const store = yield* AccountStore
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
      /** Returns the id; 409 `ADDRESS_TAKEN` or `ID_TAKEN`. In a transaction. */
      create: Effect.fnUntraced(function* ({ address, id = crypto.randomUUID(), ...record }: NewRecord) {
        const created = yield* store.count(
          `insert into svc.identities (id, state, traits, metadata_public, password_hash, password_changed_at)
         values ($1::text::uuid, $2, $3::text::jsonb, $4::text::jsonb, $5::text, case when $5::text is not null then now() end)
         on conflict do nothing returning 1`,
          [
            id,
            record.state,
            yield* checked("traits", { ...record.traits, email: address.value }),
            yield* checked("metadata_public", record.metadataPublic),
            record.passwordHash
          ]
        )
        if (created === 0) return yield* idTaken
        yield* setAddress(id, address, record.verified)
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
