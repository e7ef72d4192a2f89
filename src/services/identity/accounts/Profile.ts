import { Context, Effect, Layer } from "effect"
import { InvalidRequest, NotFound } from "../../../domain/errors.ts"
import { type Credential } from "../../../domain/identity/Identity.ts"
import { type Address } from "../../../domain/identity/Address.ts"
import { passwordFault } from "../../../domain/identity/Password.ts"
import { type JsonObject } from "../../../domain/text/JsonObject.ts"
import { AccountSettings } from "../AccountSettings.ts"
import { paced } from "../Pace.ts"
import { type ConfirmedBy, type MailProof } from "../../ports/identity/Accounts.ts"
import { type Flow, Flows, type Way } from "./Flows.ts"
import { hookErrorsOfPages } from "./hooks/AuthHooks.ts"
import { Limits } from "./limits/Limits.ts"
import { acceptMail, mayGet } from "./mails/MailProof.ts"
import { AccountMessages } from "./Messages.ts"
import { Passwords } from "./passwords/Passwords.ts"
import { PasswordSignIn } from "./passwords/PasswordSignIn.ts"
import { addressOf, AccountRecords } from "./Records.ts"
import {
  addressTaken,
  changeNeedsSession,
  flowExpired,
  invalidPassword,
  methodDisabled,
  passwordNeeded,
  unauthenticated,
  wrongPassword
} from "./Refusals.ts"
import { AccountSessions } from "./Sessions.ts"
import { AccountStore } from "./Store.ts"

const emailFixed = new InvalidRequest({ error: "traits.email can't be set here: use POST /api/auth/account/email" })

