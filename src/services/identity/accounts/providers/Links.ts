import { Context, Effect, Layer, Schema } from "effect"
import { type Unavailable } from "../../../../domain/errors.ts"
import { type Address, isSameMailbox, readAddress } from "../../../../domain/identity/Address.ts"
import { isPlainText } from "../../../../domain/text/StorableText.ts"
import { AccountSettings } from "../../AccountSettings.ts"
import { type ProviderCalls } from "../../../ports/identity/Accounts.ts"
import { type ProviderLink, type ProvidedPerson, type ProviderProtocol } from "../../../ports/identity/Providers.ts"
import { Limits } from "../limits/Limits.ts"
import { AccountMessages } from "../Messages.ts"
import { AccountRecords } from "../Records.ts"
import {
  flowForbidden,
  lastSignInMethod,
  linkExists,
  linkTaken,
  noLink,
  noProvidedAddress,
  registrationClosed,
  signInFirst,
  unverifiedAddress
} from "../Refusals.ts"
import { AccountSessions } from "../Sessions.ts"
import { iso, AccountStore } from "../Store.ts"
import { SignInProviders } from "../../../ports/identity/Providers.ts"
import { OwnAccount } from "../Profile.ts"

const LinkedRow = Schema.Struct({ identity_id: Schema.String })
const OwnerRow = Schema.Struct({
  identity_id: Schema.String,
  value: Schema.String,
  trusted: Schema.Boolean
})
const ListedRow = Schema.Struct({
  provider: Schema.String,
  account: Schema.String,
  added_at: Schema.String,
  last_used_at: Schema.NullOr(Schema.String)
})

/**
 * Accounts of other providers with which people sign in. One is found by its issuer and subject alone. By its address it is
 * linked to an existing account only if both sides have verified that address: otherwise the person who registers an address
 * first, here or there, would get the account of its owner.
 */
