import { Context, Effect, Layer, Schema } from "effect"
import { JsonObjectSchema } from "../../../domain/text/JsonObjectSchema.ts"
import { type MailProof } from "../../ports/identity/Accounts.ts"
import { flowExpired, flowForbidden, flowNotFound, wrongCode } from "./Refusals.ts"
import { MailedSecrets, wrongCodesOfMail } from "./mails/MailedSecrets.ts"
import { iso, isUuid, AccountStore } from "./Store.ts"
import { AccountSettings } from "../AccountSettings.ts"

/**
 * settings: a factor that is being added. passkey, factor: a challenge to sign in, or to complete a session. provider: a sign-in
 * at another service. supabase_…: those of Supabase's clients, which the service's own pages don't accept. administrator: the
 * link that makes the first one. The others wait for a mailed code or link.
 */
type FlowKind =
  | "settings"
  | "passkey"
  | "factor"
  | "provider"
  | "supabase_provider"
  | "supabase_factor"
  | "supabase_passkey"
  | "administrator"
  | "recovery"
  | "verification"
  | "email"
  | "registration"

/** Flows of one identity; beyond them the oldest are deleted. */
const maxFlows = 50

const BegunRow = Schema.Struct({ id: Schema.String, expires_at: Schema.String })
const FlowRow = Schema.Struct({
  kind: Schema.String,
  identity_id: Schema.NullOr(Schema.String),
  data: JsonObjectSchema,
  over: Schema.Boolean,
  used: Schema.Boolean,
  /** When it was begun, in s since 1970. */
  begun: Schema.Finite
})
export type Flow = typeof FlowRow.Type

/** The effect of one mailed message of a flow. */
export interface Way {
  /** SHA-256 of the link's token. */
  readonly token: string
  /** Signature of the code. */
  readonly code: string
  readonly identity: string | null
  readonly lookup: string
  /** Whether it went to the address, which it so proves. An operator's link did not. */
  readonly mailed: boolean
}

/** The ways of a flow; only this layer writes its data. */
export const waysOf = ({ data }: Flow): ReadonlyArray<Way> => (data["ways"] as ReadonlyArray<Way> | undefined) ?? []

