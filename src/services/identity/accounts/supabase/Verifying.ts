import { Context, Effect, Layer, Schema } from "effect"
import { readAddress } from "../../../../domain/identity/Address.ts"
import { invalidCredentials, noFlowState, otpExpired } from "../../../../domain/supabase/AuthErrors.ts"
import { isJsonObject } from "../../../../domain/text/JsonObject.ts"
import { type AuthCalls, type OneTimeProof, type Shown } from "../../../../services/ports/supabase/AuthCalls.ts"
import { acceptMail } from "../mails/MailProof.ts"
import { PasswordSignIn } from "../passwords/PasswordSignIn.ts"
import { AccountRecords } from "../Records.ts"
import { AccountStore } from "../Store.ts"
import { takeBack } from "../TakeBack.ts"
import { SupabaseCodes } from "./Codes.ts"
import { pkceChallengeOf, type OneTime, OneTimes, typeOf } from "./OneTime.ts"
import { SupabaseTokens } from "./Tokens.ts"
import { Users } from "./Users.ts"

/** The text is Supabase's. */
const otherDue = "Confirmation link accepted. Please proceed to confirm link sent to the other email"

const AddressRow = Schema.Struct({ verified: Schema.Boolean })
const HashRow = Schema.Struct({ password_hash: Schema.NullOr(Schema.String) })

