import { Clock, Context, Effect, Layer, Schema } from "effect"
import { uuidOf } from "../../../../domain/sql/Uuids.ts"
import { InvalidRequest, Unprocessable } from "../../../../domain/errors.ts"
import { makeTotpSecret, otpauthUri } from "../../../../domain/identity/SecondFactors.ts"
import { insufficientAal, validationFailed, noFactor } from "../../../../domain/supabase/AuthErrors.ts"
import { isPlainText } from "../../../../domain/text/StorableText.ts"
import { IdentitySeals } from "../../../access/Seals.ts"
import { type AuthCalls, type CurrentSession } from "../../../ports/supabase/AuthCalls.ts"
import { AccountSettings } from "../../AccountSettings.ts"
import { Flows } from "../Flows.ts"
import { AccountMessages } from "../Messages.ts"
import { AuthHooks } from "../hooks/AuthHooks.ts"
import { AccountSessions, secondFactorSql } from "../Sessions.ts"
import { Limits } from "../limits/Limits.ts"
import { isUuid, AccountStore } from "../Store.ts"
import { AuthenticatorApps, totpSealName } from "../factors/Totp.ts"
import { SupabaseTokens } from "./Tokens.ts"
import { SecurityKeys } from "./SecurityKeys.ts"
import { Users, verifiedSql } from "./Users.ts"

/** Factors of one user that are not verified; beyond them the oldest are forgotten. */
const maxUnverified = 10
/** How long a challenge is valid, in s. */
const challengeSeconds = 300

const tooMany = new Unprocessable({
  error: "This server supports one verified authenticator app for each user: remove it first",
  code: "too_many_enrolled_mfa_factors"
})
const nameTaken = new Unprocessable({
  error: "A factor with this friendly name exists already",
  code: "mfa_factor_name_conflict"
})
const wrong = new Unprocessable({ error: "Invalid TOTP code entered", code: "mfa_verification_failed" })
const challengeExpired = new Unprocessable({
  error: "MFA challenge has expired, verify against another challenge or create a new challenge.",
  code: "mfa_challenge_expired"
})
const noCredential = validationFailed("webauthn must have type and credential_response")
const invalidName = new InvalidRequest({
  error: "friendly_name must be one line of at most 100 characters",
  code: "validation_failed"
})

const FactorRow = Schema.Struct({
  kind: Schema.Literals(["totp", "webauthn"]),
  secret: Schema.NullOr(Schema.String),
  key_id: Schema.NullOr(Schema.String),
  name: Schema.NullOr(Schema.String),
  verified: Schema.Boolean
})
const HasRow = Schema.Struct({ totp: Schema.Boolean, any: Schema.Boolean, name: Schema.Boolean })

/**
 * Second factors: an authenticator app, and security keys. The verified ones are those of the account, so that they are
 * required on the service's own pages too. Of those that were set up there, Users.ts makes the ids.
 */
