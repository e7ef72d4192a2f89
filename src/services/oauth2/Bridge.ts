import { Clock, Context, Effect, Layer } from "effect"
import { type ClientError, StepUpRequired, type Unavailable } from "../../domain/errors.ts"
import { type Browser, type IdentitySession } from "../../domain/identity/Identity.ts"
import { asSwitched, localesOf, signInParameters, type SignInParameters } from "../../domain/oauth2/OAuth2.ts"
import { Sessions } from "../identity/Sessions.ts"
import { IdentitySettings } from "../identity/Settings.ts"
import { IdentitySignatures } from "../access/Signatures.ts"
import { IdP, type IdPError } from "../ports/IdP.ts"
import { type ChallengeError, OAuth2, type Redirect } from "../ports/OAuth2.ts"
import { type ConsentError, OAuth2Consents, makeRequests } from "./Consents.ts"
import { type LogoutRedirect, OAuth2Logouts } from "./Logouts.ts"

/** A browser that the OAuth 2.0 server sent to the bridge. */
export interface BridgeRequest {
  readonly challenge: string
  readonly credentials: Browser["credentials"]
  /** The URL at which this browser reaches the service, without a trailing slash. */
  readonly baseUrl: string
}

/** `since`: signed time at which the bridge sent the user to sign in; undefined on the first visit. */
type ReturningRequest = BridgeRequest & { readonly since: string | undefined }

/** How far the identity provider's clock may be behind, in s. */
const clockSkew = 5
/** A browser that returns within this time after it was sent to sign in, in s, is not sent again: it may be looping. */
const loopSeconds = 20
const noSession = "The user returned from the sign-in without a session that reaches this service"

/**
 * Connects the OAuth 2.0 server, which manages clients, with the identity provider, which manages users. The server
 * redirects browsers here; the bridge redirects them to the identity provider or a consent screen if the user must be
 * asked, and back to the server.
 */
