import { Effect, Schema } from "effect"
import { type AccountStore, type Locked, type Owner } from "../Store.ts"
import { claimAddress, type Spared, takeBack } from "../TakeBack.ts"

/** Whether the owner of an address gets a mail that anyone can request. The response to the request does not depend on it. */
export const mayGet = (kind: "recovery" | "signIn" | "verification", owner: Owner | undefined): owner is Owner =>
  owner !== undefined && owner.active && (kind !== "verification" || !owner.verified)

const AddressRow = Schema.Struct({ verified: Schema.Boolean, outdated: Schema.Boolean })

/**
 * The address of an account that a mail was sent to; undefined if it has another account by now. `outdated`: whether the
 * password was changed since the mail was sent (`sent`, in s since 1970).
 */
const mailedAddress = (store: AccountStore["Service"], identityId: string, lookup: string, sent: number) =>
  Effect.map(
    store.rows(AddressRow)(
      `select a.verified_at is not null as verified, (i.password_changed_at > to_timestamp($3::float8)) is true as outdated
     from svc.identity_addresses a join svc.identities i on i.id = a.identity_id
     where a.lookup = $1 and a.identity_id = $2::text::uuid`,
      [lookup, identityId, sent]
    ),
    ([row]) => row
  )

/** A mail whose link or code was sent back. */
export interface ReturnedMail {
  readonly lookup: string
  /** In s since 1970. */
  readonly sent: number
  /** Whether it has not ended since it was found (TakeBack.ts). */
  readonly stands: boolean
  /** `recovery`: the account is taken back. `confirmation`: the address is confirmed, and nothing else. */
  readonly purpose: "recovery" | "signIn" | "confirmation"
  /** Whether it went to the address, which it so proves. */
  readonly proves: boolean
  /** Whether the person who sent it back has chosen the account's password, or is not asked. */
  readonly ownPassword: boolean
  /** What stays when the account is claimed. */
  readonly spared?: Spared
}

/**
 * What a mail proves of the account that it was sent for. Fails with `ended` if that is nothing any more. An address that was
 * never proven may have been registered by another person, who loses the account. Returns whether the address was
 * verified before. Runs in a transaction that has locked the account.
 */
export const acceptMail = Effect.fnUntraced(function* <E>(
  store: AccountStore["Service"],
  { id, state }: Locked,
  { lookup, ownPassword, proves, purpose, sent, spared, stands }: ReturnedMail,
  ended: E
) {
  if (state !== "active" || !stands) return yield* Effect.fail(ended)
  const address = yield* mailedAddress(store, id, lookup, sent)
  if (address === undefined) return yield* Effect.fail(ended)
  // The owner may have changed the password because another person reads their mails.
  if (address.outdated && purpose !== "confirmation") return yield* Effect.fail(ended)
  if (address.verified) {
    if (purpose === "recovery") yield* takeBack(store, id, "recovery")
  } else if (!ownPassword) yield* claimAddress(store, id, proves ? lookup : undefined, spared)
  return address.verified
})
