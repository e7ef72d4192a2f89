import { Effect, Schema } from "effect"
import { InvalidRequest, NotFound } from "../../../domain/errors.ts"
import { type Credential } from "../../../domain/identity/Identity.ts"
import { passwordFault } from "../../../domain/identity/Password.ts"
import { type JsonObject } from "../../../domain/text/JsonObject.ts"
import { type AccountSettings } from "../../../services/identity/AccountSettings.ts"
import { paced } from "../../../services/identity/Pace.ts"
import { type MailProof } from "../../../services/ports/identity/Accounts.ts"
import { type Flow, type Flows, type Way } from "./Flows.ts"
import { type Limits } from "./Limits.ts"
import { type Messages } from "./Messages.ts"
import { type Passwords } from "./Passwords.ts"
import { addressOf, type Records } from "./Records.ts"
import { flowExpired, invalidPassword, methodDisabled } from "./Refusals.ts"
import { type EmbeddedSessions } from "./Sessions.ts"
import { type Store } from "./Store.ts"

const OwnerRow = Schema.Struct({ identity_id: Schema.String, value: Schema.String, verified: Schema.Boolean })

const emailFixed = new InvalidRequest({ error: "traits.email can't be set here: use POST /api/auth/account/email" })

/** A person's own account: registration, its address, traits and password. */
export const makeProfile = (
  { registration, verifyFirst }: AccountSettings["Service"],
  store: Store,
  records: Records,
  sessions: EmbeddedSessions,
  flows: Flows,
  messages: Messages,
  passwords: Passwords,
  limits: Limits
) => {
  const owners = store.rows(OwnerRow)
  const ownerOf = (lookup: string) =>
    Effect.map(
      owners(
        "select identity_id::text, value, verified_at is not null as verified from svc.identity_addresses where lookup = $1",
        [lookup]
      ),
      ([row]) => row
    )

  /** Stores the way of a message in its flow, and the message. */
  const mailed = Effect.fnUntraced(function* (
    kind: "verification" | "email" | "registration",
    to: { readonly value: string; readonly lookup: string },
    identityId: string | null,
    more: object
  ) {
    return yield* store.atomically(
      Effect.gen(function* () {
        const { id } = yield* flows.begin(kind, null, {})
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
    state: "active" as const
  })

  const registered = Effect.fnUntraced(function* ({ data }: Flow, { lookup }: Way, kind: Credential["_tag"]) {
    const { email, hash, traits } = data as {
      readonly email: string
      readonly hash: string
      readonly traits: JsonObject
    }
    const address = { value: email, lookup }
    const id = yield* store.atomically(records.create({ address, ...newAccount({ hash, traits }, true) }))
    return yield* sessions.open(id, kind, "password")
  })

  const confirmed = Effect.fnUntraced(function* (flow: Flow, way: Way) {
    const id = way.identity
    if (id === null) return yield* flowExpired
    if (flow.kind === "verification") {
      const changed = yield* store.count(
        `update svc.identity_addresses set verified_at = coalesce(verified_at, now())
         where lookup = $1 and identity_id = $2::text::uuid returning 1`,
        [way.lookup, id]
      )
      return changed === 0 ? yield* flowExpired : undefined
    }
    const address = yield* addressOf(String(flow.data["email"]))
    yield* store.exclusively(id, () => records.replaceAddress(id, address, true))
    return undefined
  })

  return {
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
      yield* limits.takeOfClient("registrations of", 10, 3600)
      const account = newAccount({ hash: yield* passwords.hash(given.password), traits: given.traits }, false)
      if (!verifyFirst) {
        const id = yield* store.atomically(records.create({ address, ...account }))
        if (yield* messages.allowed(address.lookup)) yield* mailed("verification", address, id, {})
        return yield* sessions.open(id, given.kind, "password")
      }
      return yield* paced(
        Effect.gen(function* () {
          const mayMail = yield* messages.allowed(address.lookup)
          const owner = yield* ownerOf(address.lookup)
          if (!mayMail) return yield* unmailed("registration")
          if (owner === undefined) {
            const { passwordHash: hash, traits } = account
            return yield* mailed("registration", address, null, { email: address.value, hash, traits })
          }
          yield* messages.notice("known", owner.value)
          return yield* unmailed("registration")
        })
      )
    }),

    verify: Effect.fnUntraced(function* (email: string) {
      const address = yield* addressOf(email)
      yield* limits.takeOfClient("flows of", 60, 60)
      return yield* paced(
        Effect.gen(function* () {
          const mayMail = yield* messages.allowed(address.lookup)
          const owner = yield* ownerOf(address.lookup)
          if (owner === undefined || owner.verified || !mayMail) return yield* unmailed("verification")
          const to = { value: owner.value, lookup: address.lookup }
          return yield* mailed("verification", to, owner.identity_id, {})
        })
      )
    }),

    confirmVerification: Effect.fnUntraced(function* (flowId: string, proof: MailProof, kind: Credential["_tag"]) {
      const kinds = ["verification", "email", "registration"] as const
      const { flow, way } = yield* flows.prove(flowId, kinds, proof, (code) => messages.codeOf(flowId, code))
      return yield* flow.kind === "registration"
        ? registered(flow, way, kind)
        : Effect.catchTag(confirmed(flow, way), "NotFound", () => Effect.fail(flowExpired))
    }),

    /** Ends all other sessions: one of them may be the reason. */
    setPassword: Effect.fnUntraced(function* (credential: Credential, password: string) {
      const session = yield* sessions.privileged(credential)
      const { addresses } = yield* Effect.orDie(store.identity(session.identity_id))
      const fault = passwordFault(password, addresses[0]?.value)
      if (fault !== undefined) return yield* invalidPassword(fault)
      const hash = yield* passwords.hash(password)
      yield* Effect.orDie(
        store.exclusively(
          session.identity_id,
          Effect.fnUntraced(function* ({ id }) {
            yield* records.setPassword(id, hash)
            yield* sessions.endAll(id, session.id)
            const to = addresses[0]?.value
            if (to === undefined) return
            yield* messages.notice("password", to)
          })
        )
      )
      return yield* sessions.signedIn(credential)
    }),

    setTraits: Effect.fnUntraced(function* (credential: Credential, traits: JsonObject) {
      const { identity_id } = yield* sessions.whole(credential)
      const before = yield* Effect.orDie(store.identity(identity_id))
      const { email } = before.traits
      if (traits["email"] !== undefined && traits["email"] !== email) return yield* emailFixed
      yield* store.atomically(records.setTraits(identity_id, { ...traits, ...(email === undefined ? {} : { email }) }))
      return yield* store.identity(identity_id)
    }),

    changeEmail: Effect.fnUntraced(function* (credential: Credential, email: string) {
      const { identity_id } = yield* sessions.privileged(credential)
      const address = yield* addressOf(email)
      yield* limits.take("addresses of", identity_id, 5, 3600)
      return yield* paced(
        Effect.gen(function* () {
          const mayMail = yield* messages.allowed(address.lookup)
          const owner = yield* ownerOf(address.lookup)
          const { addresses } = yield* Effect.orDie(store.identity(identity_id))
          const before = addresses[0]?.value
          if (before !== undefined) yield* messages.notice("address", before, address.value)
          if (!mayMail || (owner !== undefined && owner.identity_id !== identity_id)) return yield* unmailed("email")
          return yield* mailed("email", address, identity_id, { email: address.value })
        })
      )
    }),

    remove: Effect.fnUntraced(function* (credential: Credential) {
      const { identity_id } = yield* sessions.privileged(credential)
      const removed = yield* store.atomically(
        store.count("delete from svc.identities where id = $1::text::uuid returning 1", [identity_id])
      )
      if (removed === 0) return yield* new NotFound({ error: "The account was deleted already" })
    })
  }
}
