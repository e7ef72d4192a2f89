import { Context, Effect, Layer } from "effect"
import { isReachable, readAddress } from "../../../../domain/identity/Address.ts"
import { passwordFault } from "../../../../domain/identity/Password.ts"
import {
  emailNotConfirmed,
  invalidCredentials,
  invalidEmail,
  signupDisabled,
  userBanned,
  userExists,
  weakPassword
} from "../../../../domain/supabase/AuthErrors.ts"
import { type JsonObject } from "../../../../domain/text/JsonObject.ts"
import { AccountSettings } from "../../AccountSettings.ts"
import { paced } from "../../Pace.ts"
import { type AuthCalls, type MailKind, type MailRequest, type User } from "../../../ports/supabase/AuthCalls.ts"
import { Limits } from "../limits/Limits.ts"
import { mayGet } from "../mails/MailProof.ts"
import { AccountMessages } from "../Messages.ts"
import { Passwords } from "../passwords/Passwords.ts"
import { PasswordSignIn } from "../passwords/PasswordSignIn.ts"
import { newUser } from "../hooks/NewUser.ts"
import { AccountRecords } from "../Records.ts"
import { AccountStore, type Owner } from "../Store.ts"
import { pkceChallengeOf, OneTimes } from "./OneTime.ts"
import { SupabaseTokens } from "./Tokens.ts"
import { Users } from "./Users.ts"

export const reachableEmail = (email: string) => {
  const address = readAddress(email)
  return address === undefined || !isReachable(address) ? Effect.fail(invalidEmail) : Effect.succeed(address)
}

/** Whether a person has only asked for an account, or was invited: the next sign-up with its address may take it. */
export const isPending = ({ active, password_hash, verified }: Owner) => active && !verified && password_hash === null

/** The answer to a sign-up with an address that has an account: it must look like that to a new one. */
const lookAlike = (email: string, data: JsonObject): User => {
  const now = new Date().toISOString()
  const id = crypto.randomUUID()
  return { ...newUser({ id, email, data, provider: "email", now }), confirmation_sent_at: now }
}

