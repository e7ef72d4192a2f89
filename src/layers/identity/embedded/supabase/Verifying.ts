import { Effect, Schema } from "effect"
import { readAddress } from "../../../../domain/identity/Address.ts"
import { otpExpired } from "../../../../domain/supabase/AuthErrors.ts"
import { isJsonObject } from "../../../../domain/text/JsonObject.ts"
import { type AuthCalls, type Challenge } from "../../../../services/ports/supabase/AuthCalls.ts"
import { claimAddress, type Records } from "../Records.ts"
import { type Store } from "../Store.ts"
import { type OneTime, type OneTimes, typeOf } from "./OneTime.ts"
import { type Tokens } from "./Tokens.ts"
import { type Users } from "./Users.ts"

const AddressRow = Schema.Struct({ verified: Schema.Boolean })

const challengeOf = ({ data: { challenge } }: OneTime): Challenge | undefined =>
  isJsonObject(challenge)
    ? { value: String(challenge["value"]), method: challenge["method"] as Challenge["method"] }
    : undefined

/** What mailed tokens and codes do once they come back. */
export const makeVerifying = (store: Store, records: Records, users: Users, tokens: Tokens, mails: OneTimes) => {
  const addresses = store.rows(AddressRow)
  const expired = () => Effect.fail(otpExpired)

  /** What a mail proves: its address, and what waits for that. Returns the account. */
  const apply = Effect.fnUntraced(function* (mail: OneTime) {
    const { data, identity_id: id, kind, lookup } = mail
    if (id === null) return yield* otpExpired
    yield* store
      .exclusively(
        id,
        Effect.fnUntraced(function* () {
          if (kind === "email_change_new") {
            const address = readAddress(String(data["email"]))
            if (address === undefined) return yield* otpExpired
            yield* records.replaceAddress(id, address, true)
            yield* users.set(id, `'{"email_change":""}'`)
            return
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
          if (address.verified) return
          // What was set with the same request as the mail is its recipient's; else another person may have registered it.
          if (kind !== "signup") return yield* claimAddress(store, id, lookup)
          yield* records.setVerified(id, true)
          if (typeof data["hash"] !== "string") return
          yield* records.setPassword(id, data["hash"])
          const { traits } = yield* store.identity(id)
          if (isJsonObject(data["about"]))
            yield* records.setTraits(id, { ...data["about"], email: traits["email"] ?? null })
        })
      )
      .pipe(Effect.catchTag("NotFound", expired))
    return id
  })

  const verify: AuthCalls["verify"] = Effect.fnUntraced(function* (given, byLink) {
    const lookup = "email" in given ? readAddress(given.email)?.lookup : undefined
    const mail = yield* mails.find(lookup === undefined ? given : { ...given, lookup })
    const challenge = byLink ? challengeOf(mail) : undefined
    const type = typeOf(mail.kind)
    if (challenge !== undefined) {
      // Not used up until the client exchanges a code: a program that opens links of mails has no verifier.
      const id = yield* apply(mail)
      return {
        code: yield* tokens.codeFor(id, mail.kind === "recovery" ? "recovery" : "otp", challenge, { mail: mail.id }),
        type
      }
    }
    yield* mails.use(mail)
    const id = yield* apply(mail)
    return { session: yield* tokens.open(id, mail.kind === "recovery" ? "recovery" : "otp"), type }
  })

  return {
    verify,
    needsConfirming: (token: string) =>
      Effect.map(
        mails.byToken(token),
        (mail) => mail !== undefined && mail.data["mailed"] === true && challengeOf(mail) === undefined
      ),
    redirectOf: (token: string) =>
      Effect.map(mails.byUsedToken(token), (mail) =>
        typeof mail?.data["redirectTo"] === "string" ? mail.data["redirectTo"] : undefined
      )
  }
}
