import { Clock, Context, Effect, Layer, Schema } from "effect"
import { uuidOf } from "../../../../domain/sql/Uuids.ts"
import { Forbidden, InvalidRequest, NotFound, Unprocessable } from "../../../../domain/errors.ts"
import { insufficientAal, validationFailed, reauthenticationNeeded } from "../../../../domain/supabase/AuthErrors.ts"
import { isPlainText } from "../../../../domain/text/StorableText.ts"
import { type AuthCalls, type CurrentSession } from "../../../ports/supabase/AuthCalls.ts"
import { KeyChecks } from "../factors/KeyChecks.ts"
import { AccountKeys } from "../factors/Keys.ts"
import { Flows } from "../Flows.ts"
import { Limits } from "../limits/Limits.ts"
import { iso, isUuid, AccountStore } from "../Store.ts"
import { isStale } from "./Account.ts"
import { SupabaseTokens } from "./Tokens.ts"
import { Users } from "./Users.ts"
import { AccountSettings } from "../../AccountSettings.ts"

/** How long a challenge is valid, in s. */
const challengeSeconds = 300

const noChallenge = new InvalidRequest({ error: "Challenge not found", code: "webauthn_challenge_not_found" })
const expired = new InvalidRequest({ error: "Challenge has expired", code: "webauthn_challenge_expired" })
const wrong = new InvalidRequest({ error: "Credential verification failed", code: "webauthn_verification_failed" })
const known = new Unprocessable({
  error: "This credential is already registered",
  code: "webauthn_credential_exists"
})
const tooMany = new Unprocessable({ error: "Maximum number of passkeys reached", code: "too_many_passkeys" })
const noPasskey = new NotFound({ error: "Passkey not found", code: "webauthn_credential_not_found" })
const notConfirmed = new Forbidden({ error: "Email not confirmed", code: "email_not_confirmed" })

const PasskeyRow = Schema.Struct({
  id: Schema.String,
  friendly_name: Schema.String,
  created_at: Schema.String,
  last_used_at: Schema.NullOr(Schema.String)
})
const columns = `${uuidOf("k.id")}::text as id, k.display_name as friendly_name, ${iso("k.added_at")} as created_at,
  ${iso("k.last_used_at")} as last_used_at`
const ConfirmedRow = Schema.Struct({ confirmed: Schema.Boolean })