export class OAuth2Bridge extends Context.Service<
  OAuth2Bridge,
  {
    readonly login: (request: ReturningRequest) => Effect.Effect<Redirect, ChallengeError | IdPError>
    readonly consent: (request: ReturningRequest) => Effect.Effect<Redirect, ConsentError>
    /** The URL at which a user who is sent to sign in continues with the consent. */
    readonly returnToConsent: (baseUrl: string, challenge: string) => Effect.Effect<string, Unavailable>
    /** Redirects to the page that asks the user, unless a client proved the request with an ID token. */
    readonly logout: (request: BridgeRequest) => Effect.Effect<LogoutRedirect, ConsentError>
    /** Never fails; cached for 3 s. */
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
      const requests = yield* makeRequests
      const signatures = yield* IdentitySignatures
      const { dashboardUrl } = yield* IdentitySettings

      /** "<seconds since 1970>.<signature>": when the user was sent to sign in for this challenge. */
      const signNow = (challenge: string) =>
        Effect.gen(function* () {
          const now = String(Math.floor((yield* Clock.currentTimeMillis) / 1000))
          return `${now}.${yield* signatures.sign("sign-in", `${now} ${challenge}`)}`
        })
      /** The time at which the user was sent to sign in, in s, and whether that is so recent that it may be a loop. */
      const tripOf = Effect.fnUntraced(function* ({ challenge, credentials, since }: ReturningRequest) {
        const [, at, signature] = /^(\d{1,12})\.([\w-]{43})$/.exec(since ?? "") ?? []
        if (at === undefined || signature === undefined) return undefined
        if (!(yield* signatures.verify("sign-in", `${at} ${challenge}`, signature))) return undefined
        // The user returns from a sign-in: cached sessions are outdated.
        yield* Effect.forEach(credentials, sessions.invalidate, { discard: true })
        const sentAt = Number(at)
        return { sentAt, justNow: (yield* Clock.currentTimeMillis) / 1000 - sentAt < loopSeconds }
      })

      const login = Effect.fn("OAuth2Bridge.login")(function* (given: ReturningRequest) {
        const { baseUrl, challenge, credentials } = given
        const request = yield* requests.withRestart(challenge, oauth2.login(challenge))
        const parameters = signInParameters(request.requestUrl)
        const asked = localesOf(request.requestUrl)
        const language = asked === undefined ? {} : { language: asked }
        const trip = yield* tripOf(given)
        const sentAt = trip?.sentAt

        const here = `${baseUrl}/api/oauth2/bridge/login?login_challenge=${encodeURIComponent(challenge)}`
        const returnTo = `${here}&since=${yield* signNow(challenge)}`
        const refused = (errorDescription: string) =>
          oauth2.rejectLogin(challenge, { error: "login_required", errorDescription })
        const signIn = Effect.fnUntraced(function* (redirectTo: string) {
          if (parameters.silent) return yield* refused("prompt=none was requested, but the user must sign in")
          if (trip?.justNow === true) return yield* refused(noSession)
          yield* requests.remember(challenge, request.requestUrl)
          return { redirectTo }
        })

        const found = yield* Effect.result(
          sessions.optional({ credentials: sentAt === undefined ? credentials : cookieFirst(credentials), returnTo })
        )
        if (found._tag === "Failure") {
          if (found.failure._tag !== "StepUpRequired") return yield* found.failure
          return yield* signIn(found.failure.redirect_to ?? (yield* idp.loginUrl({ returnTo, ...language })))
        }
        const session = found.success
        if (session === undefined) return yield* signIn(yield* idp.loginUrl({ returnTo, ...language }))

        const now = yield* Clock.currentTimeMillis
        if (!isFresh(session, parameters, sentAt, now / 1000)) {
          // Already sent to reauthenticate once; sending again would loop forever.
          if (sentAt !== undefined) return yield* refused("The sign-in was not renewed")
          return yield* signIn(yield* idp.loginUrl({ returnTo, refresh: true, ...language }))
        }
        const isSwitch = request.skip && request.subject !== session.identity.id && !parameters.reauthenticate
        // The server would start the request again, without prompt=none.
        if (isSwitch && parameters.silent)
          return yield* refused("prompt=none was requested, but another user is signed in")
        const accepted = yield* requests.withRestart(
          challenge,
          oauth2.acceptLogin(challenge, {
            subject: session.identity.id,
            acr: session.aal,
            amr: session.methods,
            sessionId: session.id,
            authenticatedAt: Math.floor(Date.parse(session.authenticated_at) / 1000),
            // No longer than the session at the identity provider.
            rememberFor: Math.max(1, Math.floor((Date.parse(session.expires_at) - now) / 1000))
          })
        )
        return isSwitch ? { redirectTo: asSwitched(accepted.redirectTo) } : accepted
      })

      const returnToConsent = (baseUrl: string, challenge: string) =>
        Effect.map(
          signNow(challenge),
          (now) =>
            `${baseUrl}/api/oauth2/bridge/consent?consent_challenge=${encodeURIComponent(challenge)}&since=${now}`
        )

      const consent = Effect.fn("OAuth2Bridge.consent")(function* (given: ReturningRequest) {
        const { baseUrl, challenge, credentials } = given
        const browser = { credentials, returnTo: yield* returnToConsent(baseUrl, challenge) }
        if ((yield* tripOf(given))?.justNow === true) {
          const session = yield* Effect.catchTag(sessions.optional(browser), "StepUpRequired", () => Effect.undefined)
          if (session === undefined) {
            return yield* oauth2.rejectConsent(challenge, { error: "login_required", errorDescription: noSession })
          }
        }
        const request = yield* consents.find(challenge, browser)
        const { client } = request
        if (request.skip || client.skip_consent || client.metadata["skip_consent"] === true) {
          return yield* consents.acceptAll(request)
        }
        if (signInParameters(request.requestUrl).silent) {
          return yield* oauth2.rejectConsent(challenge, {
            error: "consent_required",
            errorDescription: "prompt=none was requested, but the user must consent"
          })
        }
        yield* requests.remember(challenge, request.requestUrl)
        return {
          redirectTo: `${dashboardUrl ?? baseUrl}/oauth2/consent?consent_challenge=${encodeURIComponent(challenge)}`
        }
      })

      const logout = Effect.fn("OAuth2Bridge.logout")(function* ({ baseUrl, challenge, credentials }: BridgeRequest) {
        const request = yield* logouts.request(challenge)
        const query = `logout_challenge=${encodeURIComponent(challenge)}`
        // Any page can send a browser to the server's logout: without a client's ID token the user is asked.
        if (!request.rpInitiated) return { redirectTo: `${baseUrl}/oauth2/logout?${query}`, ended: false }
        return yield* logouts.accept(request, { credentials, returnTo: `${baseUrl}/api/oauth2/bridge/logout?${query}` })
      })

      const status = yield* Effect.cachedWithTTL(
        Effect.map(Effect.all([oauth2.ready, idp.ready], { concurrency: 2 }), ([oauth2Ready, idpReady]) => ({
          oauth2_configured: oauth2.configured,
          idp_configured: idp.configured,
          bridge_ready: oauth2.configured && idp.configured && oauth2Ready && idpReady
        })),
        "3 seconds"
      )

      return OAuth2Bridge.of({
        login,
        consent: (request) => orStepUp(consent(request)),
        returnToConsent,
        logout: (request) => orStepUp(logout(request)),
        status
      })
    })
  )
}

/** Redirects a browser to the step-up that its session needs; the URL leads back here. */
const orStepUp = <A extends Redirect, E extends ClientError>(answer: Effect.Effect<A, E>) =>
  Effect.catchIf(
    answer,
    (error): error is E & StepUpRequired => error instanceof StepUpRequired && error.redirect_to !== null,
    ({ redirect_to }) => Effect.succeed({ redirectTo: redirect_to ?? "", ended: false })
  )

/** The identity provider's pages sign users in by its own cookie, so that is the newer session. */
const cookieFirst = (credentials: Browser["credentials"]) =>
  credentials.toSorted((a, b) => Number(b._tag === "Cookie") - Number(a._tag === "Cookie"))

/** Whether the user signed in as recently as the client requires; all times in s. */
const isFresh = (
  session: IdentitySession,
  { maxAge, reauthenticate }: SignInParameters,
  sentAt: number | undefined,
  now: number
) => {
  const at = Date.parse(session.authenticated_at) / 1000
  if (sentAt !== undefined && at >= sentAt - clockSkew) return true
  return !reauthenticate && (maxAge === undefined || now - at <= maxAge)
}
