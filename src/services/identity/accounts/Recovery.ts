import { Context, Effect, Layer, Schema } from "effect"
import { readAddress } from "../../../domain/identity/Address.ts"
import { type Credential } from "../../../domain/identity/Identity.ts"
import { type MailProof } from "../../ports/identity/Accounts.ts"
import { Flows, waysOf } from "./Flows.ts"
import { Limits } from "./limits/Limits.ts"
import { acceptMail, mayGet } from "./mails/MailProof.ts"
import { AccountMessages } from "./Messages.ts"
import { flowExpired, invalidAddress, noIdentity } from "./Refusals.ts"
import { AccountSessions } from "./Sessions.ts"
import { hashOf, AccountStore } from "./Store.ts"

const AddressRow = Schema.Struct({ value: Schema.String, lookup: Schema.String })

const OwnRow = Schema.Struct({ id: Schema.String })

/** Messages of one flow whose links are valid. */
const maxWays = 3

/** Recovery by e-mail. Only the address as it is stored gets a message, never the one that was typed. */
export class AccountRecovery extends Context.Service<AccountRecovery>()("svc/identity/AccountRecovery", {
  make: Effect.gen(function* () {
    const store = yield* AccountStore
    const sessions = yield* AccountSessions
    const flows = yield* Flows
    const messages = yield* AccountMessages
    const limits = yield* Limits
    const addresses = store.rows(AddressRow)
    const owned = store.rows(OwnRow)

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
        const owner = yield* store.ownerOf(given.lookup)
        if (!mayGet("recovery", owner) || !(yield* messages.allowed("recovery", given.lookup))) return
        const to = { value: owner.value, lookup: given.lookup }
        yield* store.atomically(
          Effect.gen(function* () {
            // The link has a flow of its own: what another person does in theirs must not make the owner's message invalid.
            const { id } = yield* flows.begin("recovery", owner.id, {})
            const { mail, way } = yield* messages.way("recovery", flowId, to, owner.id)
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
          "select value, lookup from svc.identity_addresses where identity_id = $1::text::uuid order by verified_at nulls last limit 1",
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
        const { flow, way } = yield* flows.prove(flowId, ["recovery"], proof)
        const identityId = way.identity
        if (identityId === null) return yield* flowExpired
        return yield* store
          .exclusively(
            identityId,
            Effect.fnUntraced(function* (account) {
              const { lookup, mailed: proves } = way
              const stands = yield* flows.stands(flowId)
              const mail = {
                lookup,
                proves,
                sent: flow.begun,
                stands,
                purpose: "recovery",
                ownPassword: false
              } as const
              yield* acceptMail(store, account, mail, flowExpired)
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
