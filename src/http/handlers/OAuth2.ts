import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { type ClientError, Forbidden, InvalidRequest, StepUpRequired } from "../../domain/errors.ts"
import { isoTime } from "../../domain/text/IsoTime.ts"
import { type ConsentRequest, type ConsentSession, type OAuth2Client } from "../../domain/oauth2/OAuth2.ts"
import { type Onward } from "../../services/ports/OAuth2.ts"
import { type Arrival, OAuth2Bridge } from "../../services/oauth2/Bridge.ts"
import { OAuth2Claims } from "../../services/oauth2/Claims.ts"
import { type ClientWithSecret, OAuth2Clients } from "../../services/oauth2/Clients.ts"
import { OAuth2Consents, rememberedByDefault } from "../../services/oauth2/Consents.ts"
import { Api } from "../Api.ts"
import { forBrowsers, sentOn } from "../pages/BrowserAnswer.ts"
import { CurrentEntry } from "../access/Entrance.ts"
import { signedOut } from "../access/SessionCookies.ts"
import { CurrentVisit } from "../access/Visit.ts"
import { success } from "../wire/Body.ts"

const onward = ({ redirectTo }: Onward) => ({ redirect_to: redirectTo })

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

type Sent = Onward & { readonly ended?: boolean }

/** A browser goes and makes up for what its session lacks; the address leads back here. */
const toStepUp = <E extends ClientError>(answer: Effect.Effect<Sent, E>) =>
  Effect.catchIf(
    answer,
    (error): error is E & StepUpRequired => error instanceof StepUpRequired && error.redirect_to !== null,
    ({ redirect_to }) => Effect.succeed<Sent>({ redirectTo: redirect_to ?? "" })
  )

export const OAuth2BridgeHandlers = HttpApiBuilder.group(
  Api,
  "oauth2Bridge",
  Effect.fn(function* (handlers) {
    const bridge = yield* OAuth2Bridge
    const consents = yield* OAuth2Consents

    /** A browser with a challenge, sent on. */
    const browser = <E extends ClientError>(
      name: string,
      challenge: string | undefined,
      use: (arrival: Arrival) => Effect.Effect<Sent, E>
    ) =>
      forBrowsers(
        Effect.gen(function* () {
          const { own, secure, visitor } = yield* CurrentVisit
          if (challenge === undefined) return yield* new InvalidRequest({ error: `${name} is missing from the query` })
          const answer = yield* toStepUp(use({ challenge, credentials: visitor.credentials, own }))
          if (answer.ended === true) yield* signedOut(secure)
          return sentOn(answer)
        })
      )

    return handlers.handleAll({
      login: ({ query: { login_challenge, since } }) =>
        browser("login_challenge", login_challenge, (arrival) => bridge.login({ ...arrival, since })),
      consent: ({ query }) => browser("consent_challenge", query.consent_challenge, bridge.consent),
      logout: ({ query }) => browser("logout_challenge", query.logout_challenge, bridge.logout),
      consentInfo: ({ query }) =>
        Effect.flatMap(CurrentVisit, ({ visitor }) =>
          Effect.map(consents.find(query.consent_challenge, visitor), infoOf)
        ),
      consentAccept: ({ payload }) =>
        Effect.flatMap(CurrentVisit, ({ visitor }) =>
          Effect.map(
            consents.accept(payload.challenge, visitor, {
              scope: payload.grant_scope,
              audience: payload.grant_access_token_audience,
              remember: payload.remember ?? false,
              rememberFor: payload.remember_for ?? rememberedByDefault
            }),
            onward
          )
        ),
      consentReject: ({ payload }) =>
        Effect.flatMap(CurrentVisit, ({ visitor }) =>
          Effect.map(
            consents.reject(payload.challenge, visitor, {
              error: payload.error ?? "access_denied",
              ...(payload.error_description === undefined ? {} : { errorDescription: payload.error_description })
            }),
            onward
          )
        ),
      status: Effect.fnUntraced(function* () {
        const { own } = yield* CurrentVisit
        const at = `${own}/api/oauth2/bridge`
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

/** Somebody's own affair: who is signed in as them, or an administrator. */
const mayTouch = Effect.fnUntraced(function* (subject: string) {
  const entered = yield* CurrentEntry
  const may =
    entered._tag === "Key"
      ? entered.key.type === "service_role"
      : entered.signedIn.admin || entered.signedIn.session.identity.id === subject
  if (!may) {
    return yield* new Forbidden({
      error: "This needs the subject's own session, an administrator or a service_role key"
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
          mayTouch(subject),
          Effect.map(consents.list(subject), (all) => all.map(consentOf))
        ),
      revoke: ({ params: { subject }, query }) =>
        Effect.andThen(mayTouch(subject), Effect.as(consents.revoke(subject, query.client), success))
    })
  })
)

const clientOf = (client: OAuth2Client): OAuth2Client => ({
  ...client,
  created_at: isoTime(client.created_at),
  updated_at: isoTime(client.updated_at)
})

const withSecret = ({ client, secret }: ClientWithSecret) => ({ ...clientOf(client), client_secret: secret })

export const OAuth2AdminHandlers = HttpApiBuilder.group(
  Api,
  "oauth2Admin",
  Effect.fn(function* (handlers) {
    const claims = yield* OAuth2Claims
    const clients = yield* OAuth2Clients
    const consents = yield* OAuth2Consents
    return handlers.handleAll({
      claims: () => claims.config,
      setClaims: ({ payload }) => claims.setConfig(payload),
      clients: ({ query: { page_size, page_token } }) =>
        Effect.map(
          clients.list({ pageSize: page_size ?? 100, ...(page_token === undefined ? {} : { pageToken: page_token }) }),
          ({ clients, next }) => ({ clients: clients.map(clientOf), next_page_token: next })
        ),
      createClient: ({ payload }) => Effect.map(clients.create(payload), withSecret),
      client: ({ params }) => Effect.map(clients.find(params.id), clientOf),
      setClient: ({ params, payload }) => Effect.map(clients.merge(params.id, payload.metadata), clientOf),
      removeClient: ({ params }) => Effect.as(clients.remove(params.id), success),
      rotateSecret: ({ params }) => Effect.map(clients.rotateSecret(params.id), withSecret),
      signOut: ({ payload }) => Effect.as(consents.signOut(payload.subject), success)
    })
  })
)
