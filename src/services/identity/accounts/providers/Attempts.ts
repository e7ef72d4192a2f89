import { Clock, Context, Effect, Layer } from "effect"
import { type Credential } from "../../../../domain/identity/Identity.ts"
import { IdentitySignatures } from "../../../access/Signatures.ts"
import { type ProviderCalls } from "../../../ports/identity/Accounts.ts"
import { type ProvidedPerson, type ProviderProtocol } from "../../../ports/identity/Providers.ts"
import { Flows } from "../Flows.ts"
import { Limits } from "../limits/Limits.ts"
import { accountDisabled, flowForbidden, providerNotFound, refuseAnswer } from "../Refusals.ts"
import { AccountSessions } from "../Sessions.ts"
import { hashOf } from "../Store.ts"
import { hookErrorsOfPages } from "../hooks/AuthHooks.ts"
import { ProviderLinks } from "./Links.ts"

/** Attempts to sign in at another provider, or to link an account there: from the service to the provider and back. */
export class ProviderAttempts extends Context.Service<ProviderAttempts>()("svc/identity/ProviderAttempts", {
  make: Effect.gen(function* () {
    const { calls: linkCalls, identify, linkTo, providers } = yield* ProviderLinks
    const sessions = yield* AccountSessions
    const flows = yield* Flows
    const signatures = yield* IdentitySignatures
    const limits = yield* Limits
    const providerOf = (id: string) =>
      Effect.suspend(() => {
        const found = providers.find((one) => one.id === id)
        return found === undefined ? Effect.fail(providerNotFound) : Effect.succeed(found)
      })

    /** Secrets of one attempt. They are not stored: only the browser that began it makes them possible again. */
    const attemptOf = Effect.fnUntraced(function* (state: string, browser: string, callback: string) {
      const verifier = yield* signatures.sign("provider-pkce", `${state} ${browser}`)
      const nonce = yield* signatures.sign("provider-nonce", `${state} ${browser}`)
      return { state, callback, verifier, nonce }
    })

    /** Signs in. Sessions of the same person that the browser had (`before`) end. */
    const enter = Effect.fnUntraced(function* (
      provider: ProviderProtocol,
      person: ProvidedPerson,
      before: ReadonlyArray<Credential>
    ) {
      const id = yield* hookErrorsOfPages(identify(provider, person))
      const signedIn = yield* Effect.catchTag(sessions.open(id, "Cookie", "oidc"), "Unauthorized", () =>
        Effect.fail(accountDisabled)
      )
      yield* Effect.forEach(before, (credential) => sessions.replace(credential, id))
      return signedIn
    })

    const link = Effect.fnUntraced(function* (
      provider: ProviderProtocol,
      person: ProvidedPerson,
      identityId: string,
      credentials: ReadonlyArray<Credential>,
      flowId: string
    ) {
      // The person who completes it must still be signed in as the one who began it.
      const own = yield* Effect.findFirst(credentials, (credential) =>
        Effect.match(sessions.whole(credential), {
          onFailure: () => false,
          onSuccess: ({ identity_id }) => identity_id === identityId
        })
      )
      if (own._tag === "None") return yield* flowForbidden
      yield* linkTo(provider, person, identityId, flows.stands(flowId))
    })

    const calls: ProviderCalls = {
      ...linkCalls,
      list: providers.map(({ id, label }) => ({ id, label })),

      begin: Effect.fnUntraced(function* ({ again = false, browser, callback, credential, provider: name, returnTo }) {
        const provider = yield* providerOf(name)
        yield* limits.takeOfClient("flows of")
        const identityId = credential === undefined ? null : (yield* sessions.privileged(credential)).identity_id
        const since = again ? Math.floor((yield* Clock.currentTimeMillis) / 1000) : undefined
        const data = { provider: name, browser: hashOf(browser), callback, returnTo, since }
        const { id } = yield* flows.begin("provider", identityId, data)
        return yield* provider.start({ ...(yield* attemptOf(id, browser, callback)), again })
      }),

      finish: Effect.fnUntraced(function* ({ browser, credentials, provider: name, query }) {
        const provider = yield* providerOf(name)
        const state = query.get("state") ?? ""
        const { data, identity_id } = yield* flows.take(state, "provider", { provider: name, browser: hashOf(browser) })
        const returnTo = typeof data["returnTo"] === "string" ? data["returnTo"] : undefined
        const outcome = Effect.gen(function* () {
          yield* refuseAnswer(query)
          const attempt = yield* attemptOf(state, browser, String(data["callback"]))
          const since = typeof data["since"] === "number" ? data["since"] : undefined
          const { person } = yield* provider.finish({ ...attempt, since }, query)
          return identity_id === null
            ? yield* enter(provider, person, credentials)
            : yield* link(provider, person, identity_id, credentials, state)
        })
        return { provider, returnTo, linking: identity_id !== null, outcome }
      })
    }

    return { calls, attemptOf }
  })
}) {
  static readonly layer = Layer.effect(ProviderAttempts, ProviderAttempts.make)
}