export class ProviderLinks extends Context.Service<ProviderLinks>()("svc/identity/ProviderLinks", {
  make: Effect.gen(function* () {
    const { registration, verifyFirst } = yield* AccountSettings
    const providers = yield* SignInProviders
    const store = yield* AccountStore
    const records = yield* AccountRecords
    const sessions = yield* AccountSessions
    const messages = yield* AccountMessages
    const limits = yield* Limits
    const { verify } = yield* OwnAccount
    const linked = store.rows(LinkedRow)
    const owners = store.rows(OwnerRow)
    const listed = store.rows(ListedRow)
    const ids = providers.map(({ id }) => id)
    const add = (identityId: string, provider: string, { account, issuer, subject }: ProvidedPerson, used: boolean) =>
      store.count(
        `insert into svc.identity_links (issuer, subject, identity_id, provider, account, last_used_at)
       values ($1, $2, $3::text::uuid, $4, $5, case when $6::bool then now() end) on conflict do nothing returning 1`,
        [issuer, subject, identityId, provider, account, used]
      )
    const ownerOfLink = ({ issuer, subject }: ProvidedPerson) =>
      Effect.map(
        linked("select identity_id::text from svc.identity_links where issuer = $1 and subject = $2", [
          issuer,
          subject
        ]),
        ([row]) => row?.identity_id
      )
    const notify = (id: string, to: string | undefined, label: string) =>
      to === undefined ? Effect.void : messages.notice("linked", id, to, label)

    /** Links to the account that has the same address, or makes one. */
    const adopt = Effect.fnUntraced(function* (provider: ProviderProtocol, person: ProvidedPerson) {
      const address = readAddress(person.email ?? "")
      if (address === undefined) return yield* noProvidedAddress
      // The provider has verified the address as it writes it. A look-alike may be the mailbox of someone else.
      const verified = person.verified && isSameMailbox(person.email ?? "", address.value)
      if (verifyFirst && !verified) return yield* unverifiedAddress
      const found = yield* owners(
        `select a.identity_id::text, a.value, a.verified_at is not null and i.state = 'active' as trusted
       from svc.identity_addresses a join svc.identities i on i.id = a.identity_id where a.lookup = $1`,
        [address.lookup]
      )
      const [owner] = found
      if (owner === undefined) return yield* create(provider, { ...person, verified }, address)
      const same = isSameMailbox(address.value, owner.value)
      if (!verified || !owner.trusted || !same) return yield* signInFirst
      yield* store
        .exclusively(
          owner.identity_id,
          Effect.fnUntraced(function* ({ id }) {
            const still = yield* store.count(
              "select 1 from svc.identity_addresses where lookup = $1 and identity_id = $2::text::uuid and verified_at is not null",
              [address.lookup, id]
            )
            if (still === 0) return yield* signInFirst
            if ((yield* add(id, provider.id, person, true)) === 0) return yield* linkExists
            yield* notify(id, owner.value, provider.label)
          })
        )
        .pipe(Effect.catchTag("NotFound", () => Effect.fail(signInFirst)))
      return owner.identity_id
    })

    const create = Effect.fnUntraced(function* (provider: ProviderProtocol, person: ProvidedPerson, address: Address) {
      if (!registration) return yield* registrationClosed
      yield* limits.takeOfClient("registrations of")
      const { name, verified } = person
      const id = yield* records.enter(
        {
          address,
          traits: name !== undefined && isPlainText(name) ? { name } : {},
          metadataPublic: {},
          passwordHash: null,
          verified,
          state: "active",
          provider: provider.id
        },
        (id) =>
          Effect.flatMap(add(id, provider.id, person, true), (added) =>
            added === 0 ? Effect.fail(linkTaken) : Effect.void
          )
      )
      // The account is made, whether a message may be sent now or not.
      if (!verified) yield* Effect.ignore(verify(address.value))
      return id
    })

    /** The account of a person: the one that is linked, one with the same address, or a new one. */
    const identify = Effect.fnUntraced(function* (provider: ProviderProtocol, person: ProvidedPerson) {
      const known = yield* ownerOfLink(person)
      const made = adopt(provider, person).pipe(
        Effect.catchIf(
          ({ code }) => code === "ADDRESS_TAKEN" || code === "LINK_TAKEN" || code === "LINK_EXISTS",
          // A parallel attempt of the same person, such as a double click, was faster.
          (error) =>
            Effect.flatMap(ownerOfLink(person), (id) => (id === undefined ? Effect.fail(error) : Effect.succeed(id)))
        )
      )
      const id = known ?? (yield* made)
      if (known !== undefined) {
        yield* store.count(
          "update svc.identity_links set last_used_at = now(), account = $3 where issuer = $1 and subject = $2 returning 1",
          [person.issuer, person.subject, person.account]
        )
      }
      return id
    })

    /** `stands`: whether what began it has not ended meanwhile. */
    const linkTo = (
      provider: ProviderProtocol,
      person: ProvidedPerson,
      identityId: string,
      stands: Effect.Effect<boolean, Unavailable>
    ) =>
      store
        .exclusively(
          identityId,
          Effect.fnUntraced(function* ({ id }) {
            if (!(yield* stands)) return yield* flowForbidden
            const owner = yield* ownerOfLink(person)
            if (owner === id) return
            if (owner !== undefined) return yield* linkTaken
            if ((yield* add(id, provider.id, person, false)) === 0) return yield* linkExists
            const { addresses } = yield* store.identity(id)
            yield* notify(id, addresses[0]?.value, provider.label)
          })
        )
        .pipe(Effect.catchTag("NotFound", () => Effect.fail(flowForbidden)))

    const calls: Pick<ProviderCalls, "links" | "unlink"> = {
      links: Effect.fnUntraced(function* (credential) {
        const { identity_id } = yield* sessions.whole(credential)
        const rows = yield* listed(
          `select provider, account, ${iso("added_at")} as added_at, ${iso("last_used_at")} as last_used_at
         from svc.identity_links l where identity_id = $1::text::uuid order by l.added_at, provider`,
          [identity_id]
        )
        return rows.map(({ account, added_at, last_used_at, provider }): ProviderLink => {
          const label = providers.find(({ id }) => id === provider)?.label ?? provider
          return { id: provider, label, account, added_at, last_used_at }
        })
      }),

      unlink: Effect.fnUntraced(function* (credential, provider) {
        const { identity_id } = yield* sessions.privileged(credential)
        yield* store
          .exclusively(
            identity_id,
            Effect.fnUntraced(function* ({ id, password_hash }) {
              const others = yield* store.count(
                `select 1 from svc.identity_keys where identity_id = $1::text::uuid and passkey
               union all select 1 from svc.identity_links
               where identity_id = $1::text::uuid and provider <> $2 and provider = any ($3::text[])`,
                [id, provider, ids]
              )
              const removed = yield* store.count(
                "delete from svc.identity_links where identity_id = $1::text::uuid and provider = $2 returning 1",
                [id, provider]
              )
              if (removed === 0) return yield* noLink
              if (password_hash === null && others === 0) return yield* lastSignInMethod
              yield* messages.toOwner("removed", id)
            })
          )
          .pipe(
            Effect.catchIf(
              (error) => error.code === "IDENTITY_NOT_FOUND",
              () => Effect.fail(noLink)
            )
          )
      })
    }

    return { calls, providers, ownerOfLink, add, identify, linkTo }
  })
}) {
  static readonly layer = Layer.effect(ProviderLinks, ProviderLinks.make)
}
