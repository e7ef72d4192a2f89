import { Context, Effect, Layer, Schema } from "effect"
import { type Credential } from "../../../domain/identity/Identity.ts"
import { readAddress } from "../../../domain/identity/Address.ts"
import { type DueFactors, type FactorProof } from "../../ports/identity/Accounts.ts"
import { AccountKeys } from "./factors/Keys.ts"
import { AuthHooks, hookErrorsOfPages } from "./hooks/AuthHooks.ts"
import { Devices } from "./limits/Devices.ts"
import { Limits } from "./limits/Limits.ts"
import { PasswordSignIn } from "./passwords/PasswordSignIn.ts"
import { RecoveryCodes } from "./factors/RecoveryCodes.ts"
import { badCredentials, unauthenticated, wrongCode } from "./Refusals.ts"
import { AccountSessions } from "./Sessions.ts"
import { AccountStore, hashOf } from "./Store.ts"
import { AuthenticatorApps } from "./factors/Totp.ts"

const AccountRow = Schema.Struct({ password_hash: Schema.NullOr(Schema.String) })

const DueRow = Schema.Struct({ totp: Schema.Boolean, codes: Schema.Boolean })

/** Wrong codes after which a session that waits for its second factor ends. */
const maxGuesses = 5

/** The names that hooks have for the kinds of factors. */
const factorTypes = { totp: "totp", lookup_secret: "recovery_code", webauthn: "webauthn" } as const

/** The id that clients see of the key in an assertion (supabase/Users.ts), whether there is such a key or not. */
const factorOfKey = (assertion: string) => {
  const [, id = ""] = /"id"\s*:\s*"([\w-]{1,2048})"/.exec(assertion) ?? []
  return hashOf(id)
    .slice(0, 32)
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")
}

/** Signing in with a password, and completing a session with a second factor. */
export class AccountSignIn extends Context.Service<AccountSignIn>()("svc/identity/AccountSignIn", {
  make: Effect.gen(function* () {
    const store = yield* AccountStore
    const sessions = yield* AccountSessions
    const limits = yield* Limits
    const devices = yield* Devices
    const totp = yield* AuthenticatorApps
    const keys = yield* AccountKeys
    const codes = yield* RecoveryCodes
    const byPassword = yield* PasswordSignIn
    const hooks = yield* AuthHooks
    const accounts = store.rows(AccountRow)
    const due = store.rows(DueRow)

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
        webauthn: yield* keys.beginShow(identity_id)
      }
      return result
    })

    /** Verifies a code; counted before, and after five wrong ones the session is deleted. */
    const showCode = Effect.fnUntraced(function* (
      { id, identity_id }: { readonly id: string; readonly identity_id: string },
      proof: Extract<FactorProof, { readonly code: string }>
    ) {
      yield* limits.take("factors of", identity_id)
      const counted = yield* store.count(
        `update svc.identity_sessions set guesses = guesses + 1 where id = $1::text::uuid and guesses < $2::int4 returning 1`,
        [id, maxGuesses]
      )
      const right = counted > 0 && (yield* (proof.method === "totp" ? totp : codes).show(identity_id, proof.code))
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
        const signedIn = yield* byPassword.signIn(
          identifier,
          password,
          (lookup) => Effect.map(store.ownerOf(lookup), (owner) => ({ owner, hash: owner?.password_hash ?? null })),
          (owner, right) => (right && owner?.active === true ? undefined : badCredentials),
          badCredentials,
          (id, hash) => sessions.open(id, kind, "password", hash)
        )
        if (kind === "Token") return signedIn
        const name = readAddress(identifier)?.lookup ?? identifier
        return { ...signedIn, cookies: [...signedIn.cookies, yield* devices.cookie(name)] }
      }),

      /** Makes the sign-in of a session recent again. */
      reauthenticate: Effect.fnUntraced(function* (credential: Credential, password: string) {
        const session = yield* sessions.half(credential)
        const [row] = yield* accounts("select password_hash from svc.identities where id = $1::text::uuid", [
          session.identity_id
        ])
        const hash = row?.password_hash ?? null
        const { identity_id } = session
        yield* byPassword
          .confirm(identity_id, hash, password, badCredentials)
          .pipe(
            Effect.tapError((error) => (error === badCredentials ? hooks.password(identity_id, false) : Effect.void))
          )
        yield* hooks.password(identity_id, true)
        yield* sessions.refresh(session.id)
        return yield* sessions.signedIn(credential)
      }),

      dueFactors,
      showFactor: Effect.fnUntraced(function* (credential: Credential, proof: FactorProof) {
        const session = yield* sessions.half(credential)
        const { identity_id } = session
        const shown = Effect.gen(function* () {
          if (proof.method === "webauthn") yield* keys.show(identity_id, proof.flowId, proof.assertion)
          else yield* showCode(session, proof)
        })
        const factorId = proof.method === "webauthn" ? factorOfKey(proof.assertion) : identity_id
        const decided = (valid: boolean) =>
          hookErrorsOfPages(hooks.factor(identity_id, factorId, factorTypes[proof.method], valid))
        yield* Effect.tapError(shown, ({ status }) => (status < 500 ? decided(false) : Effect.void))
        yield* decided(true)
        yield* sessions.raise(session.id, proof.method, true)
        return yield* sessions.signedIn(credential)
      })
    }
  })
}) {
  static readonly layer = Layer.effect(AccountSignIn, AccountSignIn.make)
}
