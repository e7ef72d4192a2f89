import { Clock, Context, Effect, Layer, Schema } from "effect"
import { type Unavailable } from "../../../domain/errors.ts"
import { type Credential } from "../../../domain/identity/Identity.ts"
import { type Address, readAddress } from "../../../domain/identity/Address.ts"
import { isPlainText } from "../../../domain/text/StorableText.ts"
import { AccountSettings } from "../AccountSettings.ts"
import { IdentitySignatures } from "../../access/Signatures.ts"
import { type ProviderCalls } from "../../ports/identity/Accounts.ts"
import { type ProviderLink, type ProvidedPerson, type ProviderProtocol } from "../../ports/identity/Providers.ts"
import { Flows } from "./Flows.ts"
import { Limits } from "./limits/Limits.ts"
import { AccountMessages } from "./Messages.ts"
import { AccountRecords } from "./Records.ts"
import {
  accountDisabled,
  flowForbidden,
  lastSignInMethod,
  linkExists,
  linkTaken,
  noLink,
  noProvidedAddress,
  providerNotFound,
  refuseAnswer,
  registrationClosed,
  signInFirst,
  unverifiedAddress
} from "./Refusals.ts"
import { AccountSessions } from "./Sessions.ts"
import { hashOf, iso, AccountStore } from "./Store.ts"
import { SignInProviders } from "../../ports/identity/Providers.ts"
import { OwnAccount } from "./Profile.ts"

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

const asciiLower = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())

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
    const flows = yield* Flows
    const messages = yield* AccountMessages
    const signatures = yield* IdentitySignatures
    const limits = yield* Limits
    const { verify } = yield* OwnAccount
    const linked = store.rows(LinkedRow)
    const owners = store.rows(OwnerRow)
    const listed = store.rows(ListedRow)
    const ids = providers.map(({ id }) => id)
    const providerOf = (id: string) =>
      Effect.suspend(() => {
        const found = providers.find((one) => one.id === id)
        return found === undefined ? Effect.fail(providerNotFound) : Effect.succeed(found)
      })

    /** Secrets of one attempt. They are not stored: only the browser that began it makes them possible again. */
    const attemptOf = Effect.fnUntraced(function* (state: string, browser: string, callback: string) {
      const verifier = yield* signatures.sign("provider-pkce", `${state} ${browser}`)
      const nonce = yield* signatures.sign("provider-nonce", `${state} ${browser}`)
      return { state, callback, verifier, nonce }
    })

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
      const verified = person.verified && asciiLower(person.email ?? "") === asciiLower(address.value)
      if (verifyFirst && !verified) return yield* unverifiedAddress
      const found = yield* owners(
        `select a.identity_id::text, a.value, a.verified_at is not null and i.state = 'active' as trusted
       from svc.identity_addresses a join svc.identities i on i.id = a.identity_id where a.lookup = $1`,
        [address.lookup]
      )
      const [owner] = found
      if (owner === undefined) return yield* create(provider, { ...person, verified }, address)
      const same = asciiLower(address.value) === asciiLower(owner.value)
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
      const id = yield* store.atomically(
        Effect.gen(function* () {
          const id = yield* records.create({
            address,
            traits: name !== undefined && isPlainText(name) ? { name } : {},
            metadataPublic: {},
            passwordHash: null,
            verified,
            state: "active"
          })
          if ((yield* add(id, provider.id, person, true)) === 0) return yield* linkTaken
          return id
        })
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

    /** Signs in. Sessions of the same person that the browser had (`before`) end. */
    const enter = Effect.fnUntraced(function* (
      provider: ProviderProtocol,
      person: ProvidedPerson,
      before: ReadonlyArray<Credential>
    ) {
      const id = yield* identify(provider, person)
      const signedIn = yield* Effect.catchTag(sessions.open(id, "Cookie", "oidc"), "Unauthorized", () =>
        Effect.fail(accountDisabled)
      )
      yield* Effect.forEach(before, (credential) => sessions.replace(credential, id))
      return signedIn
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

    const link = Effect.fnUntraced(function* (
      provider: ProviderProtocol,
      person: ProvidedPerson,
      identityId: string,
      credentials: ReadonlyArray<Credential>,
      flowId: string
    ) {
      // The person who completes it must still be signed in as the one who began it.
      const own = yield* Effect.findFirst(credentials, (credential) =>
        Effect.match(sessions.whole(credential), {
          onFailure: () => false,
          onSuccess: ({ identity_id }) => identity_id === identityId
        })
      )
      if (own._tag === "None") return yield* flowForbidden
      yield* linkTo(provider, person, identityId, flows.stands(flowId))
    })

    const calls: ProviderCalls = {
      list: providers.map(({ id, label }) => ({ id, label })),

      begin: Effect.fnUntraced(function* ({ again = false, browser, callback, credential, provider: name, returnTo }) {
        const provider = yield* providerOf(name)
        yield* limits.takeOfClient("flows of")
        const identityId = credential === undefined ? null : (yield* sessions.privileged(credential)).identity_id
        const since = again ? Math.floor((yield* Clock.currentTimeMillis) / 1000) : undefined
        const data = { provider: name, browser: hashOf(browser), callback, returnTo, since }
        const { id } = yield* flows.begin("provider", identityId, data)
        return yield* provider.start({ ...(yield* attemptOf(id, browser, callback)), again })
      }),

      finish: Effect.fnUntraced(function* ({ browser, credentials, provider: name, query }) {
        const provider = yield* providerOf(name)
        const state = query.get("state") ?? ""
        const { data, identity_id } = yield* flows.take(state, "provider", { provider: name, browser: hashOf(browser) })
        const returnTo = typeof data["returnTo"] === "string" ? data["returnTo"] : undefined
        const outcome = Effect.gen(function* () {
          yield* refuseAnswer(query)
          const attempt = yield* attemptOf(state, browser, String(data["callback"]))
          const since = typeof data["since"] === "number" ? data["since"] : undefined
          const { person } = yield* provider.finish({ ...attempt, since }, query)
          return identity_id === null
            ? yield* enter(provider, person, credentials)
            : yield* link(provider, person, identity_id, credentials, state)
        })
        return { provider, returnTo, linking: identity_id !== null, outcome }
      }),

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

    return { calls, providers, attemptOf, ownerOfLink, add, identify, linkTo }
  })
}) {
  static readonly layer = Layer.effect(ProviderLinks, ProviderLinks.make)
}
