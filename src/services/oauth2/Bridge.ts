import { Clock, Context, Effect, Layer } from "effect"
import { signInWishes, type SignInWishes } from "../../domain/oauth2/AuthorizationRequest.ts"
import { type IdentitySession } from "../../domain/identity/Identity.ts"
import { type Visitor } from "../../domain/identity/Visitor.ts"
import { IdentityMarks } from "../identity/Marks.ts"
import { IdentitySettings } from "../identity/Settings.ts"
import { IdP, type IdPTrouble } from "../ports/IdP.ts"
import { type ChallengeTrouble, OAuth2, type Onward } from "../ports/OAuth2.ts"
import { type ConsentTrouble, OAuth2Consents } from "./Consents.ts"
import { type Leaving, OAuth2Logouts } from "./Logouts.ts"
import { OAuth2Requests } from "./Requests.ts"
import { Sessions } from "../identity/Sessions.ts"

/** Where a browser came to us. */
export interface Arrival {
  readonly challenge: string
  readonly credentials: Visitor["credentials"]
  /** Our own address as this browser knows it, without a slash at its end. */
  readonly own: string
}

/** s that the idp's clock may be behind ours. */
const clockSkew = 5

/**
 * What stands between the OAuth 2.0 server and the idp: it knows the clients, the idp knows the people. A browser is
 * sent here by the server, on to the idp or a consent screen when somebody must be asked, and back to the server.
 */
export class OAuth2Bridge extends Context.Service<
  OAuth2Bridge,
  {
    /** `since`: the mark of a sign-in that we asked for. */
    readonly login: (
      arrival: Arrival & { readonly since: string | undefined }
    ) => Effect.Effect<Onward, ChallengeTrouble | IdPTrouble>
    readonly consent: (arrival: Arrival) => Effect.Effect<Onward, ConsentTrouble>
    /** To the page that asks, unless a client's token vouches for it. */
    readonly logout: (arrival: Arrival) => Effect.Effect<Leaving, ConsentTrouble>
    /** Never fails; asked at most once in 3 s. */
    readonly status: Effect.Effect<{
      readonly oauth2_configured: boolean
      readonly idp_configured: boolean
      readonly bridge_ready: boolean
    }>
  }