/** Passkeys of Supabase's clients, which are those of the account: the service's own pages accept them too. */
export class SupabasePasskeys extends Context.Service<SupabasePasskeys>()("svc/identity/SupabasePasskeys", {
  make: Effect.gen(function* () {
    const { reauthentication, verifyFirst } = yield* AccountSettings
    const store = yield* AccountStore
    const flows = yield* Flows
    const keys = yield* AccountKeys
    const checks = yield* KeyChecks
    const limits = yield* Limits
    const tokens = yield* SupabaseTokens
    const users = yield* Users
    const rows = store.rows(PasskeyRow)
    const confirmedRows = store.rows(ConfirmedRow)
    const shown = ({ last_used_at, ...passkey }: typeof PasskeyRow.Type) =>
      last_used_at === null ? passkey : { ...passkey, last_used_at }

    /** A session without a required second factor must neither add a way to sign in nor remove one. */
    const mayManage = Effect.fnUntraced(function* (session: CurrentSession) {
      yield* users.whole(session, insufficientAal)
      // A passkey is worth a password.
      if (reauthentication && isStale(session.age)) return yield* reauthenticationNeeded
    })

    const begin = Effect.fnUntraced(function* (userId: string | null, options: { readonly challenge: string }) {
      const expires_at = Math.floor((yield* Clock.currentTimeMillis) / 1000) + challengeSeconds
      const { id } = yield* flows.begin("supabase_passkey", userId, { challenge: options.challenge, until: expires_at })
      return { challenge_id: id, options, expires_at }
    })

    /** The challenge of a flow that was begun by this user, or by anyone for a sign-in. */
    const challengeOf = Effect.fnUntraced(function* (id: string, userId: string | null, lock = false) {
      const { data, used } = yield* flows.find(id, "supabase_passkey", userId, lock).pipe(
        Effect.catchIf(
          ({ status }) => status < 500,
          ({ status }) => Effect.fail(status === 410 ? expired : noChallenge)
        )
      )
      if (used) return yield* noChallenge
      if (Number(data["until"]) * 1000 <= (yield* Clock.currentTimeMillis)) return yield* expired
      return String(data["challenge"])
    })
    const byKey = (userId: string, condition: string, value: string) =>
      Effect.flatMap(
        rows(
          `select ${columns} from svc.identity_keys k where k.identity_id = $1::text::uuid and k.passkey and ${condition}`,
          [userId, value]
        ),
        ([row]) => (row === undefined ? Effect.fail(noPasskey) : Effect.succeed(shown(row)))
      )
    const byId = (userId: string, id: string) =>
      isUuid(id) ? byKey(userId, `${uuidOf("k.id")} = $2::text::uuid`, id) : Effect.fail(noPasskey)

    const removeOf = Effect.fnUntraced(function* (userId: string, id: string) {
      const removed = isUuid(id)
        ? yield* store.count(
            `delete from svc.identity_keys k where k.identity_id = $1::text::uuid and k.passkey and ${uuidOf("k.id")} = $2::text::uuid returning 1`,
            [userId, id]
          )
        : 0
      if (removed === 0) return yield* noPasskey
    })

    const calls: AuthCalls["passkeys"] = {
      beginRegistration: Effect.fnUntraced(function* (session) {
        yield* mayManage(session)
        const options = yield* Effect.mapError(keys.creation(session.userId, true), (error) =>
          error.code === "TOO_MANY_KEYS" ? tooMany : error
        )
        return yield* begin(session.userId, options)
      }),

      register: Effect.fnUntraced(function* (session, challengeId, credential) {
        yield* mayManage(session)
        return yield* store.exclusively(
          session.userId,
          Effect.fnUntraced(function* ({ id }) {
            const challenge = yield* challengeOf(challengeId, id, true)
            yield* flows.use(challengeId, noChallenge)
            const keyId = yield* keys
              .register(id, credential, challenge, "Passkey", true)
              .pipe(
                Effect.mapError((error) =>
                  error.code === "INVALID_WEBAUTHN" ? wrong : error.code === "WEBAUTHN_EXISTS" ? known : error
                )
              )
            return yield* byKey(id, "k.id = $2", keyId)
          })
        )
      }),

      beginSignIn: Effect.gen(function* () {
        yield* limits.takeOfClient("flows of")
        return yield* begin(null, yield* checks.request(undefined))
      }),

      signIn: Effect.fnUntraced(function* (challengeId, credential) {
        const challenge = yield* challengeOf(challengeId, null)
        const shown = keys.shown(credential, challenge, null, flows.use(challengeId, noChallenge))
        const key = yield* Effect.catchTag(shown, "Unauthorized", () => Effect.fail(wrong))
        if (verifyFirst) {
          const [address] = yield* confirmedRows(
            "select bool_or(verified_at is not null) as confirmed from svc.identity_addresses where identity_id = $1::text::uuid having count(*) > 0",
            [key.identity_id]
          )
          if (address?.confirmed === false) return yield* notConfirmed
        }
        return yield* tokens.open(key.identity_id, "passkey")
      }),

      list: (userId) =>
        Effect.map(
          rows(
            `select ${columns} from svc.identity_keys k where k.identity_id = $1::text::uuid and k.passkey order by k.added_at, k.id`,
            [userId]
          ),
          (all) => all.map(shown)
        ),

      rename: Effect.fnUntraced(function* (userId, id, given) {
        const name = given.trim()
        if (name === "" || name.length > 120 || !isPlainText(name)) {
          return yield* validationFailed("friendly_name must be one line of 1 to 120 characters")
        }
        const before = yield* byId(userId, id)
        yield* store.count(
          `update svc.identity_keys k set display_name = $3
         where k.identity_id = $1::text::uuid and k.passkey and ${uuidOf("k.id")} = $2::text::uuid returning 1`,
          [userId, id, name]
        )
        return { ...before, friendly_name: name }
      }),

      remove: Effect.fnUntraced(function* (session, id) {
        yield* mayManage(session)
        yield* removeOf(session.userId, id)
      })
    }
    return {
      passkeys: calls,
      ofAdmin: {
        passkeys: (id: string) => Effect.andThen(users.byId(id), calls.list(id)),
        removePasskey: (id: string, passkeyId: string) => Effect.andThen(users.byId(id), removeOf(id, passkeyId))
      }
    }
  })
}) {
  static readonly layer = Layer.effect(SupabasePasskeys, SupabasePasskeys.make)
}
