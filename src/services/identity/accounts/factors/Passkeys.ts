import { Effect, Schema } from "effect"
import { Conflict, NotFound } from "../../../../domain/errors.ts"
import { type Credential } from "../../../../domain/identity/Identity.ts"
import { type Flows } from "../Flows.ts"
import { type Limits } from "../limits/Limits.ts"
import { flowExpired, invalidPasskey, unauthenticated } from "../Refusals.ts"
import { type EmbeddedSessions } from "../Sessions.ts"
import { iso, type Store } from "../Store.ts"
import { isKeyId, type KeyChecks, readCredential } from "./KeyChecks.ts"
import { type EmbeddedKeys } from "./Keys.ts"

const PasskeyRow = Schema.Struct({
  id: Schema.String,
  display_name: Schema.String,
  added_at: Schema.String,
  last_used_at: Schema.NullOr(Schema.String),
  backed_up: Schema.Boolean
})
const passkeyColumns = `id, display_name, ${iso("added_at")} as added_at, ${iso("last_used_at")} as last_used_at, backed_up`

const lastMethod = new Conflict({
  error: "This passkey is the only way to sign in: set a password or add another passkey first",
  code: "LAST_SIGN_IN_METHOD"
})
const noPasskey = new NotFound({ error: "There is no such passkey", code: "PASSKEY_NOT_FOUND" })

/** Passkeys, which sign in. */
export const makePasskeys = (
  store: Store,
  sessions: EmbeddedSessions,
  flows: Flows,
  checks: KeyChecks,
  limits: Limits,
  keys: EmbeddedKeys,
  /** The ids of the providers at which people can sign in. */
  providers: ReadonlyArray<string>
) => {
  const passkeyRows = store.rows(PasskeyRow)
  const passkey = Effect.fnUntraced(function* (identityId: string, id: string) {
    if (!isKeyId(id)) return yield* noPasskey
    const [row] = yield* passkeyRows(
      `select ${passkeyColumns} from svc.identity_keys where identity_id = $1::text::uuid and id = $2 and passkey`,
      [identityId, id]
    )
    return row ?? (yield* noPasskey)
  })

  return {
    beginPasskey: (credential: Credential) =>
      Effect.flatMap(sessions.privileged(credential), (session) => keys.begin(session, true)),
    confirmPasskey: Effect.fnUntraced(function* (
      credential: Credential,
      flowId: string,
      attestation: string,
      displayName: string
    ) {
      const { id, session } = yield* keys.add(credential, flowId, attestation, displayName, true)
      return yield* passkey(session.identity_id, id)
    }),
    passkeys: Effect.fnUntraced(function* (credential: Credential) {
      const { identity_id } = yield* sessions.whole(credential)
      return yield* passkeyRows(
        `select ${passkeyColumns} from svc.identity_keys where identity_id = $1::text::uuid and passkey order by added_at, id`,
        [identity_id]
      )
    }),
    renamePasskey: Effect.fnUntraced(function* (credential: Credential, id: string, displayName: string) {
      const { identity_id } = yield* sessions.whole(credential)
      const name = yield* keys.nameOf(displayName, "Passkey")
      yield* passkey(identity_id, id)
      yield* store.count(
        "update svc.identity_keys set display_name = $3 where identity_id = $1::text::uuid and id = $2 and passkey returning 1",
        [identity_id, id, name]
      )
      return yield* passkey(identity_id, id)
    }),
    /** 409 for the last way to sign in. */
    removePasskey: Effect.fnUntraced(function* (credential: Credential, id: string) {
      const { identity_id } = yield* sessions.privileged(credential)
      yield* passkey(identity_id, id)
      yield* store.exclusively(
        identity_id,
        Effect.fnUntraced(function* ({ password_hash }) {
          const removed = yield* store.count(
            `delete from svc.identity_keys where identity_id = $1::text::uuid and id = $2 and passkey
               and ($3::bool or 1 < (select count(*) from svc.identity_keys where identity_id = $1::text::uuid and passkey)
                 or exists (select from svc.identity_links where identity_id = $1::text::uuid and provider = any ($4::text[])))
             returning 1`,
            [identity_id, id, password_hash !== null, providers]
          )
          if (removed === 0) return yield* lastMethod
        })
      )
    }),

    beginPasskeyLogin: Effect.gen(function* () {
      yield* limits.takeOfClient("flows of", 60, 60)
      const publicKey = yield* checks.request(undefined)
      const { id } = yield* flows.begin("passkey", null, { challenge: publicKey.challenge })
      return { flowId: id, options: { publicKey }, cookies: [] }
    }),
    /** Signs in by a passkey. The key alone determines its owner, who must be the one that the key names. */
    passkeyLogin: Effect.fnUntraced(function* (flowId: string, assertion: string, kind: Credential["_tag"]) {
      const { data, used } = yield* flows.find(flowId, "passkey", null)
      if (used) return yield* flowExpired
      const given = readCredential(assertion)
      const key = yield* keys.find(given?.id, null)
      if (key === undefined || given?.user !== key.identity_id) return yield* invalidPasskey
      const counter = yield* checks.asserted(assertion, String(data["challenge"]), key, true)
      // One challenge signs in once, even if two assertions arrive together.
      if ((yield* flows.use(flowId)) === 0) return yield* flowExpired
      yield* keys.counted(key.id, counter)
      return yield* Effect.catchIf(
        sessions.open(key.identity_id, kind, "passkey"),
        (error) => error._tag === "Unauthorized",
        () => Effect.fail(unauthenticated)
      )
    })
  }
}
