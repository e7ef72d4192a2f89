import { Context, Effect, Layer, Schema } from "effect"
import {
  idTokenUsed,
  insufficientAal,
  noIdentityOfUser,
  noProvider,
  singleIdentity
} from "../../../../domain/supabase/AuthErrors.ts"
import { isJsonObject } from "../../../../domain/text/JsonObject.ts"
import { type ProvidedPerson, type ProviderProtocol } from "../../../ports/identity/Providers.ts"
import { type Attempt, type AuthCalls, type Challenge } from "../../../ports/supabase/AuthCalls.ts"
import { Flows } from "../Flows.ts"
import { Limits } from "../limits/Limits.ts"
import { ProviderAttempts } from "../providers/Attempts.ts"
import { ProviderLinks } from "../providers/Links.ts"
import { refuseAnswer } from "../Refusals.ts"
import { AccountSessions } from "../Sessions.ts"
import { hashOf, isUuid, AccountStore } from "../Store.ts"
import { providerTokens, SupabaseCodes } from "./Codes.ts"
import { SupabaseTokens } from "./Tokens.ts"
import { Users } from "./Users.ts"

const OwnerRow = Schema.Struct({ user_id: Schema.String })
const IdentityRow = Schema.Struct({ provider: Schema.String, provider_id: Schema.String, others: Schema.Int })

/** Signing in at other services, and linking accounts there to one's own. */
export class SupabaseProviders extends Context.Service<SupabaseProviders>()("svc/identity/SupabaseProviders", {
  make: Effect.gen(function* () {
    const store = yield* AccountStore
    const flows = yield* Flows
    const limits = yield* Limits
    const links = yield* ProviderLinks
    const { attemptOf } = yield* ProviderAttempts
    const users = yield* Users
    const tokens = yield* SupabaseTokens
    const codes = yield* SupabaseCodes
    const sessions = yield* AccountSessions
    const owners = store.rows(OwnerRow)
    const identities = store.rows(IdentityRow)

    /** Links an account that was copied into auth.identities from Supabase, which names no issuer. */
    const takeOver = Effect.fnUntraced(function* (provider: ProviderProtocol, person: ProvidedPerson) {
      if ((yield* links.ownerOfLink(person)) !== undefined) return
      const [copied] = yield* owners(
        `select x.user_id::text from auth.identities x join svc.identities i on i.id = x.user_id
       where x.provider = $1 and x.provider_id = $2`,
        [provider.id, person.subject]
      )
      if (copied !== undefined) yield* store.atomically(links.add(copied.user_id, provider.id, person, true))
    })

    const known = (id: unknown) =>
      Effect.suspend(() => {
        const provider = links.providers.find((one) => one.id === id)
        return provider === undefined ? Effect.fail(noProvider) : Effect.succeed(provider)
      })

    const linkTicket: AuthCalls["linkTicket"] = Effect.fnUntraced(function* (session, attempt) {
      yield* known(attempt.provider)
      yield* users.whole(session, insufficientAal)
      const { id } = yield* flows.begin("supabase_provider", session.userId, { ...attempt, ticket: true })
      return id
    })

    const authorize: AuthCalls["authorize"] = Effect.fnUntraced(function* ({ attempt, browser, callback }) {
      yield* limits.takeOfClient("flows of")
      const begun =
        "ticket" in attempt ? yield* flows.take(attempt.ticket, "supabase_provider", { ticket: true }) : undefined
      const { challenge, provider: name, redirectTo } = begun?.data ?? (attempt as Attempt)
      const provider = yield* known(name)
      const data = { provider: provider.id, browser: hashOf(browser), callback, redirectTo, challenge }
      const { id } = yield* flows.begin("supabase_provider", begun?.identity_id ?? null, data)
      // A link requires a new sign-in: the browser may be signed in to another account at the provider.
      return yield* provider.start({ ...(yield* attemptOf(id, browser, callback)), again: begun !== undefined })
    })

    const callback: AuthCalls["callback"] = Effect.fnUntraced(function* ({ browser, query }) {
      const state = query.get("state") ?? ""
      const { data, identity_id } = yield* flows.take(state, "supabase_provider", { browser: hashOf(browser) })
      const provider = yield* known(data["provider"])
      const outcome = Effect.gen(function* () {
        yield* refuseAnswer(query)
        const attempt = yield* attemptOf(state, browser, String(data["callback"]))
        const { person, ...given } = yield* provider.finish(attempt, query)
        if (identity_id === null) yield* takeOver(provider, person)
        else yield* links.linkTo(provider, person, identity_id, flows.stands(state))
        const id = identity_id ?? (yield* links.identify(provider, person))
        const { challenge } = data
        const provided = providerTokens(given)
        if (!isJsonObject(challenge))
          return { session: { ...(yield* tokens.open(id, "oauth")), ...provided }, type: "" }
        return { code: yield* codes.codeFor(id, "oauth", challenge as object as Challenge, { provided }), type: "" }
      })
      return { redirectTo: String(data["redirectTo"]), outcome }
    })

    /**
     * An ID token is accepted once: one that was intercepted, or read in a log, can't be used again. The signed part is stored,
     * because a signature can be written in several ways.
     */
    const useIdToken: AuthCalls["useIdToken"] = Effect.fnUntraced(function* (name, given, linkTo) {
      yield* limits.takeOfClient("flows of")
      const provider = yield* known(name)
      if (provider.read === undefined) return yield* noProvider
      if (linkTo !== undefined) yield* users.whole(linkTo, insufficientAal)
      const { person, seconds } = yield* provider.read(given)
      const signed = given.idToken.slice(0, given.idToken.lastIndexOf("."))
      if (!(yield* limits.allows("ID token", signed, 1, seconds))) return yield* idTokenUsed
      return yield* Effect.gen(function* () {
        if (linkTo !== undefined) {
          yield* links.linkTo(provider, person, linkTo.userId, sessions.stands(linkTo.id))
          return yield* tokens.renewed(linkTo.id, "oauth")
        }
        yield* takeOver(provider, person)
        return yield* tokens.open(yield* links.identify(provider, person), "oauth")
      }).pipe(Effect.tapError(() => limits.refund("ID token", signed)))
    })

    const unlink: AuthCalls["unlink"] = Effect.fnUntraced(function* (session, identityId) {
      if (!isUuid(identityId)) return yield* noIdentityOfUser
      yield* users.whole(session, insufficientAal)
      yield* store.exclusively(
        session.userId,
        Effect.fnUntraced(function* ({ id }) {
          const [row] = yield* identities(
            `select provider, provider_id, (select count(*)::int4 - 1 from auth.identities o where o.user_id = x.user_id) as others
           from auth.identities x where x.id = $1::text::uuid and x.user_id = $2::text::uuid`,
            [identityId, id]
          )
          if (row === undefined) return yield* noIdentityOfUser
          if (row.others < 1) return yield* singleIdentity
          yield* users.dropIdentity(id, row.provider, row.provider_id)
          yield* row.provider === "email"
            ? store.count(
                "update svc.identities set password_hash = null, updated_at = now() where id = $1::text::uuid returning 1",
                [id]
              )
            : store.count(
                "delete from svc.identity_links where identity_id = $1::text::uuid and provider = $2 and subject = $3 returning 1",
                [id, row.provider, row.provider_id]
              )
        })
      )
    })

    return { linkTicket, authorize, callback, useIdToken, unlink }
  })
}) {
  static readonly layer = Layer.effect(SupabaseProviders, SupabaseProviders.make)
}