>()("svc/services/OAuth2Bridge") {
  static readonly layer = Layer.effect(
    OAuth2Bridge,
    Effect.gen(function* () {
      const oauth2 = yield* OAuth2
      const idp = yield* IdP
      const sessions = yield* Sessions
      const consents = yield* OAuth2Consents
      const logouts = yield* OAuth2Logouts
      const requests = yield* OAuth2Requests
      const marks = yield* IdentityMarks
      const { dashboardUrl } = yield* IdentitySettings

      /** "<seconds since 1970>.<mark>": a sign-in was asked for then, for this challenge. */
      const markNow = (challenge: string) =>
        Effect.gen(function* () {
          const now = String(Math.floor((yield* Clock.currentTimeMillis) / 1000))
          return `${now}.${yield* marks.make("sign-in", `${now} ${challenge}`)}`
        })
      const markedAt = (challenge: string, since: string | undefined) =>
        Effect.gen(function* () {
          const [, at, mark] = /^(\d{1,12})\.([\w-]{43})$/.exec(since ?? "") ?? []
          if (at === undefined || mark === undefined) return undefined
          return (yield* marks.check("sign-in", `${at} ${challenge}`, mark)) ? Number(at) : undefined
        })

      const login = Effect.fn("OAuth2Bridge.login")(function* (arrival: Arrival & { since: string | undefined }) {
        const { challenge, credentials, own, since } = arrival
        const { client: _, ...request } = yield* requests.withRestart(challenge, oauth2.login(challenge))
        const wishes = signInWishes(request.requestUrl)
        const askedAt = yield* markedAt(challenge, since)

        const here = `${own}/api/oauth2/bridge/login?login_challenge=${encodeURIComponent(challenge)}`
        const returnTo =
          wishes.again || wishes.maxAge !== undefined ? `${here}&since=${yield* markNow(challenge)}` : here
        const refused = (errorDescription: string) =>
          oauth2.rejectLogin(challenge, { error: "login_required", errorDescription })
        const away = (redirectTo: string) =>
          wishes.silent
            ? refused("Nobody may be asked, but somebody would have to sign in")
            : Effect.as(requests.remember(challenge, request.requestUrl), { redirectTo })

        // Back from a sign-in: what was remembered before it is of no use.
        if (askedAt !== undefined) yield* Effect.forEach(credentials, sessions.forget, { discard: true })
        const visit = yield* Effect.result(sessions.optional({ credentials, returnTo }))
        if (visit._tag === "Failure") {
          if (visit.failure._tag !== "StepUpRequired") return yield* visit.failure
          return yield* away(visit.failure.redirect_to ?? (yield* idp.loginUrl({ returnTo, aal: "aal2" })))
        }
        if (visit.success === undefined) return yield* away(yield* idp.loginUrl({ returnTo }))

        const { session } = visit.success
        const now = yield* Clock.currentTimeMillis
        if (!isFresh(session, wishes, askedAt, now / 1000)) {
          // Asked for it once and not done: whoever goes back and forth would never come to an end.
          if (askedAt !== undefined) return yield* refused("The sign-in was not renewed")
          return yield* away(yield* idp.loginUrl({ returnTo, refresh: true }))
        }
        return yield* requests.withRestart(
          challenge,
          oauth2.acceptLogin(challenge, {
            subject: session.identity.id,
            acr: session.aal,
            amr: session.methods,
            sessionId: session.id,
            // No longer than the idp's own session.
            rememberFor: Math.max(1, Math.floor((Date.parse(session.expiresAt) - now) / 1000))
          })
        )
      })

      const consent = Effect.fn("OAuth2Bridge.consent")(function* ({ challenge, credentials, own }: Arrival) {
        const returnTo = `${own}/api/oauth2/bridge/consent?consent_challenge=${encodeURIComponent(challenge)}`
        const request = yield* consents.find(challenge, { credentials, returnTo })
        const { client } = request
        if (request.skip || client.skip_consent || client.metadata["skip_consent"] === true) {
          return yield* consents.acceptAll(request)
        }
        if (signInWishes(request.requestUrl).silent) {
          return yield* oauth2.rejectConsent(challenge, {
            error: "consent_required",
            errorDescription: "Nobody may be asked, but somebody would have to consent"
          })
        }
        yield* requests.remember(challenge, request.requestUrl)
        return {
          redirectTo: `${dashboardUrl ?? own}/oauth2/consent?consent_challenge=${encodeURIComponent(challenge)}`
        }
      })

      const logout = Effect.fn("OAuth2Bridge.logout")(function* ({ challenge, credentials, own }: Arrival) {
        const request = yield* logouts.request(challenge)
        const query = `logout_challenge=${encodeURIComponent(challenge)}`
        // Any page can send a browser to the server's logout: without a client's token the person is asked.
        if (!request.rpInitiated) return { redirectTo: `${own}/oauth2/logout?${query}`, ended: false }
        return yield* logouts.accept(request, { credentials, returnTo: `${own}/api/oauth2/bridge/logout?${query}` })
      })

      const status = yield* Effect.cachedWithTTL(
        Effect.map(Effect.all([oauth2.ready, idp.ready], { concurrency: 2 }), ([oauth2Ready, idpReady]) => ({
          oauth2_configured: oauth2.configured,
          idp_configured: idp.configured,
          bridge_ready: oauth2.configured && idp.configured && oauth2Ready && idpReady
        })),
        "3 seconds"
      )

      return OAuth2Bridge.of({ login, consent, logout, status })
    })
  )
}

/** Whether somebody signed in as lately as the client wants; all times in s. */
const isFresh = (
  session: IdentitySession,
  { again, maxAge }: SignInWishes,
  askedAt: number | undefined,
  now: number
) => {
  const at = Date.parse(session.authenticatedAt) / 1000
  if (askedAt !== undefined && at >= askedAt - clockSkew) return true
  return !again && (maxAge === undefined || now - at <= maxAge)
}