export class SupabaseFactors extends Context.Service<SupabaseFactors>()("svc/identity/SupabaseFactors", {
  make: Effect.gen(function* () {
    const { ownUrl } = yield* AccountSettings
    const issuer = new URL(ownUrl).hostname
    const store = yield* AccountStore
    const sessions = yield* AccountSessions
    const flows = yield* Flows
    const messages = yield* AccountMessages
    const totp = yield* AuthenticatorApps
    const securityKeys = yield* SecurityKeys
    const limits = yield* Limits
    const seals = yield* IdentitySeals
    const users = yield* Users
    const tokens = yield* SupabaseTokens
    const hooks = yield* AuthHooks
    const factors = store.rows(FactorRow)
    const has = store.rows(HasRow)

    const factorOf = Effect.fnUntraced(function* (userId: string, id: string) {
      const found = isUuid(id)
        ? yield* factors(
            `select x.kind, x.secret, x.key_id, x.friendly_name as name, ${verifiedSql} as verified
           from svc.supabase_factors x join svc.identities i on i.id = x.identity_id
           where x.id = $2::text::uuid and i.id = $1::text::uuid
           union all
           select 'totp', i.totp_secret, null, null, true from svc.identities i
           where i.id = $1::text::uuid and i.id = $2::text::uuid and i.totp_secret is not null
           union all
           select 'webauthn', null, k.id, k.display_name, true from svc.identity_keys k
           where k.identity_id = $1::text::uuid and not k.passkey and ${uuidOf("k.id")} = $2::text::uuid
             and not exists (select from svc.supabase_factors x where x.key_id = k.id)`,
            [userId, id]
          )
        : []
      return found[0] ?? (yield* noFactor)
    })
    const factorsOf = (userId: string, name: string) =>
      Effect.map(
        has(
          `select i.totp_secret is not null as totp, ${secondFactorSql} as any,
           exists (select from svc.supabase_factors f where f.identity_id = i.id and f.friendly_name = $2) as name
         from svc.identities i where id = $1::text::uuid`,
          [userId, name]
        ),
        ([row]) => row ?? { totp: false, any: false, name: false }
      )
    const remove = (userId: string, id: string) =>
      Effect.gen(function* () {
        const { key_id, secret, verified } = yield* factorOf(userId, id)
        yield* store.atomically(
          Effect.gen(function* () {
            if (key_id !== null) yield* securityKeys.remove(userId, key_id)
            if (verified) yield* messages.toOwner("removed", userId)
            if (verified && secret !== null) {
              yield* store.count(
                "update svc.identities set totp_secret = null, updated_at = now() where id = $1::text::uuid and totp_secret = $2 returning 1",
                [userId, secret]
              )
            }
            yield* store.count(
              "delete from svc.supabase_factors where id = $2::text::uuid and identity_id = $1::text::uuid returning 1",
              [userId, id]
            )
          })
        )
      })
    const forget = (userId: string, sparing: string, most: number) =>
      store.count(
        `delete from svc.supabase_factors where id in (select x.id from svc.supabase_factors x
         join svc.identities i on i.id = x.identity_id where i.id = $1::text::uuid and x.id <> $2::text::uuid and not ${verifiedSql}
         order by x.created_at desc offset ${most}) returning 1`,
        [userId, sparing]
      )

    /** A factor that the user has not shown yet. Who lacks the factors that there are must not add another. */
    const add = Effect.fnUntraced(function* (
      { aal, userId }: CurrentSession,
      kind: "totp" | "webauthn",
      name: string,
      secret: string | null
    ) {
      if (name.length > 100 || !isPlainText(name)) return yield* invalidName
      const row = yield* factorsOf(userId, name)
      if (row.any && aal !== "aal2") return yield* insufficientAal
      if (name !== "" && row.name) return yield* nameTaken
      if (kind === "totp" && row.totp) return yield* tooMany
      const id = crypto.randomUUID()
      yield* store.count(
        `insert into svc.supabase_factors (id, identity_id, kind, friendly_name, secret)
       values ($1::text::uuid, $2::text::uuid, $3, nullif($4, ''), $5) returning 1`,
        [id, userId, kind, name, secret]
      )
      yield* forget(userId, id, maxUnverified)
      return id
    })

    const enroll: AuthCalls["enroll"] = Effect.fnUntraced(function* (session, { issuer: named, name }) {
      const { userId } = session
      const secret = makeTotpSecret()
      const id = yield* add(session, "totp", name, yield* seals.seal(totpSealName(userId), secret))
      const { email } = yield* users.byId(userId)
      const account = typeof email === "string" && email !== "" ? email : userId
      const shown = named === undefined || named.trim() === "" ? issuer : named.slice(0, 100)
      return { id, secret, uri: otpauthUri({ account, issuer: shown, secret }) }
    })

    const challenge: AuthCalls["challenge"] = Effect.fnUntraced(function* ({ userId }, factorId, page) {
      const { key_id, kind } = yield* factorOf(userId, factorId)
      const options = kind === "webauthn" ? yield* securityKeys.options(userId, key_id, page) : undefined
      const until = Math.floor((yield* Clock.currentTimeMillis) / 1000) + challengeSeconds
      const given = { factor: factorId, until, challenge: options?.publicKey.challenge, type: options?.type }
      const { id } = yield* flows.begin("supabase_factor", userId, given)
      return { id, type: kind, expires_at: until, options }
    })

    const verifyFactor: AuthCalls["verifyFactor"] = Effect.fnUntraced(function* (
      session,
      { challengeId, factorId, proof }
    ) {
      const { userId } = session
      const now = yield* Clock.currentTimeMillis
      const factor = yield* factorOf(userId, factorId)
      const { data, used } = yield* flows.find(challengeId, "supabase_factor", userId).pipe(
        Effect.catchIf(
          ({ status }) => status < 500,
          () => Effect.fail(challengeExpired)
        )
      )
      if (used || data["factor"] !== factorId || Number(data["until"]) * 1000 < now) return yield* challengeExpired
      // A challenge to create a key must not be accepted for a sign-in with one.
      if (factor.kind === "webauthn" && data["type"] !== (factor.verified ? "request" : "create")) {
        return yield* challengeExpired
      }
      const use = flows.use(challengeId, challengeExpired)
      const first = Effect.fnUntraced(function* () {
        if ((yield* factorsOf(userId, "")).any && session.aal !== "aal2") return yield* insufficientAal
        yield* use
        if (factor.kind === "totp") {
          const outcome = "code" in proof ? yield* totp.add(userId, factor.secret ?? "", proof.code) : "wrong"
          if (outcome !== "added") return yield* outcome === "wrong" ? wrong : tooMany
          yield* store.count(
            "update svc.supabase_factors set updated_at = now() where id = $1::text::uuid returning 1",
            [factorId]
          )
        } else {
          if ("code" in proof) return yield* noCredential
          yield* securityKeys.confirm(userId, { id: factorId, name: factor.name }, proof, String(data["challenge"]))
        }
        // Others may have been enrolled by someone who knew the password alone. Sessions that lack the factor end. Both as at Supabase.
        yield* forget(userId, factorId, 0)
        yield* store.count(
          "delete from svc.identity_sessions where identity_id = $1::text::uuid and id <> $2::text::uuid and aal = 'aal1' returning 1",
          [userId, session.id]
        )
      })

      // Counted before it is compared, so that parallel guesses count too.
      yield* limits.take("factors of", userId)
      const decided = (valid: boolean) => hooks.factor(userId, factorId, factor.kind, valid)
      if (!factor.verified) yield* store.exclusively(userId, first)
      else if (factor.kind === "totp") {
        const right = "code" in proof && (yield* totp.show(userId, proof.code))
        yield* decided(right)
        if (!right) return yield* wrong
        yield* use
      } else {
        if ("code" in proof) return yield* noCredential
        yield* securityKeys
          .show(userId, factor.key_id, proof, String(data["challenge"]), use)
          .pipe(Effect.tapError(({ status }) => (status < 500 ? decided(false) : Effect.void)))
        yield* decided(true)
      }
      yield* limits.refund("factors of", userId)
      yield* sessions.raise(session.id, factor.kind, true)
      yield* tokens.addMethod(session.id, factor.kind === "totp" ? "totp" : "mfa/webauthn")
      return yield* tokens.renewed(session.id, factor.kind === "totp" ? "totp" : "mfa/webauthn")
    })

    const unenroll: AuthCalls["unenroll"] = Effect.fnUntraced(function* ({ aal, userId }, factorId) {
      const { verified } = yield* factorOf(userId, factorId)
      if (verified && aal !== "aal2") return yield* insufficientAal
      yield* remove(userId, factorId)
    })

    return {
      enroll,
      enrollKey: (session: CurrentSession, name: string) => add(session, "webauthn", name, null),
      challenge,
      verifyFactor,
      unenroll,
      remove
    }
  })
}) {
  static readonly layer = Layer.effect(SupabaseFactors, SupabaseFactors.make)
}
