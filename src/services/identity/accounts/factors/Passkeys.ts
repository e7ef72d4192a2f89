import { Context, Effect, Layer, Schema } from "effect"
import { Conflict, NotFound } from "../../../../domain/errors.ts"
import { type Credential } from "../../../../domain/identity/Identity.ts"
import { Flows } from "../Flows.ts"
import { AccountMessages } from "../Messages.ts"
import { Limits } from "../limits/Limits.ts"
import { flowExpired, unauthenticated } from "../Refusals.ts"
import { AccountSessions } from "../Sessions.ts"
import { iso, AccountStore } from "../Store.ts"
import { isKeyId, KeyChecks } from "./KeyChecks.ts"
import { AccountKeys } from "./Keys.ts"
import { SignInProviders } from "../../../ports/identity/Providers.ts"

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
export class AccountPasskeys extends Context.Service<AccountPasskeys>()("svc/identity/AccountPasskeys", {
  make: Effect.gen(function* () {
    const store = yield* AccountStore
    const sessions = yield* AccountSessions
    const flows = yield* Flows
    const messages = yield* AccountMessages
    const checks = yield* KeyChecks
    const limits = yield* Limits
    const keys = yield* AccountKeys
    const providers = (yield* SignInProviders).map(({ id }) => id)
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
            yield* messages.toOwner("removed", identity_id)
          })
        )
      }),

      beginPasskeyLogin: Effect.gen(function* () {
        yield* limits.takeOfClient("flows of")
        const publicKey = yield* checks.request(undefined)
        const { id } = yield* flows.begin("passkey", null, { challenge: publicKey.challenge })
        return { flowId: id, options: { publicKey }, cookies: [] }
      }),
      /** Signs in by a passkey. The key alone determines its owner, who must be the one that the key names. */
      passkeyLogin: Effect.fnUntraced(function* (flowId: string, assertion: string, kind: Credential["_tag"]) {
        const { data, used } = yield* flows.find(flowId, "passkey", null)
        if (used) return yield* flowExpired
        const key = yield* keys.shown(assertion, String(data["challenge"]), null, flows.use(flowId))
        const opened = sessions.open(key.identity_id, kind, "passkey")
        return yield* Effect.catchTag(opened, "Unauthorized", () => Effect.fail(unauthenticated))
      })
    }
  })
}) {
  static readonly layer = Layer.effect(AccountPasskeys, AccountPasskeys.make)
}
