import { Context, Effect, Layer } from "effect"
import { emailExists, validationFailed, noUser, weakPassword } from "../../../../domain/supabase/AuthErrors.ts"
import { type JsonObject } from "../../../../domain/text/JsonObject.ts"
import { type AuthCalls, type UserChange } from "../../../ports/supabase/AuthCalls.ts"
import { AccountChanges } from "../Changes.ts"
import { PasswordSignIn } from "../passwords/PasswordSignIn.ts"
import { AccountRecords } from "../Records.ts"
import { isUuid, AccountStore } from "../Store.ts"
import { takeBack } from "../TakeBack.ts"
import { isPending, reachableEmail, SupabaseSignIn } from "./Entering.ts"
import { SupabaseFactors } from "./Factors.ts"
import { OneTimes, typeOf } from "./OneTime.ts"
import { changedMetadata, Users } from "./Users.ts"
import { SupabasePasskeys } from "./Passkeys.ts"
import { type ErrorCode } from "../../../../domain/codes/ErrorCode.ts"

/** Fields of app_metadata that only the service sets. */
const reserved = ["provider", "providers", "svc_role"]

const onlyEmail = validationFailed(
  "An email address is required: this server has no accounts with a phone number alone"
)
const invalidHash = validationFailed(
  "password_hash must be argon2 (PHC, at most 128 MiB and 6 passes) or bcrypt (cost 4 to 14)"
)
const notNeeded = validationFailed(
  "A change by an administrator is confirmed at the new address only: use email_change_new"
)

