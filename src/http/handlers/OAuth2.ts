import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { type ClientError, Forbidden, InvalidRequest } from "../../domain/errors.ts"
import { isoTime } from "../../domain/text/IsoTime.ts"
import { type ConsentRequest, type ConsentSession, type OAuth2Client } from "../../domain/oauth2/OAuth2.ts"
import { describeChange } from "../../services/audit/Change.ts"
import { OwnSigningKeys } from "../../services/access/OwnSigningKeys.ts"
import { type BridgeRequest, OAuth2Bridge } from "../../services/oauth2/Bridge.ts"
import { OAuth2Claims } from "../../services/oauth2/Claims.ts"
import { changeClient, createClient, removeClient, rotateClientSecret } from "../../services/oauth2/Clients.ts"
import { OAuth2Consents } from "../../services/oauth2/Consents.ts"
import { OAuth2, type Redirect } from "../../services/ports/OAuth2.ts"
import { CurrentKeyOrSession } from "../access/ApiGate.ts"
import { CurrentBrowser } from "../access/BrowserRequests.ts"
import { clearSessionCookies } from "../access/cookies/SessionCookies.ts"
import { Api } from "../Api.ts"
import { redirectTo, withFailurePage } from "../pages/Pages.ts"
import { success } from "../wire/Body.ts"

const redirectOf = ({ redirectTo }: Redirect) => ({ redirect_to: redirectTo })

const infoOf = ({ client, ...request }: ConsentRequest) => ({
  challenge: request.challenge,
  client: {
    client_id: client.client_id,
    client_name: client.client_name,
    logo_uri: client.logo_uri,
    tos_uri: client.tos_uri,
    policy_uri: client.policy_uri
  },
  requested_scope: request.requestedScope,
  requested_access_token_audience: request.requestedAudience,
  subject: request.subject,
  skip: request.skip
})

export const OAuth2BridgeHandlers = HttpApiBuilder.group(
  Api,
  "oauth2Bridge",
  Effect.fn(function* (handlers) {
    const bridge = yield* OAuth2Bridge
    const consents = yield* OAuth2Consents

    /** Redirects a browser that comes with a challenge. */
    const redirect = <E extends ClientError>(
      name: string,
      challenge: string | undefined,
      use: (request: BridgeRequest) => Effect.Effect<Redirect & { readonly ended?: boolean }, E>
    ) =>
      withFailurePage(
        Effect.gen(function* () {
          const { baseUrl, credentials, secure } = yield* CurrentBrowser
          if (challenge === undefined) return yield* new InvalidRequest({ error: `${name} is missing from the query` })
          const answer = yield* use({ baseUrl, challenge, credentials })
          if (answer.ended === true) yield* clearSessionCookies(secure)
          return redirectTo(answer)
        })
      )

    return handlers.handleAll({
      login: ({ query: { login_challenge, since } }) =>
        redirect("login_challenge", login_challenge, (request) => bridge.login({ ...request, since })),
      consent: ({ query: { consent_challenge, since } }) =>
        redirect("consent_challenge", consent_challenge, (request) => bridge.consent({ ...request, since })),
      logout: ({ query }) => redirect("logout_challenge", query.logout_challenge, bridge.logout),
      consentInfo: ({ query }) =>
        Effect.flatMap(CurrentBrowser, (browser) =>
          Effect.map(consents.find(query.consent_challenge, browser), infoOf)
        ),
      consentAccept: ({ payload }) =>
        Effect.flatMap(CurrentBrowser, (browser) =>
          Effect.map(
            consents.accept(payload.challenge, browser, {
              scope: payload.grant_scope,
              audience: payload.grant_access_token_audience,
              remember: payload.remember ?? false,
              rememberFor: payload.remember_for
            }),
            redirectOf
          )
        ),
      consentReject: ({ payload }) =>
        Effect.flatMap(CurrentBrowser, (browser) =>
          Effect.map(
            consents.reject(payload.challenge, browser, {
              error: payload.error ?? "access_denied",
              ...(payload.error_description === undefined ? {} : { errorDescription: payload.error_description })
            }),
            redirectOf
          )
        ),
      status: Effect.fnUntraced(function* () {
        const { baseUrl } = yield* CurrentBrowser
        const at = `${baseUrl}/api/oauth2/bridge`
        return {
          ...(yield* bridge.status),
          login_url: `${at}/login`,
          consent_url: `${at}/consent`,
          logout_url: `${at}/logout`
        }
      })
    })
  })
)

