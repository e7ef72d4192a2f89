import { Effect, Schema } from "effect"
import { readAddress } from "../../../../domain/identity/Address.ts"
import { otpExpired } from "../../../../domain/supabase/AuthErrors.ts"
import { isJsonObject } from "../../../../domain/text/JsonObject.ts"
import { type AuthCalls, type Challenge } from "../../../ports/supabase/AuthCalls.ts"
import { type Records } from "../Records.ts"
import { type Store } from "../Store.ts"
import { claimAddress, takeBack } from "../TakeBack.ts"
import { type OneTime, type OneTimes, typeOf } from "./OneTime.ts"
import { type Tokens } from "./Tokens.ts"
import { type Users } from "./Users.ts"

/** As at Supabase. */
const otherDue = "Confirmation link accepted. Please proceed to confirm link sent to the other email"

const AddressRow = Schema.Struct({ verified: Schema.Boolean })

const challengeOf = ({ data: { challenge } }: OneTime): Challenge | undefined =>
  isJsonObject(challenge)
    ? { value: String(challenge["value"]), method: challenge["method"] as Challenge["method"] }
    : undefined

/** What mailed tokens and codes do once they come back. */
export const makeVerifying = (store: Store, records: Records, users: Users, tokens: Tokens, mails: OneTimes) => {
  const addresses = store.rows(AddressRow)
  const expired = () => Effect.fail(otpExpired)

  /** What a mail proves: its address, and what waits for that. Returns the account, and whether another mail is due. */
  const apply = Effect.fnUntraced(function* (mail: OneTime, exchanged: boolean) {
    const { data, identity_id: id, kind, lookup } = mail
    if (id === null) return yield* otpExpired
    const due = yield* store
      .exclusively(
        id,
        Effect.fnUntraced(function* ({ state }) {
          if (state !== "active" || !(yield* mails.stands(mail))) return yield* otpExpired
          if (kind.startsWith("email_change")) {
            if (typeof data["change"] === "string" && !(yield* mails.agreed(mail))) return true
            const address = readAddress(String(data["email"]))
            if (address === undefined) return yield* otpExpired
            yield* records.replaceAddress(id, address, true)
            yield* users.set(id, `'{"email_change":""}'`)
            return false
          }
          const [address] = yield* addresses(
            "select verified_at is not null as verified from svc.identity_addresses where lookup = $1 and identity_id = $2::text::uuid",
            [lookup, id]
          )
          // The address belongs to another account by now.
          if (address === undefined) return yield* otpExpired
          // Someone may have changed the password because another person reads their messages.
          const since = yield* store.count(
            `select from svc.identities i join svc.supabase_mails m on m.id = $2::text::uuid
             where i.id = $1::text::uuid and i.password_changed_at > m.created_at`,
            [id, mail.id]
          )
          if (since > 0 && kind !== "signup") return yield* otpExpired
          if (address.verified) {
            // A code that is exchanged later recovers then: a program that opens links of mails has no verifier.
            if (kind === "recovery" && !exchanged) yield* takeBack(store, id, "recovery")
            return false
          }
          // What was set with the same request as the mail is its recipient's; else another person may have registered it.
          if (kind !== "signup") {
            yield* claimAddress(store, id, lookup, { mail: mail.id })
            return false
          }
          yield* records.setVerified(id, true)
          if (typeof data["hash"] !== "string") return false
          yield* records.setPassword(id, data["hash"])
          const { traits } = yield* store.identity(id)
          if (isJsonObject(data["about"]))
            yield* records.setTraits(id, { ...data["about"], email: traits["email"] ?? null })
          return false
        })
      )
      .pipe(Effect.catchTag("NotFound", expired))
    return { id, due }
  })

  const verify: AuthCalls["verify"] = Effect.fnUntraced(function* (given, byLink) {
    const lookup = "email" in given ? readAddress(given.email)?.lookup : undefined
    const mail = yield* mails.find(lookup === undefined ? given : { ...given, lookup })
    const challenge = byLink ? challengeOf(mail) : undefined
    const type = typeOf(mail.kind)
    if (challenge !== undefined) {
      // Not used up until the client exchanges a code: a program that opens links of mails has no verifier.
      const { due, id } = yield* apply(mail, true)
      if (due) return { message: otherDue, type }
      const used = typeof mail.data["change"] === "string" ? {} : { mail: mail.id }
      return { code: yield* tokens.codeFor(id, mail.kind === "recovery" ? "recovery" : "otp", challenge, used), type }
    }
    yield* mails.use(mail)
    const { due, id } = yield* apply(mail, false)
    if (due) return { message: otherDue, type }
    return { session: yield* tokens.open(id, mail.kind === "recovery" ? "recovery" : "otp"), type }
  })

  return {
    verify,
    needsConfirming: (token: string) =>
      Effect.map(
        mails.byToken(token),
        (mail) =>
          mail !== undefined &&
          mail.data["mailed"] === true &&
          (challengeOf(mail) === undefined || typeof mail.data["change"] === "string")
      ),
    redirectOf: (token: string) =>
      Effect.map(mails.byUsedToken(token), (mail) =>
        typeof mail?.data["redirectTo"] === "string" ? mail.data["redirectTo"] : undefined
      )
  }
}