/** The functions of service_role keys on users. */
export class SupabaseUserAdmin extends Context.Service<SupabaseUserAdmin>()("svc/identity/SupabaseUserAdmin", {
  make: Effect.gen(function* () {
    const store = yield* AccountStore
    const records = yield* AccountRecords
    const changes = yield* AccountChanges
    const byPassword = yield* PasswordSignIn
    const users = yield* Users
    const mails = yield* OneTimes
    const { create: createPending, mail } = yield* SupabaseSignIn
    const factors = yield* SupabaseFactors
    const { ofAdmin: passkeys } = yield* SupabasePasskeys
    const hashOf = (change: Pick<UserChange, "password" | "passwordHash">, email: string | undefined) =>
      byPassword.hashGiven(change, email, invalidHash, weakPassword)

    /** Columns that only auth.users has. In a transaction. */
    const setOwn = Effect.fnUntraced(function* (id: string, { banSeconds, role }: UserChange) {
      if (role !== undefined) yield* users.set(id, "jsonb_build_object('role', $2::text)", [role])
      if (banSeconds !== undefined) {
        const until = "case when $2::float8 > 0 then now() + make_interval(secs => $2::float8) end"
        yield* users.set(id, `jsonb_build_object('banned_until', ${until})`, [banSeconds])
        if (banSeconds > 0) yield* takeBack(store, id, "disable")
      }
    })

    const taken = <A, E extends { readonly code: ErrorCode }, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.catchIf(
        effect,
        ({ code }) => code === "ADDRESS_TAKEN",
        () => Effect.fail(emailExists)
      )

    const calls: AuthCalls["admin"] = {
      ...passkeys,
      list: users.page,
      get: users.byId,

      create: Effect.fn("SupabaseAuth.create")(function* (given, change) {
        if (change.email === undefined || change.email === "") return yield* onlyEmail
        if (given !== undefined && !isUuid(given)) return yield* validationFailed("id must be a UUID")
        const address = yield* reachableEmail(change.email)
        if ((yield* users.ownerOf(address.lookup)) !== undefined) return yield* emailExists
        const passwordHash = yield* hashOf(change, address.value)
        const id = yield* taken(
          store.atomically(
            records.createByAdministrator({
              ...(given === undefined ? {} : { id: given }),
              address,
              traits: changedMetadata({}, change.userMetadata ?? {}, ["email"]),
              metadataPublic: changedMetadata({}, change.appMetadata ?? {}, reserved),
              passwordHash: passwordHash ?? null,
              verified: change.confirmed ?? false,
              state: "active"
            })
          )
        )
        yield* store.atomically(setOwn(id, change))
        return yield* users.byId(id)
      }),

      update: Effect.fn("SupabaseAuth.update")(function* (id, change) {
        const before = yield* users.byId(id)
        const address = change.email === undefined ? undefined : yield* reachableEmail(change.email)
        const passwordHash = yield* hashOf(change, address?.value ?? String(before["email"]))
        const changed = changes.change(
          before.id,
          undefined,
          ({ metadata_public: { svc_role } }) =>
            Effect.map(users.byId(id), ({ app_metadata, user_metadata }) => ({
              address,
              verified: change.confirmed,
              newVerified: true,
              traits: change.userMetadata && changedMetadata(user_metadata, change.userMetadata, ["email"]),
              metadataPublic: change.appMetadata && {
                ...changedMetadata(app_metadata, change.appMetadata, reserved),
                ...(svc_role === undefined ? {} : { svc_role })
              },
              passwordHash
            })),
          setOwn(id, change)
        )
        yield* taken(changed)
        return yield* users.byId(id)
      }),

      remove: Effect.fn("SupabaseAuth.remove")(function* (id, soft) {
        if (!isUuid(id)) return yield* noUser
        const removed = yield* store.atomically(
          Effect.gen(function* () {
            if (soft) yield* users.set(id, "jsonb_build_object('deleted_at', now())")
            return yield* records.remove(id)
          })
        )
        if (removed === 0) return yield* noUser
      }),

      invite: Effect.fn("SupabaseAuth.invite")(function* ({ data, email, ...request }) {
        const address = yield* reachableEmail(email)
        const owner = yield* users.ownerOf(address.lookup)
        if (owner !== undefined && !isPending(owner)) return yield* emailExists
        const id = owner?.id ?? (yield* taken(createPending({ address, data, passwordHash: null })))
        yield* store.atomically(
          Effect.andThen(mail("invite", request, address, id), users.set(id, "jsonb_build_object('invited_at', now())"))
        )
        return yield* users.byId(id)
      }),

      generateLink: Effect.fn("SupabaseAuth.generateLink")(function* (given) {
        const { challenge, data, email, kind, redirectTo } = given
        if (kind === "email_change_current" || kind === "reauthentication") return yield* notNeeded
        const address = yield* reachableEmail(email)
        const owner = yield* users.ownerOf(address.lookup)
        if (owner === undefined && (kind === "recovery" || kind === "email_change_new")) return yield* noUser
        if (owner?.verified === true && (kind === "signup" || kind === "invite")) return yield* emailExists
        if (kind === "signup" && given.password === undefined)
          return yield* validationFailed("Signup requires a valid password")
        const hash = kind === "signup" ? yield* hashOf({ password: given.password ?? "" }, address.value) : undefined
        const to = kind === "email_change_new" ? yield* reachableEmail(given.newEmail ?? "") : address
        const other = kind === "email_change_new" ? yield* users.ownerOf(to.lookup) : undefined
        if (other !== undefined && other.id !== owner?.id) return yield* emailExists
        const id = owner?.id ?? (yield* taken(createPending({ address, data, passwordHash: null })))
        const made = yield* store.atomically(
          mails.make({
            kind,
            to,
            identityId: id,
            challenge,
            redirectTo,
            data: kind === "email_change_new" ? { email: to.value } : { hash, about: data },
            mailed: false
          })
        )
        return {
          user: yield* users.byId(id),
          properties: {
            action_link: made.link,
            email_otp: made.code,
            hashed_token: made.token,
            redirect_to: redirectTo,
            verification_type: kind === "email_change_new" ? kind : typeOf(kind)
          }
        }
      }),

      factors: (id) => Effect.map(users.byId(id), (user) => (user["factors"] ?? []) as ReadonlyArray<JsonObject>),
      removeFactor: (id, factorId) => Effect.andThen(users.byId(id), factors.remove(id, factorId))
    }
    return calls
  })
}) {
  static readonly layer = Layer.effect(SupabaseUserAdmin, SupabaseUserAdmin.make)
}
