import { Context, Effect, Layer } from "effect"
import { type Address, isSameMailbox } from "../../../domain/identity/Address.ts"
import { type Identity } from "../../../domain/identity/Identity.ts"
import { type JsonObject } from "../../../domain/text/JsonObject.ts"
import { AccountRecords } from "./Records.ts"
import { identityChanged, unconfirmedAddress } from "./Refusals.ts"
import { AccountStore } from "./Store.ts"

const isAdministrator = (metadata: JsonObject) => metadata["svc_role"] === "admin"

/** What administrators change in an account. */
interface ChangeByAdministrator {
  /** Replaces another address. */
  readonly address?: Address | undefined
  /** Whether the address is confirmed; `newVerified`: whether the address of another mailbox is, if this is undefined. */
  readonly verified?: boolean | undefined
  readonly newVerified: boolean
  /** `email` in them has no effect: only a change of the address sets it. */
  readonly traits?: JsonObject | undefined
  readonly metadataPublic?: JsonObject | undefined
  readonly passwordHash?: string | undefined
  readonly state?: Identity["state"] | undefined
}

/** The rules of changes by administrators. Both APIs of accounts use them. */
export class AccountChanges extends Context.Service<AccountChanges>()("svc/identity/AccountChanges", {
  make: Effect.gen(function* () {
    const store = yield* AccountStore
    const records = yield* AccountRecords

    return {
      /**
       * Changes an account, which is locked meanwhile. `make`: the change of the account as it is then; `readAt`: its `updated_at`
       * as it was read, if it must not have changed since; `more`: what else belongs to the change.
       */
      change: <E = never, E2 = never>(
        id: string,
        readAt: string | undefined,
        make: (now: Identity) => Effect.Effect<ChangeByAdministrator, E>,
        more: Effect.Effect<unknown, E2> = Effect.void
      ) =>
        store.exclusively(
          id,
          Effect.fnUntraced(function* ({ updated_at }) {
            if (readAt !== undefined && readAt !== updated_at) return yield* identityChanged
            const now = yield* store.identity(id)
            const { address, metadataPublic, newVerified, passwordHash, state, traits, verified } = yield* make(now)
            const { email } = now.traits
            const confirmed = now.addresses.some(({ verified }) => verified)
            const mayBecome = isAdministrator(now.metadata_public) || confirmed
            if (metadataPublic !== undefined && isAdministrator(metadataPublic) && !mayBecome) {
              return yield* unconfirmedAddress
            }
            if (traits !== undefined) {
              yield* records.setTraits(id, { ...traits, ...(email === undefined ? {} : { email }) })
            }
            if (address !== undefined && address.value !== email) {
              const same = typeof email === "string" && isSameMailbox(address.value, email)
              yield* records.replaceAddress(id, address, verified ?? (same ? confirmed : newVerified))
            } else if (verified !== undefined) yield* records.setVerified(id, verified)
            if (metadataPublic !== undefined) yield* records.setMetadata(id, metadataPublic)
            if (passwordHash !== undefined) yield* records.setPassword(id, passwordHash)
            if (state !== undefined) yield* records.setState(id, state)
            yield* more
          })
        )
    }
  })
}) {
  static readonly layer = Layer.effect(AccountChanges, AccountChanges.make)
}
