import { Clock, Effect, Schema } from "effect"
import { InvalidRequest, Unprocessable } from "../../../../domain/errors.ts"
import { makeTotpSecret, otpauthUri, totpStepOf } from "../../../../domain/identity/SecondFactors.ts"
import { insufficientAal, noFactor } from "../../../../domain/supabase/AuthErrors.ts"
import { type IdentitySeals } from "../../../../services/identity/Seals.ts"
import { type AuthCalls } from "../../../../services/ports/supabase/AuthCalls.ts"
import { type Flows } from "../Flows.ts"
import { type EmbeddedSessions } from "../Sessions.ts"
import { type Limits } from "../Limits.ts"
import { isUuid, type Store } from "../Store.ts"
import { type EmbeddedTotp, placeOf } from "../factors/Totp.ts"
import { type Tokens } from "./Tokens.ts"
import { type Users } from "./Users.ts"

/** Authenticator apps of one user that are not verified; beyond them the oldest are forgotten. */
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
const invalidName = new InvalidRequest({
  error: "friendly_name must be at most 100 characters",
  code: "validation_failed"
})

const FactorRow = Schema.Struct({ secret: Schema.String, verified: Schema.Boolean })
const HasRow = Schema.Struct({ totp_secret: Schema.NullOr(Schema.String), name: Schema.Boolean })

/**
 * Authenticator apps. The verified one is that of the account, so that it is required on the service's own pages too. Of
 * those that were set up there, the id is the user's.
 */
export const makeFactors = (
  issuer: string,
  store: Store,
  sessions: EmbeddedSessions,
  flows: Flows,
  totp: EmbeddedTotp,
  limits: Limits,
  seals: IdentitySeals["Service"],
  users: Users,
  tokens: Tokens
) => {
  const factors = store.rows(FactorRow)
  const has = store.rows(HasRow)

  const factorOf = Effect.fnUntraced(function* (userId: string, id: string) {
    const found = isUuid(id)
      ? yield* factors(
          `select f.secret, f.secret = i.totp_secret is true as verified from svc.supabase_factors f
             join svc.identities i on i.id = f.identity_id where f.id = $2::text::uuid and i.id = $1::text::uuid
           union all
           select i.totp_secret, true from svc.identities i
           where i.id = $1::text::uuid and i.id = $2::text::uuid and i.totp_secret is not null`,
          [userId, id]
        )
      : []
    return found[0] ?? (yield* noFactor)
  })
  const remove = (userId: string, id: string) =>
    Effect.gen(function* () {
      const { secret, verified } = yield* factorOf(userId, id)
      yield* store.atomically(
        Effect.gen(function* () {
          if (verified) {
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

  const enroll: AuthCalls["enroll"] = Effect.fnUntraced(function* ({ aal, userId }, { issuer: named, name }) {
    if (name.length > 100) return yield* invalidName
    const [row] = yield* has(
      `select totp_secret, exists (select from svc.supabase_factors f where f.identity_id = i.id and f.friendly_name = $2) as name
       from svc.identities i where id = $1::text::uuid`,
      [userId, name]
    )
    if (name !== "" && row?.name === true) return yield* nameTaken
    if (row?.totp_secret != null) return yield* aal === "aal2" ? tooMany : insufficientAal
    const id = crypto.randomUUID()
    const secret = makeTotpSecret()
    yield* store.count(
      `insert into svc.supabase_factors (id, identity_id, friendly_name, secret)
       values ($1::text::uuid, $2::text::uuid, nullif($3, ''), $4) returning 1`,
      [id, userId, name, yield* seals.seal(placeOf(userId), secret)]
    )
    yield* store.count(
      `delete from svc.supabase_factors where id in (select id from svc.supabase_factors
         where identity_id = $1::text::uuid order by created_at desc offset ${maxUnverified}) returning 1`,
      [userId]
    )
    const { email } = yield* users.byId(userId)
    const account = typeof email === "string" && email !== "" ? email : userId
    const shown = named === undefined || named.trim() === "" ? issuer : named.slice(0, 100)
    return { id, secret, uri: otpauthUri({ account, issuer: shown, secret }) }
  })

  const challenge: AuthCalls["challenge"] = Effect.fnUntraced(function* ({ userId }, factorId) {
    yield* factorOf(userId, factorId)
    const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    const { id } = yield* flows.begin("factor", userId, { factor: factorId, until: now + challengeSeconds })
    return { id, expires_at: now + challengeSeconds }
  })

  const verifyFactor: AuthCalls["verifyFactor"] = Effect.fnUntraced(function* (
    session,
    { challengeId, code, factorId }
  ) {
    const { userId } = session
    const now = yield* Clock.currentTimeMillis
    const factor = yield* factorOf(userId, factorId)
    const { data, used } = yield* flows.find(challengeId, "factor", userId).pipe(
      Effect.catchIf(
        ({ status }) => status < 500,
        () => Effect.fail(challengeExpired)
      )
    )
    if (used || data["factor"] !== factorId || Number(data["until"]) * 1000 < now) return yield* challengeExpired
    // Counted before it is compared, so that parallel guesses count too.
    yield* limits.take("factors of", userId, 20, 3600)
    if (factor.verified) {
      if (!(yield* totp.show(userId, code))) return yield* wrong
    } else {
      const secret = yield* seals.unseal(placeOf(userId), factor.secret)
      if (totpStepOf(secret, code, now) === undefined) return yield* wrong
      const first = yield* store.atomically(
        store.count(
          `update svc.identities set totp_secret = $2, totp_last_step = 0, updated_at = now()
           where id = $1::text::uuid and totp_secret is null returning 1`,
          [userId, factor.secret]
        )
      )
      if (first === 0) return yield* tooMany
      yield* store.count("update svc.supabase_factors set updated_at = now() where id = $1::text::uuid returning 1", [
        factorId
      ])
      // Sessions that lack the factor end, as at Supabase.
      yield* store.count(
        "delete from svc.identity_sessions where identity_id = $1::text::uuid and id <> $2::text::uuid and aal = 'aal1' returning 1",
        [userId, session.id]
      )
    }
    yield* limits.refund("factors of", userId)
    if ((yield* flows.use(challengeId)) === 0) return yield* challengeExpired
    yield* sessions.raise(session.id, "totp", true)
    yield* tokens.addMethod(session.id, "totp")
    return yield* tokens.renewed(session.id)
  })

  const unenroll: AuthCalls["unenroll"] = Effect.fnUntraced(function* ({ aal, userId }, factorId) {
    const { verified } = yield* factorOf(userId, factorId)
    if (verified && aal !== "aal2") return yield* insufficientAal
    yield* remove(userId, factorId)
  })

  return { enroll, challenge, verifyFactor, unenroll, remove }
}
export type Factors = ReturnType<typeof makeFactors>
