import { Effect, Schema } from "effect"
import { type Credential } from "../../../domain/identity/Identity.ts"
import { readAddress } from "../../../domain/identity/Address.ts"
import { type Meters } from "../../metrics/Meters.ts"
import { type DueFactors, type FactorProof } from "../../ports/identity/Accounts.ts"
import { type EmbeddedKeys } from "./factors/Keys.ts"
import { type Devices } from "./limits/Devices.ts"
import { type Limits } from "./limits/Limits.ts"
import { isImported, type Passwords } from "./Passwords.ts"
import { type EmbeddedRecoveryCodes } from "./factors/RecoveryCodes.ts"
import { badCredentials, unauthenticated, wrongCode } from "./Refusals.ts"
import { type EmbeddedSessions } from "./Sessions.ts"
import { type Store } from "./Store.ts"
import { type EmbeddedTotp } from "./factors/Totp.ts"

const AccountRow = Schema.Struct({
  id: Schema.String,
  password_hash: Schema.NullOr(Schema.String),
  active: Schema.Boolean
})

const DueRow = Schema.Struct({ totp: Schema.Boolean, codes: Schema.Boolean })

/** Wrong codes after which a session that waits for its second factor ends. */
const maxGuesses = 5

/** Signing in with a password, and completing a session with a second factor. */
export const makeSignIn = (
  store: Store,
  sessions: EmbeddedSessions,
  passwords: Passwords,
  limits: Limits,
  devices: Devices,
  factors: { readonly totp: EmbeddedTotp; readonly keys: EmbeddedKeys; readonly codes: EmbeddedRecoveryCodes },
  meters: Meters
) => {
  const wrong = meters.counter("svc_sign_ins_refused_total", { reason: "credentials" })
  const limited = meters.counter("svc_sign_ins_refused_total", { reason: "limit" })

  const accounts = store.rows(AccountRow)
  const due = store.rows(DueRow)

  /** Replaces an imported hash by one of the current kind. */
  const rehash = (id: string, stored: string, password: string) =>
    Effect.flatMap(passwords.hash(password), (hash) =>
      store.count(
        "update svc.identities set password_hash = $3 where id = $1::text::uuid and password_hash = $2 returning 1",
        [id, stored, hash]
      )
    )

  const verified = Effect.fnUntraced(function* (row: typeof AccountRow.Type | undefined, password: string) {
    const matching = yield* passwords.matches(row?.password_hash ?? null, password)
    if (row === undefined || row.password_hash === null || !matching || !row.active) return yield* badCredentials
    return { id: row.id, hash: row.password_hash }
  })

  const dueFactors = Effect.fnUntraced(function* (credential: Credential) {
    const { identity_id } = yield* sessions.half(credential)
    const [row] = yield* due(
      `select totp_secret is not null as totp,
         exists (select from svc.identity_recovery_codes c where c.identity_id = i.id and used_at is null) as codes
       from svc.identities i where id = $1::text::uuid`,
      [identity_id]
    )
    if (row === undefined) return yield* unauthenticated
    const result: DueFactors = {
      totp: row.totp,
      recoveryCodes: row.codes,
      webauthn: yield* factors.keys.beginShow(identity_id)
    }
    return result
  })

  /** Verifies a code; counted before, and after five wrong ones the session is deleted. */
  const showCode = Effect.fnUntraced(function* (
    { id, identity_id }: { readonly id: string; readonly identity_id: string },
    proof: Extract<FactorProof, { readonly code: string }>
  ) {
    yield* limits.take("factors of", identity_id, 20, 3600)
    const counted = yield* store.count(
      `update svc.identity_sessions set guesses = guesses + 1 where id = $1::text::uuid and guesses < $2::int4 returning 1`,
      [id, maxGuesses]
    )
    const right =
      counted > 0 && (yield* (proof.method === "totp" ? factors.totp : factors.codes).show(identity_id, proof.code))
    if (right) return yield* limits.refund("factors of", identity_id)
    yield* store.count(
      "delete from svc.identity_sessions where id = $1::text::uuid and guesses >= $2::int4 returning 1",
      [id, maxGuesses]
    )
    return yield* counted > 0 ? wrongCode : unauthenticated
  })

  return {
    signIn: Effect.fnUntraced(function* (given: {
      readonly identifier: string
      readonly password: string
      readonly kind: Credential["_tag"]
    }) {
      const { identifier, kind, password } = given
      const lookup = readAddress(identifier)?.lookup
      const { hash, id } = yield* passwords
        .admitted(
          limits.guess(
            lookup ?? identifier,
            Effect.gen(function* () {
              const [row] = yield* accounts(
                `select i.id::text, i.password_hash, i.state = 'active' as active
                 from svc.identities i join svc.identity_addresses a on a.identity_id = i.id where a.lookup = $1`,
                [lookup ?? ""]
              )
              return yield* verified(row, password)
            })
          )
        )
        .pipe(
          Effect.tapError(({ _tag }) =>
            Effect.sync(() => {
              if (_tag === "Unauthorized") wrong()
              else if (_tag === "TooManyRequests") limited()
            })
          )
        )
      const signedIn = yield* sessions.open(id, kind, "password", hash)
      if (isImported(hash)) yield* rehash(id, hash, password)
      if (kind === "Token") return signedIn
      return { ...signedIn, cookies: [...signedIn.cookies, yield* devices.cookie(lookup ?? identifier)] }
    }),

    /** Makes the sign-in of a session recent again. */
    reauthenticate: Effect.fnUntraced(function* (credential: Credential, password: string) {
      const session = yield* sessions.half(credential)
      yield* limits.guess(
        session.identity_id,
        Effect.gen(function* () {
          const [row] = yield* accounts(
            `select id::text, password_hash, state = 'active' as active from svc.identities where id = $1::text::uuid`,
            [session.identity_id]
          )
          return yield* verified(row, password)
        })
      )
      yield* sessions.refresh(session.id)
      return yield* sessions.signedIn(credential)
    }),

    dueFactors,
    showFactor: Effect.fnUntraced(function* (credential: Credential, proof: FactorProof) {
      const session = yield* sessions.half(credential)
      if (proof.method === "webauthn") {
        yield* factors.keys.show(session.identity_id, proof.flowId, proof.assertion)
      } else {
        yield* showCode(session, proof)
      }
      yield* sessions.raise(session.id, proof.method, true)
      return yield* sessions.signedIn(credential)
    })
  }
}
