import { Context, Effect, Layer } from "effect"
import { passwordFault } from "../../../../domain/identity/Password.ts"
import {
  aal2Needed,
  invalidCredentials,
  noSession,
  reauthenticationInvalid,
  reauthenticationNeeded,
  reauthenticationUnreachable,
  samePassword,
  weakPassword
} from "../../../../domain/supabase/AuthErrors.ts"
import { paced } from "../../Pace.ts"
import { type AuthCalls, type CurrentSession, type OwnChange } from "../../../ports/supabase/AuthCalls.ts"
import { Passwords } from "../passwords/Passwords.ts"
import { PasswordSignIn } from "../passwords/PasswordSignIn.ts"
import { OwnAccount } from "../Profile.ts"
import { AccountRecords } from "../Records.ts"
import { AccountSessions } from "../Sessions.ts"
import { AccountStore } from "../Store.ts"
import { reachableEmail, SupabaseSignIn } from "./Entering.ts"
import { OneTimes } from "./OneTime.ts"
import { changedMetadata, Users } from "./Users.ts"
import { AccountSettings } from "../../AccountSettings.ts"

/** A change of the password needs a code by mail once the sign-in is older, in s, if SVC_SUPABASE_REAUTHENTICATION is true. */
const recentSeconds = 24 * 3600
export const isStale = (age: number) => age > recentSeconds

/** The users' functions on their own account. */
export class SupabaseAccount extends Context.Service<SupabaseAccount>()("svc/identity/SupabaseAccount", {
  make: Effect.gen(function* () {
    const { reauthentication } = yield* AccountSettings
    const store = yield* AccountStore
    const records = yield* AccountRecords
    const sessions = yield* AccountSessions
    const passwords = yield* Passwords
    const byPassword = yield* PasswordSignIn
    const own = yield* OwnAccount
    const users = yield* Users
    const mails = yield* OneTimes
    const { mail } = yield* SupabaseSignIn
    const setPassword = Effect.fnUntraced(function* (session: CurrentSession, password: string, change: OwnChange) {
      const { addresses } = yield* store.identity(session.userId)
      const email = addresses[0]?.value
      const fault = passwordFault(password, email)
      if (fault !== undefined) return yield* weakPassword(fault)
      if (change.nonce !== undefined && email !== undefined) {
        const { lookup } = yield* reachableEmail(email)
        const proof = { type: "reauthentication", email, code: change.nonce, lookup }
        yield* mails.find(proof).pipe(
          Effect.flatMap(mails.use),
          Effect.catchTag("Forbidden", () => Effect.fail(reauthenticationInvalid))
        )
      } else if (reauthentication && isStale(session.age) && email !== undefined) {
        return yield* reauthenticationNeeded
      }
      const current = yield* store.exclusively(session.userId, (row) => Effect.succeed(row.password_hash))
      if (change.currentPassword !== undefined) {
        yield* byPassword.confirm(session.userId, current, change.currentPassword, invalidCredentials)
      }
      if (current !== null && (yield* passwords.matches(current, password))) return yield* samePassword
      const hash = yield* passwords.hash(password)
      yield* own.replacePassword({ id: session.id, identityId: session.userId }, hash, noSession)
    })

    /**
     * The new address counts once it is confirmed at both addresses, as at Supabase: a session alone, which may be stolen, does not
     * move an account away from its owner. The answer is the same if the new address has an account.
     */
    const changeEmail = Effect.fnUntraced(function* (session: CurrentSession, email: string, change: OwnChange) {
      const address = yield* reachableEmail(email)
      yield* mails.mayMail("email_change_new", address.lookup)
      yield* paced(
        Effect.gen(function* () {
          const { before, taken } = yield* own.announceAddress(session.userId, address)
          const asked = { email: address.value, session: session.id }
          const data = before !== undefined ? { ...asked, change: crypto.randomUUID() } : asked
          yield* store.exclusively(
            session.userId,
            Effect.fnUntraced(function* () {
              if (!(yield* sessions.stands(session.id))) return yield* noSession
              yield* users.set(
                session.userId,
                "jsonb_build_object('email_change', $2::text, 'email_change_sent_at', now())",
                [address.value]
              )
              if (taken) return
              yield* mail("email_change_new", change, address, session.userId, data)
              if (!("change" in data) || before === undefined) return
              const current = yield* reachableEmail(before)
              yield* mail("email_change_current", change, current, session.userId, data)
            })
          )
        })
      )
    })

    const update: AuthCalls["update"] = Effect.fnUntraced(function* (session, change) {
      const { data, email, password } = change
      const before = String((yield* users.byId(session.userId))["email"]).toLowerCase()
      const moves = email !== undefined && email !== "" && email.toLowerCase() !== before
      if (password !== undefined || moves) yield* users.whole(session, aal2Needed)
      if (password !== undefined) yield* setPassword(session, password, change)
      if (data !== undefined) {
        yield* store.exclusively(
          session.userId,
          Effect.fnUntraced(function* ({ id }) {
            const { user_metadata: before } = yield* users.byId(id)
            const { traits } = yield* store.identity(id)
            const about = changedMetadata(before, data, ["email"])
            yield* records.setTraits(id, { ...about, ...("email" in traits ? { email: traits["email"] } : {}) })
          })
        )
      }
      if (moves) yield* changeEmail(session, email, change)
      return yield* users.byId(session.userId)
    })

    const reauthenticate: AuthCalls["reauthenticate"] = Effect.fnUntraced(function* (session) {
      const { addresses } = yield* store.identity(session.userId)
      const [address] = addresses
      if (address === undefined) return yield* reauthenticationUnreachable
      const to = yield* reachableEmail(address.value)
      yield* mails.mayMail("reauthentication", to.lookup)
      yield* store.atomically(mail("reauthentication", { challenge: undefined, redirectTo: "" }, to, session.userId))
    })

    return { update, reauthenticate }
  })
}) {
  static readonly layer = Layer.effect(SupabaseAccount, SupabaseAccount.make)
}