/** Procedures of several steps. Their state is in PostgreSQL, so each step may reach another replica. */
export class Flows extends Context.Service<Flows>()("svc/identity/Flows", {
  make: Effect.gen(function* () {
    const { flowSeconds } = yield* AccountSettings
    const store = yield* AccountStore
    const secrets = yield* MailedSecrets
    const begun = store.rows(BegunRow)
    const flowRows = store.rows(FlowRow)
    const columns = `kind, identity_id::text, data, expires_at <= now() as over, used_at is not null as used,
      extract(epoch from expires_at - make_interval(secs => ${flowSeconds}::float8))::float8 as begun`

    const find = Effect.fnUntraced(function* (id: string, kind: FlowKind, identityId: string | null, lock = false) {
      const found = isUuid(id)
        ? yield* flowRows(
            `select ${columns} from svc.identity_flows where id = $1::text::uuid${lock ? " for update" : ""}`,
            [id]
          )
        : []
      const [row] = found
      if (row === undefined || row.kind !== kind) return yield* flowNotFound
      if (row.identity_id !== identityId) return yield* flowForbidden
      return row.over ? yield* flowExpired : row
    })
    const use = <E = typeof flowExpired>(id: string, over: E = flowExpired as E) =>
      Effect.flatMap(
        store.count(
          "update svc.identity_flows set used_at = now() where id = $1::text::uuid and used_at is null returning 1",
          [id]
        ),
        (uses) => (uses === 0 ? Effect.fail(over) : Effect.void)
      )

    /**
     * The way of the message that had a code or token. The newest code is valid, and the tokens of the last messages. A code is
     * counted before it is compared, in a statement of its own, so that parallel guesses count too.
     */
    const wayOf = Effect.fnUntraced(function* (id: string, kinds: ReadonlyArray<FlowKind>, proof: MailProof) {
      const limit = "code" in proof ? wrongCodesOfMail : wrongCodesOfMail + 1
      const [flow] = yield* flowRows(
        `update svc.identity_flows set tries = tries + $3::int4
         where id = $1::text::uuid and kind = any ($2::text[]) and used_at is null and expires_at > now() and tries < $4::int4
         returning ${columns}`,
        [id, [...kinds], "code" in proof ? 1 : 0, limit]
      )
      if (flow === undefined) {
        const [there] = yield* flowRows(
          `select ${columns} from svc.identity_flows where id = $1::text::uuid and kind = any ($2::text[])`,
          [id, [...kinds]]
        )
        return yield* there === undefined ? flowNotFound : flowExpired
      }
      const ways = waysOf(flow)
      if ("token" in proof) {
        const way = ways.find((one) => secrets.isToken(proof.token, one))
        return way === undefined ? yield* flowExpired : { flow, way }
      }
      const way = ways.at(-1)
      if (way === undefined || !(yield* secrets.isCode(id, proof.code, way))) return yield* wrongCode
      return { flow, way }
    })

    return {
      begin: Effect.fnUntraced(function* (kind: FlowKind, identityId: string | null, data: object) {
        const [row] = yield* begun(
          `insert into svc.identity_flows (kind, identity_id, data, expires_at)
         values ($1, $2::text::uuid, $3::text::jsonb, now() + make_interval(secs => $4::float8))
         returning id::text, ${iso("expires_at")} as expires_at`,
          [kind, identityId, JSON.stringify(data), flowSeconds]
        )
        if (row === undefined) return yield* Effect.die("The flow was not stored")
        if (identityId !== null) {
          yield* store.count(
            `delete from svc.identity_flows where id in (select id from svc.identity_flows
             where identity_id = $1::text::uuid order by expires_at desc offset ${maxFlows}) returning 1`,
            [identityId]
          )
        }
        return row
      }),
      /** 404, 403 if it is another identity's, 410 once it has expired. `lock`: in a transaction. */
      find,
      /** Fails with `over` if it has been used meanwhile. */
      use,
      /** Uses up a flow whose data contains this; 410 if no such flow is left. */
      take: Effect.fnUntraced(function* (id: string, kind: FlowKind, data: object) {
        const rows = isUuid(id)
          ? yield* flowRows(
              `update svc.identity_flows set used_at = now() where id = $1::text::uuid and kind = $2
               and data @> $3::text::jsonb and used_at is null and expires_at > now() returning ${columns}`,
              [id, kind, JSON.stringify(data)]
            )
          : []
        return rows[0] ?? (yield* flowExpired)
      }),
      /** Whether a flow that was proven has not ended since (TakeBack.ts). In a transaction that locks the account. */
      stands: (id: string) =>
        Effect.map(
          store.count("select 1 from svc.identity_flows where id = $1::text::uuid and data <> '{}'", [id]),
          (count) => count > 0
        ),
      setData: (id: string, data: object) =>
        store.count(
          "update svc.identity_flows set data = $2::text::jsonb where id = $1::text::uuid and used_at is null returning 1",
          [id, JSON.stringify(data)]
        ),

      /** Ends a flow by what its message contained: returns the message's way. */
      prove: Effect.fnUntraced(function* <E = never>(
        id: string,
        kinds: ReadonlyArray<FlowKind>,
        proof: MailProof,
        /** A further check before the flow is used up. */
        check: (flow: Flow) => Effect.Effect<void, E> = () => Effect.void
      ) {
        if (!isUuid(id)) return yield* flowNotFound
        const proven = yield* "code" in proof
          ? secrets.guess(undefined, wayOf(id, kinds, proof))
          : wayOf(id, kinds, proof)
        yield* check(proven.flow)
        yield* use(id)
        return proven
      })
    }
  })
}) {
  static readonly layer = Layer.effect(Flows, Flows.make)
}