/** A person's own account: registration, its address, traits and password. */
export class OwnAccount extends Context.Service<OwnAccount>()("svc/identity/OwnAccount", {
  make: Effect.gen(function* () {
    const { registration, verifyFirst } = yield* AccountSettings
    const store = yield* AccountStore
    const records = yield* AccountRecords
    const sessions = yield* AccountSessions
    const flows = yield* Flows
    const messages = yield* AccountMessages
    const passwords = yield* Passwords
    const byPassword = yield* PasswordSignIn
    const limits = yield* Limits
    /** Stores the way of a message in its flow, and the message. */
    const mailed = Effect.fnUntraced(function* (
      kind: "verification" | "email" | "registration",
      to: { readonly value: string; readonly lookup: string },
      identityId: string | null,
      more: object
    ) {
      return yield* store.atomically(
        Effect.gen(function* () {
          const { id } = yield* flows.begin(kind, identityId, {})
          const { mail, way } = yield* messages.way(kind, id, to, identityId)
          yield* flows.setData(id, { ...more, ways: [way] })
          yield* mail
          return { flowId: id }
        })
      )
    })
    /** A flow that no code completes, for addresses that must look like others. */
    const unmailed = (kind: "verification" | "email" | "registration") =>
      Effect.map(flows.begin(kind, null, {}), ({ id }) => ({ flowId: id }))

    const newAccount = (given: { readonly hash: string; readonly traits: JsonObject }, verified: boolean) => ({
      traits: given.traits,
      metadataPublic: {},
      passwordHash: given.hash,
      verified,
      state: "active" as const,
      provider: "email"
    })

    const registered = Effect.fnUntraced(function* ({ data }: Flow, { lookup }: Way, kind: Credential["_tag"]) {
      const { admitted, email, hash, traits } = data as {
        readonly admitted?: string
        readonly email: string
        readonly hash: string
        readonly traits: JsonObject
      }
      const id = yield* hookErrorsOfPages(
        records.enter({
          address: { value: email, lookup },
          ...newAccount({ hash, traits }, true),
          ...(admitted === undefined ? {} : { admitted })
        })
      )
      return yield* sessions.open(id, kind, "password")
    })

    const confirmed = Effect.fnUntraced(function* (flowId: string, flow: Flow, way: Way) {
      const id = way.identity
      if (id === null) return yield* flowExpired
      yield* store.exclusively(
        id,
        Effect.fnUntraced(function* (account) {
          const stands = yield* flows.stands(flowId)
          if (flow.kind === "email") {
            if (account.state !== "active" || !stands) return yield* flowExpired
            return yield* records.replaceAddress(id, yield* addressOf(String(flow.data["email"])), true)
          }
          const { lookup, mailed: proves } = way
          const mail = { lookup, proves, sent: flow.begun, stands, purpose: "confirmation", ownPassword: true } as const
          if (!(yield* acceptMail(store, account, mail, flowExpired))) yield* records.setVerified(id, true)
        })
      )
      return undefined
    })

    /** A change of address is confirmed in the session that requested it: the new address alone shows nothing of the owner. */
    const sameSession = Effect.fnUntraced(function* ({ data }: Flow, credentials: ReadonlyArray<Credential>) {
      const found = yield* Effect.findFirst(credentials, (credential) =>
        Effect.match(sessions.whole(credential), {
          onFailure: () => false,
          onSuccess: ({ id }) => id === data["session"]
        })
      )
      if (found._tag === "None") return yield* changeNeedsSession
    })

    /**
     * A code is typed where the registration was begun. A link may be opened by the owner of an address that another
     * person has registered, so it needs the password of the registration.
     */
    const samePerson = Effect.fnUntraced(function* (
      flowId: string,
      { data }: Flow,
      proof: MailProof,
      password?: string
    ) {
      if ("code" in proof) return
      if (password === undefined) return yield* passwordNeeded
      yield* byPassword.confirm(`registration ${flowId}`, String(data["hash"]), password, wrongPassword)
    })

    /** Sets the password of a session that still stands, ends all others, and notifies the owner. */
    const replacePassword = <E>(
      session: { readonly id: string; readonly identityId: string },
      hash: string,
      ended: E
    ) =>
      store.exclusively(
        session.identityId,
        Effect.fnUntraced(function* ({ id }) {
          // Its owner may have taken the account back meanwhile.
          if (!(yield* sessions.stands(session.id))) return yield* Effect.fail(ended)
          yield* records.setPassword(id, hash, { session: session.id })
          yield* messages.toOwner("password", id)
        })
      )

    /** Limits requests to change an address, and notifies the owner of one. `taken`: the new one has another account. */
    const announceAddress = Effect.fnUntraced(function* (identityId: string, address: Address) {
      yield* limits.take("addresses of", identityId)
      const owner = yield* store.ownerOf(address.lookup)
      const before = (yield* store.identity(identityId)).addresses[0]?.value
      if (before !== undefined) yield* messages.notice("address", identityId, before, address.value)
      return { before, taken: owner !== undefined && owner.id !== identityId }
    })

    return {
      replacePassword,
      announceAddress,
      register: Effect.fnUntraced(function* (given: {
        readonly email: string
        readonly password: string
        readonly traits: JsonObject
        readonly kind: Credential["_tag"]
      }) {
        if (!registration) return yield* methodDisabled
        const address = yield* addressOf(given.email)
        const fault = passwordFault(given.password, address.value)
        if (fault !== undefined) return yield* invalidPassword(fault)
        yield* limits.takeOfClient("registrations of")
        const account = newAccount({ hash: yield* passwords.hash(given.password), traits: given.traits }, false)
        if (!verifyFirst) {
          if ((yield* store.ownerOf(address.lookup)) !== undefined) return yield* addressTaken
          const id = yield* hookErrorsOfPages(records.enter({ address, ...account }))
          if (yield* messages.allowed("verification", address.lookup)) yield* mailed("verification", address, id, {})
          return yield* sessions.open(id, given.kind, "password")
        }
        // Asked for every address: only for new ones, its answer and its time would reveal which have an account.
        const asked = { email: address.value, data: given.traits, provider: "email" }
        const admitted = yield* hookErrorsOfPages(records.admit(asked))
        return yield* paced(
          Effect.gen(function* () {
            const owner = yield* store.ownerOf(address.lookup)
            if (!(yield* messages.allowed("registration", address.lookup))) return yield* unmailed("registration")
            if (owner === undefined) {
              const { passwordHash: hash, traits } = account
              return yield* mailed("registration", address, null, { email: address.value, hash, traits, admitted })
            }
            yield* messages.signedUpAgain(owner)
            return yield* unmailed("registration")
          })
        )
      }),

      verify: Effect.fnUntraced(function* (email: string) {
        const address = yield* addressOf(email)
        yield* limits.takeOfClient("flows of")
        return yield* paced(
          Effect.gen(function* () {
            const owner = yield* store.ownerOf(address.lookup)
            if (!mayGet("verification", owner) || !(yield* messages.allowed("verification", address.lookup))) {
              return yield* unmailed("verification")
            }
            const to = { value: owner.value, lookup: address.lookup }
            return yield* mailed("verification", to, owner.id, {})
          })
        )
      }),

      confirmVerification: Effect.fnUntraced(function* (
        flowId: string,
        proof: MailProof,
        kind: Credential["_tag"],
        { credentials, password }: ConfirmedBy
      ) {
        const kinds = ["verification", "email", "registration"] as const
        const { flow, way } = yield* flows.prove(
          flowId,
          kinds,
          proof,
          Effect.fnUntraced(function* (flow) {
            if (flow.kind === "email") yield* sameSession(flow, credentials)
            if (flow.kind === "registration") yield* samePerson(flowId, flow, proof, password)
          })
        )
        return yield* flow.kind === "registration"
          ? registered(flow, way, kind)
          : Effect.catchTag(confirmed(flowId, flow, way), "NotFound", () => Effect.fail(flowExpired))
      }),

      /** Ends all other sessions, and what they have begun: one of them may be the reason. */
      setPassword: Effect.fnUntraced(function* (credential: Credential, password: string) {
        const session = yield* sessions.privileged(credential)
        const { addresses } = yield* Effect.orDie(store.identity(session.identity_id))
        const hash = yield* byPassword.hashOf(password, addresses[0]?.value, invalidPassword)
        yield* replacePassword({ id: session.id, identityId: session.identity_id }, hash, unauthenticated)
        return yield* sessions.signedIn(credential)
      }),

      setTraits: Effect.fnUntraced(function* (credential: Credential, traits: JsonObject) {
        const { identity_id } = yield* sessions.whole(credential)
        const before = yield* Effect.orDie(store.identity(identity_id))
        const { email } = before.traits
        if (traits["email"] !== undefined && traits["email"] !== email) return yield* emailFixed
        yield* store.atomically(
          records.setTraits(identity_id, { ...traits, ...(email === undefined ? {} : { email }) })
        )
        return yield* store.identity(identity_id)
      }),

      changeEmail: Effect.fnUntraced(function* (credential: Credential, email: string) {
        const { id: session, identity_id } = yield* sessions.privileged(credential)
        const address = yield* addressOf(email)
        return yield* paced(
          Effect.gen(function* () {
            const { taken } = yield* announceAddress(identity_id, address)
            if (taken || !(yield* messages.allowed("email", address.lookup))) return yield* unmailed("email")
            return yield* mailed("email", address, identity_id, { email: address.value, session })
          })
        )
      }),

      remove: Effect.fnUntraced(function* (credential: Credential) {
        const { identity_id } = yield* sessions.privileged(credential)
        const removed = yield* records.remove(identity_id)
        if (removed === 0) return yield* new NotFound({ error: "The account was deleted already" })
      })
    }
  })
}) {
  static readonly layer = Layer.effect(OwnAccount, OwnAccount.make)
}
