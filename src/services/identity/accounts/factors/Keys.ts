import { Context, Effect, Layer, Schema } from "effect"
import { Conflict, InvalidRequest, NotFound } from "../../../../domain/errors.ts"
import { accountOf, type Credential } from "../../../../domain/identity/Identity.ts"
import { isPlainText } from "../../../../domain/text/StorableText.ts"
import { Flows } from "../Flows.ts"
import { AccountMessages } from "../Messages.ts"
import { KeyChecks, readCredential } from "./KeyChecks.ts"
import { flowExpired, invalidSecurityKey, invalidPasskey } from "../Refusals.ts"
import { AccountSessions, type SessionRow } from "../Sessions.ts"
import { AccountStore } from "../Store.ts"

const KeyRow = Schema.Struct({
  id: Schema.String,
  identity_id: Schema.String,
  public_key: Schema.String,
  transports: Schema.Array(Schema.String)
})
const keyColumns = "id, identity_id::text, encode(public_key, 'base64') as public_key, transports"

/** Keys of one account, so that lists of excluded ids stay short. */
const maxKeys = 50

const registered = new Conflict({ error: "This key is registered already", code: "WEBAUTHN_EXISTS" })

/** Keys of WebAuthn, and those of them that are second factors; Passkeys.ts has the others. */
export class AccountKeys extends Context.Service<AccountKeys>()("svc/identity/AccountKeys", {
  make: Effect.gen(function* () {
    const store = yield* AccountStore
    const sessions = yield* AccountSessions
    const flows = yield* Flows
    const checks = yield* KeyChecks
    const messages = yield* AccountMessages
    const keys = store.rows(KeyRow)
    const ids = (identityId: string, only?: "security keys") =>
      Effect.map(
        keys(
          `select ${keyColumns} from svc.identity_keys
         where identity_id = $1::text::uuid and ($2::text is null or not passkey) order by added_at, id`,
          [identityId, only ?? null]
        ),
        (all) => all.map(({ id }) => id)
      )

    /** A passkey or, of one account, a security key. */
    const find = (id: string | undefined, ofIdentity: string | null) =>
      Effect.map(
        keys(
          `select ${keyColumns} from svc.identity_keys
         where id = $1 and case when $2::text is null then passkey else identity_id = $2::text::uuid and not passkey end`,
          [id ?? "", ofIdentity]
        ),
        ([row]) => row && { ...row, publicKey: row.public_key }
      )

    const nameOf = (given: string, fallback: string) => {
      const name = given.trim() === "" ? fallback : given.trim()
      return name.length <= 200 && isPlainText(name)
        ? Effect.succeed(name)
        : Effect.fail(new InvalidRequest({ error: "The display name must be one line of at most 200 characters" }))
    }

    /** Options for another key of an account. */
    const creation = Effect.fnUntraced(function* (identityId: string, passkey: boolean) {
      const identity = yield* Effect.orDie(store.identity(identityId))
      const exclude = yield* ids(identity.id)
      if (exclude.length >= maxKeys) {
        return yield* new Conflict({ error: `An account can have at most ${maxKeys} keys`, code: "TOO_MANY_KEYS" })
      }
      return yield* checks.creation(identity.id, accountOf(identity), exclude, passkey)
    })

    const begin = Effect.fnUntraced(function* ({ identity_id }: SessionRow, passkey: boolean) {
      const publicKey = yield* creation(identity_id, passkey)
      const { id } = yield* flows.begin("settings", identity_id, { challenge: publicKey.challenge, passkey })
      return { flowId: id, options: { publicKey } }
    })

    /** Adds the key in an attestation of a challenge, and returns its id. In a transaction. */
    const register = Effect.fnUntraced(function* (
      identityId: string,
      attestation: string,
      challenge: string,
      name: string,
      passkey: boolean
    ) {
      const key = yield* checks.attested(attestation, challenge, passkey)
      const added = yield* store.count(
        `insert into svc.identity_keys (id, identity_id, passkey, public_key, counter, transports, display_name, backed_up)
       values ($1, $2::text::uuid, $3::bool, decode($4, 'base64'), $5::float8::bigint, $6::text[], $7, $8::bool)
       on conflict do nothing returning 1`,
        [key.id, identityId, passkey, key.publicKey, key.counter, key.transports, name, key.backedUp]
      )
      if (added === 0) return yield* registered
      yield* messages.toOwner(passkey ? "passkey" : "key", identityId)
      return key.id
    })

    const add = Effect.fnUntraced(function* (
      credential: Credential,
      flowId: string,
      attestation: string,
      given: string,
      passkey: boolean
    ) {
      yield* flows.find(flowId, "settings", (yield* sessions.whole(credential)).identity_id)
      const session = yield* sessions.privileged(credential)
      const name = yield* nameOf(given, passkey ? "Passkey" : "Security Key")
      const known = readCredential(attestation)?.id
      return yield* store.exclusively(
        session.identity_id,
        Effect.fnUntraced(function* ({ id }) {
          const { data, used } = yield* flows.find(flowId, "settings", id, true)
          if (
            known !== undefined &&
            (yield* keys(`select ${keyColumns} from svc.identity_keys where id = $1`, [known])).length > 0
          ) {
            return yield* registered
          }
          if (used || typeof data["challenge"] !== "string" || data["passkey"] !== passkey)
            return yield* invalidSecurityKey
          const keyId = yield* register(id, attestation, data["challenge"], name, passkey)
          yield* flows.use(flowId)
          if (!passkey) yield* sessions.raise(session.id, "webauthn", false)
          return { session, id: keyId }
        })
      )
    })

    /**
     * Uses a key whose assertion is valid. A counter that does not grow is a copy of the key's (WebAuthn 3, 6.1.1); two
     * sign-ins at the same moment may arrive in either order.
     */
    const counted = Effect.fnUntraced(function* (id: string, counter: number) {
      const used = yield* store.count(
        `update svc.identity_keys set counter = greatest(counter, $2::float8::bigint), last_used_at = now()
       where id = $1 and ($2::float8::bigint > counter or ($2::float8 = 0 and counter = 0) or last_used_at > now() - interval '5 s')
       returning 1`,
        [id, counter]
      )
      if (used > 0) return
      yield* Effect.logWarning(
        "Passkey or security key refused: its signature counter did not grow, so it may be a copy"
      )
      return yield* invalidPasskey
    })

    /**
     * Verifies an assertion of a challenge: by a security key of an account (`only`: by this one), or, `identityId` null, by a
     * passkey, which alone determines its owner, who must be the one that the key names. `use` ends the challenge, so that two
     * assertions of it that arrive together are one.
     */
    const shown = Effect.fnUntraced(function* <E>(
      assertion: string,
      challenge: string,
      identityId: string | null,
      use: Effect.Effect<void, E>,
      only?: string | null
    ) {
      const credential = readCredential(assertion)
      const key = yield* find(credential?.id, identityId)
      if (key === undefined || (only !== undefined && key.id !== only)) return yield* invalidPasskey
      if (identityId === null && credential?.user !== key.identity_id) return yield* invalidPasskey
      const counter = yield* checks.asserted(assertion, challenge, key, identityId === null)
      yield* use
      yield* counted(key.id, counter)
      return key
    })

    return {
      nameOf,
      creation,
      register,
      begin,
      add,
      shown,
      beginKey: Effect.fnUntraced(function* (credential: Credential) {
        const session = yield* sessions.whole(credential)
        return { ...(yield* begin(session, false)), cookies: sessions.cookiesOf(credential, session) }
      }),
      confirmKey: Effect.fnUntraced(function* (
        credential: Credential,
        flowId: string,
        attestation: string,
        displayName: string
      ) {
        const { session } = yield* add(credential, flowId, attestation, displayName, false)
        return sessions.cookiesOf(credential, session)
      }),
      /** All security keys without an id, which succeeds when there are none. */
      removeKeys: Effect.fnUntraced(function* (credential: Credential, id: Uint8Array | undefined) {
        const session = yield* sessions.privileged(credential)
        const removed = yield* store.count(
          `delete from svc.identity_keys
         where identity_id = $1::text::uuid and not passkey and ($2::text is null or id = $2::text) returning 1`,
          [session.identity_id, id === undefined ? null : Buffer.from(id).toString("base64url")]
        )
        if (removed === 0 && id !== undefined)
          return yield* new NotFound({ error: "There is no such key", code: "WEBAUTHN_NOT_FOUND" })
        if (removed > 0) yield* messages.toOwner("removed", session.identity_id)
        return sessions.cookiesOf(credential, session)
      }),
      /** A challenge for the account's security keys; null when it has none. */
      beginShow: Effect.fnUntraced(function* (identityId: string) {
        const allow = yield* ids(identityId, "security keys")
        if (allow.length === 0) return null
        const publicKey = yield* checks.request(allow)
        const { id } = yield* flows.begin("factor", identityId, { challenge: publicKey.challenge })
        return { flowId: id, options: { publicKey } }
      }),
      /** Verifies an assertion of one of the account's security keys. */
      show: Effect.fnUntraced(function* (identityId: string, flowId: string, assertion: string) {
        const { data, used } = yield* flows.find(flowId, "factor", identityId)
        if (used) return yield* flowExpired
        yield* shown(assertion, String(data["challenge"]), identityId, flows.use(flowId))
      })
    }
  })
}) {
  static readonly layer = Layer.effect(AccountKeys, AccountKeys.make)
}
