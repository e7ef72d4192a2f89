import { Context, Effect, Layer, Schema } from "effect"
import { readAddress } from "../../../domain/identity/Address.ts"
import { type Credential } from "../../../domain/identity/Identity.ts"
import { type MailProof } from "../../ports/identity/Accounts.ts"
import { Flows, waysOf } from "./Flows.ts"
import { Limits } from "./limits/Limits.ts"
import { AccountMessages } from "./Messages.ts"
import { flowExpired, invalidAddress, noIdentity } from "./Refusals.ts"
import { AccountSessions } from "./Sessions.ts"
import { hashOf, AccountStore } from "./Store.ts"
import { claimAddress, takeBack } from "./TakeBack.ts"
import { AccountSettings } from "../AccountSettings.ts"

const AddressRow = Schema.Struct({
  identity_id: Schema.String,
  value: Schema.String,
  lookup: Schema.String,
  verified: Schema.Boolean
})

const OwnRow = Schema.Struct({ id: Schema.String })

/** Messages of one flow whose links are valid. */
const maxWays = 3

/** Recovery by e-mail. Only the address as it is stored gets a message, never the one that was typed. */
export class AccountRecovery extends Context.Service<AccountRecovery>()("svc/identity/AccountRecovery", {
  make: Effect.gen(function* () {
    const { flowSeconds } = yield* AccountSettings
    const store = yield* AccountStore
    const sessions = yield* AccountSessions
    const flows = yield* Flows
    const messages = yield* AccountMessages
    const limits = yield* Limits
    const addresses = store.rows(AddressRow)
    const owned = store.rows(OwnRow)
    const columns = "a.identity_id::text, a.value, a.lookup, a.verified_at is not null as verified"

    /** The flow of a message's link; the given one, if the link has none. */
    const ownFlowOf = (flowId: string, token: string) =>
      Effect.map(
        owned(
          `select id::text from svc.identity_flows where kind = 'recovery' and data ->> 'of' = $1
           and data -> 'ways' @> jsonb_build_array(jsonb_build_object('token', $2::text))`,
          [flowId, hashOf(token)]
        ),
        ([row]) => row?.id ?? flowId
      )

    return {
      begin: Effect.gen(function* () {
        yield* limits.takeOfClient("flows of")
        const { expires_at, id } = yield* flows.begin("recovery", null, {})
        return { id, expiresAt: expires_at }
      }),

      send: Effect.fnUntraced(function* (flowId: string, email: string) {
        const flow = yield* flows.find(flowId, "recovery", null)
        if (flow.used) return yield* flowExpired
        const given = readAddress(email)
        if (given === undefined) return yield* invalidAddress
        const [to] = yield* addresses(
          `select ${columns} from svc.identity_addresses a join svc.identities i on i.id = a.identity_id
         where a.lookup = $1 and i.state = 'active'`,
          [given.lookup]
        )
        if (to === undefined || !(yield* messages.allowed("recovery", given.lookup))) return
        yield* store.atomically(
          Effect.gen(function* () {
            // The link has a flow of its own: what another person does in theirs must not make the owner's message invalid.
            const { id } = yield* flows.begin("recovery", to.identity_id, {})
            const { mail, way } = yield* messages.way("recovery", flowId, to, to.identity_id)
            yield* flows.setData(id, { of: flowId, ways: [way] })
            const now = yield* flows.find(flowId, "recovery", null, true)
            const stored = yield* flows.setData(flowId, { ways: [...waysOf(now), way].slice(-maxWays) })
            if (stored === 0) return yield* flowExpired
            yield* mail
          })
        )
      }),

      /** A link for an operator to hand over, without a message. */
      link: Effect.fnUntraced(function* (identityId: string) {
        const [to] = yield* addresses(
          `select ${columns} from svc.identity_addresses a where a.identity_id = $1::text::uuid order by verified_at nulls last limit 1`,
          [identityId]
        )
        if (to === undefined) return yield* noIdentity
        const { expires_at, id } = yield* flows.begin("recovery", identityId, {})
        const { link, way } = yield* messages.way("recovery", id, to, identityId, false)
        yield* flows.setData(id, { ways: [way] })
        return { link, expiresAt: expires_at }
      }),

      /** Signs in by a message, which proves the address. */
      confirm: Effect.fnUntraced(function* (given: string, proof: MailProof, kind: Credential["_tag"]) {
        const flowId = "token" in proof ? yield* ownFlowOf(given, proof.token) : given
        const { way } = yield* flows.prove(flowId, ["recovery"], proof, (code) => messages.codeOf(flowId, code))
        const identityId = way.identity
        if (identityId === null) return yield* flowExpired
        return yield* store
          .exclusively(
            identityId,
            Effect.fnUntraced(function* () {
              if (!(yield* flows.stands(flowId))) return yield* flowExpired
              const [address] = yield* addresses(
                `select ${columns} from svc.identity_addresses a where a.lookup = $1 and a.identity_id = $2::text::uuid`,
                [way.lookup, identityId]
              )
              // The address belongs to another account by now.
              if (address === undefined) return yield* flowExpired
              const since = yield* store.count(
                `select from svc.identities i join svc.identity_flows f on f.id = $2::text::uuid
               where i.id = $1::text::uuid and i.password_changed_at > f.expires_at - make_interval(secs => $3::float8)`,
                [identityId, flowId, flowSeconds]
              )
              // Someone may have changed it because another person reads their messages.
              if (since > 0) return yield* flowExpired
              // Another person may have registered the address, also if an operator has made the link.
              if (!address.verified) yield* claimAddress(store, identityId, way.mailed ? way.lookup : undefined)
              else yield* takeBack(store, identityId, "recovery")
              return yield* sessions.open(identityId, kind, "code" in proof ? "code_recovery" : "link_recovery")
            })
          )
          .pipe(Effect.catchTag("NotFound", () => Effect.fail(flowExpired)))
      })
    }
  })
}) {
  static readonly layer = Layer.effect(AccountRecovery, AccountRecovery.make)
}