/** Signing up and in, and asking for the mails that do. */
export class SupabaseSignIn extends Context.Service<SupabaseSignIn>()("svc/identity/SupabaseSignIn", {
  make: Effect.gen(function* () {
    const { registration, verifyFirst } = yield* AccountSettings
    const store = yield* AccountStore
    const records = yield* AccountRecords
    const passwords = yield* Passwords
    const limits = yield* Limits
    const messages = yield* AccountMessages
    const users = yield* Users
    const tokens = yield* SupabaseTokens
    const mails = yield* OneTimes
    const byPassword = yield* PasswordSignIn
    /** Creates an account; its password waits in the mail if the address must be confirmed first. */
    const create = (given: {
      readonly address: { readonly value: string; readonly lookup: string }
      readonly data: JsonObject
      readonly passwordHash: string | null
      readonly admitted?: string
    }) =>
      records.enter({
        address: given.address,
        traits: given.data,
        metadataPublic: {},
        passwordHash: given.passwordHash,
        verified: false,
        state: "active",
        provider: "email",
        ...(given.admitted === undefined ? {} : { admitted: given.admitted })
      })

    /** Mails one, unless there were too many, and records when. */
    const mail = Effect.fnUntraced(function* (
      kind: MailKind,
      { challenge, redirectTo }: Pick<MailRequest, "challenge" | "redirectTo">,
      to: { readonly value: string; readonly lookup: string },
      identityId: string,
      data: object = {}
    ) {
      if (!(yield* mails.mailTo(kind, to.lookup))) return
      const { send } = yield* mails.make({ kind, to, identityId, challenge, redirectTo, data, mailed: true })
      yield* send
      const column =
        kind === "recovery"
          ? "recovery_sent_at"
          : kind === "reauthentication"
            ? "reauthentication_sent_at"
            : kind.startsWith("email_change")
              ? "email_change_sent_at"
              : "confirmation_sent_at"
      yield* users.set(identityId, `jsonb_build_object('${column}', now())`)
    })

    const signUp: AuthCalls["signUp"] = Effect.fnUntraced(function* ({ data, email, password, ...request }) {
      if (!registration) return yield* signupDisabled
      const address = yield* reachableEmail(email)
      const fault = passwordFault(password, address.value)
      if (fault !== undefined) return yield* weakPassword(fault)
      yield* limits.takeOfClient("registrations of")
      const made = { address, data }
      if (!verifyFirst) {
        if ((yield* users.ownerOf(address.lookup)) !== undefined) return yield* userExists
        const hash = yield* passwords.hash(password)
        const id = yield* Effect.catchIf(
          create({ ...made, passwordHash: hash }),
          ({ code }) => code === "ADDRESS_TAKEN",
          () => Effect.fail(userExists)
        )
        if (yield* limits.mailOfClient("verification", address.lookup))
          yield* store.atomically(mail("signup", request, address, id, { own: request.challenge !== undefined }))
        return yield* tokens.open(id, "password", hash)
      }
      yield* mails.mayMail("signup", address.lookup)
      // Asked for every address: only for new ones, its answer and its time would reveal which have an account.
      const admitted = yield* records.admit({ email: address.value, data, provider: "email" })
      return yield* paced(
        Effect.gen(function* () {
          const hash = yield* passwords.hash(password)
          const owner = yield* users.ownerOf(address.lookup)
          // The owner of a verified account gets a notice, and the caller the usual response.
          if (owner !== undefined && !isPending(owner)) {
            yield* messages.signedUpAgain(owner)
            return { user: lookAlike(address.value, data) }
          }
          const id = owner?.id ?? (yield* create({ ...made, passwordHash: null, admitted }))
          const before = yield* mails.pending("signup", address.lookup)
          const known = before?.data["hash"]
          const again = yield* passwords.matches(typeof known === "string" ? known : null, password)
          const contested = before?.data["contested"] === true || (typeof known === "string" && !again)
          const own = request.challenge !== undefined
          yield* store.atomically(mail("signup", request, address, id, { hash, about: data, own, contested }))
          return { user: yield* users.byId(id) }
        })
      )
    })

    const signIn: AuthCalls["signIn"] = (email, password) =>
      byPassword.signIn(
        email,
        password,
        Effect.fnUntraced(function* (lookup) {
          const owner = yield* users.ownerOf(lookup)
          // The password of an account that is not confirmed is still in its mail.
          const pending =
            owner?.password_hash === null ? (yield* mails.pending("signup", lookup))?.data["hash"] : undefined
          return { owner, hash: owner?.password_hash ?? (typeof pending === "string" ? pending : null) }
        }),
        (owner, right) => {
          if (owner === undefined || !right) return invalidCredentials
          if (!owner.active) return userBanned
          return owner.password_hash === null || (verifyFirst && !owner.verified) ? emailNotConfirmed : undefined
        },
        invalidCredentials,
        (id, hash) => tokens.open(id, "password", hash)
      )

    const sendOtp: AuthCalls["sendOtp"] = Effect.fnUntraced(function* ({ createUser, data, email, ...request }) {
      const address = yield* reachableEmail(email)
      yield* mails.mayMail("magiclink", address.lookup)
      yield* paced(
        Effect.gen(function* () {
          const owner = yield* users.ownerOf(address.lookup)
          if (owner !== undefined) {
            if (!mayGet("signIn", owner)) return
            return yield* store.atomically(mail("magiclink", request, { ...address, value: owner.value }, owner.id))
          }
          // The response is the same as for an address that has an account.
          if (!createUser || !registration) return
          yield* limits.takeOfClient("registrations of")
          const id = yield* create({ address, data, passwordHash: null })
          yield* store.atomically(mail("magiclink", request, address, id, { fresh: true }))
        })
      )
    })

    const sendRecovery: AuthCalls["sendRecovery"] = Effect.fnUntraced(function* ({ email, ...request }) {
      const address = yield* reachableEmail(email)
      yield* mails.mayMail("recovery", address.lookup)
      yield* paced(
        Effect.gen(function* () {
          const owner = yield* users.ownerOf(address.lookup)
          if (!mayGet("recovery", owner)) return
          yield* store.atomically(mail("recovery", request, { ...address, value: owner.value }, owner.id))
        })
      )
    })

    const resend: AuthCalls["resend"] = Effect.fnUntraced(function* ({ email, kind, ...request }) {
      const address = yield* reachableEmail(email)
      const name = kind === "signup" ? "signup" : "email_change_new"
      yield* mails.mayMail(name, address.lookup)
      yield* paced(
        Effect.gen(function* () {
          const before = yield* mails.pending(name, address.lookup)
          const owner = yield* users.ownerOf(address.lookup)
          const id = before?.identity_id ?? owner?.id
          if (id === undefined || (kind === "signup" ? !mayGet("verification", owner) : before === undefined)) return
          const { about, change, contested, email: to, hash, own, session } = before?.data ?? {}
          if (kind === "email_change") {
            return yield* store.atomically(mail(name, request, address, id, { change, email: to, session }))
          }
          // The challenge stays that of the sign-up. If there were several, another person's may have been the last.
          const challenge = (before === undefined ? undefined : pkceChallengeOf(before)) ?? request.challenge
          const data = contested === true ? { contested } : { hash, about, own }
          yield* store.atomically(mail(name, { ...request, challenge }, address, id, data))
        })
      )
    })

    const signInAnonymously: AuthCalls["signInAnonymously"] = Effect.fnUntraced(function* (data) {
      yield* limits.takeOfClient("anonymous of")
      const anonymous = { address: undefined, metadataPublic: {}, passwordHash: null, verified: false } as const
      const id = yield* records.enter({ ...anonymous, traits: data, state: "active", provider: "anonymous" })
      return yield* tokens.open(id, "anonymous")
    })

    return { create, mail, signUp, signIn, sendOtp, sendRecovery, resend, signInAnonymously }
  })
}) {
  static readonly layer = Layer.effect(SupabaseSignIn, SupabaseSignIn.make)
}