/** Allows the subject's own session and administrators only. */
const requireSubject = Effect.fnUntraced(function* (subject: string) {
  const caller = yield* CurrentKeyOrSession
  const allowed =
    caller._tag === "Key"
      ? caller.key.type === "service_role"
      : caller.session.admin || caller.session.identity.id === subject
  if (!allowed) {
    return yield* new Forbidden({
      error: "This needs the subject's own session, an administrator's session or a service_role key"
    })
  }
})

const consentOf = ({ client, ...consent }: ConsentSession) => ({
  consent_request: {
    client: { client_id: client.client_id, client_name: client.client_name },
    requested_scope: consent.requestedScope
  },
  grant_scope: consent.grantScope,
  remember: consent.remember,
  handled_at: isoTime(consent.handledAt)
})

export const OAuth2ConsentsHandlers = HttpApiBuilder.group(
  Api,
  "oauth2Consents",
  Effect.fn(function* (handlers) {
    const consents = yield* OAuth2Consents
    return handlers.handleAll({
      list: ({ params: { subject } }) =>
        Effect.andThen(
          requireSubject(subject),
          Effect.map(consents.list(subject), (all) => all.map(consentOf))
        ),
      revoke: ({ params: { subject }, query }) =>
        Effect.andThen(requireSubject(subject), Effect.as(consents.revoke(subject, query.client), success))
    })
  })
)

const clientOf = (client: OAuth2Client): OAuth2Client => ({
  ...client,
  created_at: isoTime(client.created_at),
  updated_at: isoTime(client.updated_at)
})

const withSecret = ({ client, secret }: { readonly client: OAuth2Client; readonly secret: string | null }) => ({
  ...clientOf(client),
  client_secret: secret
})

export const OAuth2AdminHandlers = HttpApiBuilder.group(
  Api,
  "oauth2Admin",
  Effect.fn(function* (handlers) {
    const claims = yield* OAuth2Claims
    const oauth2 = yield* OAuth2
    const keys = yield* OwnSigningKeys
    const consents = yield* OAuth2Consents
    return handlers.handleAll({
      claims: () => claims.config,
      setClaims: ({ payload }) => claims.setConfig(payload),
      previewClaims: ({ payload }) =>
        Effect.map(claims.preview(payload), ({ accessTokenClaims, idTokenClaims }) => ({
          id_token_claims: idTokenClaims,
          access_token_claims: accessTokenClaims
        })),
      clients: ({ query: { page_size, page_token } }) =>
        Effect.map(
          oauth2.clients({
            pageSize: page_size ?? 100,
            ...(page_token === undefined ? {} : { pageToken: page_token })
          }),
          ({ clients, next }) => ({ clients: clients.map(clientOf), next_page_token: next })
        ),
      createClient: ({ payload }) => Effect.map(createClient(oauth2, payload), withSecret),
      client: ({ params }) => Effect.map(oauth2.client(params.id), clientOf),
      setClient: ({ params, payload }) => Effect.map(changeClient(oauth2, params.id, payload), clientOf),
      removeClient: ({ params }) => Effect.as(removeClient(oauth2, params.id), success),
      rotateSecret: ({ params }) => Effect.map(rotateClientSecret(oauth2, params.id), withSecret),
      rotateKeys: () =>
        Effect.flatMap(keys.rotate, (kid) =>
          Effect.map(keys.all, (all) => ({ kid, keys: all.map(({ kid, retired }) => ({ kid, retired })) }))
        ),
      signOut: ({ payload }) =>
        Effect.andThen(
          describeChange({ subject: `identity:${payload.subject}` }),
          Effect.as(consents.signOut(payload.subject), success)
        )
    })
  })
)