/** The effects of mailed tokens and codes when they are used. */
export class SupabaseMailProofs extends Context.Service<SupabaseMailProofs>()("svc/identity/SupabaseMailProofs", {
  make: Effect.gen(function* () {
    const store = yield* AccountStore
    const records = yield* AccountRecords
    const byPassword = yield* PasswordSignIn
    const users = yield* Users
    const tokens = yield* SupabaseTokens
    const codes = yield* SupabaseCodes
    const mails = yield* OneTimes
    const addresses = store.rows(AddressRow)
    const hashes = store.rows(HashRow)
    const expired = () => Effect.fail(otpExpired)
    const addressOf = ({ identity_id, lookup }: OneTime) =>
      Effect.map(
        addresses(
          "select verified_at is not null as verified from svc.identity_addresses where lookup = $1 and identity_id = $2::text::uuid",
          [lookup, identity_id]
        ),
        ([row]) => row
      )

    /** Fails unless a password is that of the sign-up that a mail confirms. */
    const rightPassword = ({ data, id, identity_id }: OneTime, password: string) =>
      Effect.gen(function* () {
        const [row] = yield* hashes("select password_hash from svc.identities where id = $1::text::uuid", [identity_id])
        const hash = typeof data["hash"] === "string" ? data["hash"] : (row?.password_hash ?? null)
        yield* byPassword.confirm(`sign-up ${id}`, hash, password, invalidCredentials)
      })

    /**
     * Whether the person who has the mail of a sign-up has signed up, so that its password is theirs. A stranger may have signed
     * up with the address, and its owner opens the link. A code is typed into the app that has signed up, unless it may be
     * meant for another mail.
     */
    const hasSignedUp = Effect.fnUntraced(function* (mail: OneTime, proof: OneTimeProof, password: Shown["password"]) {
      if (mail.kind !== "signup" || mail.data["mailed"] !== true) return true
      if (password !== undefined) {
        yield* rightPassword(mail, password)
        return true
      }
      return "code" in proof && (proof.type === "signup" || !(yield* mails.signsIn(mail.lookup)))
    })

    /**
     * Applies a mail: confirms its address and completes what waits for that. Returns the account, and whether another
     * mail is due. `exchanged`: a code follows that is not exchanged yet. `own`: whether the person has signed up.
     */
    const apply = Effect.fnUntraced(function* (
      mail: OneTime,
      { exchanged, own }: { exchanged: boolean; own: boolean }
    ) {
      const { data, identity_id: id, kind, lookup } = mail
      if (id === null) return yield* otpExpired
      const due = yield* store
        .exclusively(
          id,
          Effect.fnUntraced(function* (account) {
            const stands = yield* mails.stands(mail)
            if (kind.startsWith("email_change")) {
              if (account.state !== "active" || !stands) return yield* otpExpired
              if (typeof data["change"] === "string" && !(yield* mails.agreed(mail))) return true
              const address = readAddress(String(data["email"]))
              if (address === undefined) return yield* otpExpired
              yield* records.replaceAddress(id, address, true)
              yield* users.set(id, `'{"email_change":""}'`)
              return false
            }
            const ownPassword = kind === "signup" && own
            const returned = {
              lookup,
              sent: mail.sent,
              stands,
              // A code that is exchanged later recovers then: a program that opens links of mails has no verifier.
              purpose: kind === "signup" ? "confirmation" : kind === "recovery" && !exchanged ? "recovery" : "signIn",
              // An administrator's app has mailed the link that it generated.
              proves: true,
              ownPassword,
              spared: { mail: mail.id }
            } as const
            if ((yield* acceptMail(store, account, returned, otpExpired)) || !ownPassword) return false
            yield* records.setVerified(id, true)
            if (typeof data["hash"] !== "string") return false
            yield* records.setPassword(id, data["hash"], { mail: mail.id })
            const { traits } = yield* store.identity(id)
            if (isJsonObject(data["about"]))
              yield* records.setTraits(id, { ...data["about"], email: traits["email"] ?? null })
            return false
          })
        )
        .pipe(Effect.catchTag("NotFound", expired))
      return { id, due }
    })

    const verify: AuthCalls["verify"] = Effect.fnUntraced(function* (given, { byLink, password }) {
      const lookup = "email" in given ? readAddress(given.email)?.lookup : undefined
      const mail = yield* mails.find(lookup === undefined ? given : { ...given, lookup })
      const challenge = byLink ? pkceChallengeOf(mail) : undefined
      const type = typeOf(mail.kind)
      if (challenge !== undefined) {
        // The mail is used up only when the client exchanges a code: a program that opens links of mails has no verifier.
        // The owner of an address that another person has signed up with has none either, so such a link proves nothing
        // yet.
        const { due, id } =
          mail.kind === "signup" && mail.identity_id !== null
            ? { due: false, id: mail.identity_id }
            : yield* apply(mail, { exchanged: true, own: false })
        if (due) return { message: otherDue, type }
        const used = typeof mail.data["change"] === "string" ? {} : { mail: mail.id }
        return { code: yield* codes.codeFor(id, mail.kind === "recovery" ? "recovery" : "otp", challenge, used), type }
      }
      const own = yield* hasSignedUp(mail, given, password)
      yield* mails.use(mail)
      const { due, id } = yield* apply(mail, { exchanged: false, own })
      if (due) return { message: otherDue, type }
      return { session: yield* tokens.open(id, mail.kind === "recovery" ? "recovery" : "otp"), type }
    })

    return {
      verify,
      exchange: (code: string, verifier: string) =>
        codes.exchange(
          code,
          verifier,
          Effect.fnUntraced(function* (proven) {
            const mail = proven.mail === undefined ? undefined : yield* mails.byId(proven.mail)
            if (mail?.kind === "signup") {
              // The verifier is that of the sign-up, unless a later request had the challenge.
              const own = mail.data["own"] === true || mail.data["mailed"] !== true
              yield* apply(mail, { exchanged: false, own })
            } else if (proven.method === "recovery") {
              yield* store
                .exclusively(proven.userId, ({ id }) => takeBack(store, id, "recovery"))
                .pipe(Effect.catchTag("NotFound", () => Effect.fail(noFlowState)))
            }
          })
        ),
      asksFor: Effect.fnUntraced(function* (token: string) {
        const mail = yield* mails.byToken(token)
        if (mail === undefined || mail.data["mailed"] !== true) return undefined
        if (pkceChallengeOf(mail) !== undefined && typeof mail.data["change"] !== "string") return undefined
        if (mail.kind !== "signup") return "click"
        return (yield* addressOf(mail))?.verified === false ? "password" : "click"
      }),
      redirectOf: (token: string) =>
        Effect.map(mails.byUsedToken(token), (mail) =>
          typeof mail?.data["redirectTo"] === "string" ? mail.data["redirectTo"] : undefined
        )
    }
  })
}) {
  static readonly layer = Layer.effect(SupabaseMailProofs, SupabaseMailProofs.make)
}
