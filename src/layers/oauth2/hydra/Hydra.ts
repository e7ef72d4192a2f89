import { Effect, Layer } from "effect"
import { Gone, NotFound } from "../../../domain/errors.ts"
import { type ConsentSession } from "../../../domain/oauth2/OAuth2.ts"
import { isChallenge, isId, oneLine } from "../../../domain/oauth2/Text.ts"
import { OAuth2, type Rejection } from "../../../services/ports/OAuth2.ts"
import { type OAuth2Address } from "../Address.ts"
import { type Hydra, type Meaning, makeHydra, noMeaning } from "./Calls.ts"
import { clientChangesOn, hydraClientsOn } from "./Clients.ts"
import { readConsent, readConsents, readLogin, readLogout, readRedirect } from "./Replies.ts"

type Port = OAuth2["Service"]
type Kind = "login" | "consent" | "logout"

const unknown = new NotFound({ error: "No such challenge", code: "CHALLENGE_NOT_FOUND" })

/**
 * 404: unknown. 401 with `request_unauthorized`: expired; any other 401 is from a gateway that requires another token.
 * 410 and 409: already used, as servers up to 2.1 report it.
 */
const meaning: Meaning<NotFound | Gone> = ({ description, error, redirectTo, status }) => {
  if (status === 404 && error !== "") return unknown
  if (status === 401 && error === "request_unauthorized" && /expired/i.test(description)) {
    return new Gone({ error: "The challenge has expired; start again at the application", code: "CHALLENGE_EXPIRED" })
  }
  if (status === 410 || status === 409) {
    const gone = "The challenge has already been answered"
    return new Gone({ error: gone, code: "CHALLENGE_EXPIRED", redirect_to: redirectTo })
  }
  return undefined
}

/** Pending logins, consents and logouts, by their challenges. */
const hydraChallengesOn = ({ call, send }: Hydra) => {
  const at = (kind: Kind, challenge: string, step = "") => ({
    path: `/admin/oauth2/auth/requests/${kind}${step}`,
    query: { [`${kind}_challenge`]: challenge }
  })

  const known = <A, E>(challenge: string, request: Effect.Effect<A, E>): Effect.Effect<A, E | NotFound> =>
    isChallenge(challenge) ? request : Effect.fail(unknown)

  /** Never retried: the first attempt may have succeeded. */
  const answer = (kind: Kind, challenge: string, step: "/accept" | "/reject", body?: unknown) =>
    known(
      challenge,
      Effect.map(
        call(
          { ...at(kind, challenge, step), method: "PUT", ...(body === undefined ? {} : { body }) },
          readRedirect,
          meaning
        ),
        ({ value }) => value
      )
    )

  const reject =
    (kind: Kind) =>
    (challenge: string, { error, errorDescription }: Rejection) =>
      answer(kind, challenge, "/reject", {
        error: oneLine(error),
        error_description: oneLine(errorDescription ?? "")
      })

  const login: Port["login"] = (challenge) =>
    known(
      challenge,
      Effect.map(
        call({ ...at("login", challenge), method: "GET" }, readLogin(challenge), meaning),
        ({ value }) => value
      )
    )

  const acceptLogin: Port["acceptLogin"] = (challenge, { acr, amr, rememberFor, sessionId, subject }) =>
    answer("login", challenge, "/accept", {
      subject,
      // The server can sign the user out of the application (RP-initiated logout) only if this is set.
      remember: true,
      remember_for: rememberFor,
      acr,
      amr,
      identity_provider_session_id: sessionId
    })

  const consent: Port["consent"] = (challenge) =>
    known(
      challenge,
      Effect.map(
        call({ ...at("consent", challenge), method: "GET" }, readConsent(challenge), meaning),
        ({ value }) => value
      )
    )

  const acceptConsent: Port["acceptConsent"] = (challenge, given) =>
    answer("consent", challenge, "/accept", {
      grant_scope: given.grantScope,
      grant_access_token_audience: given.grantAudience,
      remember: given.remember,
      remember_for: given.rememberFor,
      session: { id_token: given.idTokenClaims, access_token: given.accessTokenClaims }
    })

  const logoutRequest: Port["logoutRequest"] = (challenge) =>
    known(
      challenge,
      Effect.map(
        call({ ...at("logout", challenge), method: "GET" }, readLogout(challenge), meaning),
        ({ value }) => value
      )
    )

  return {
    login,
    acceptLogin,
    rejectLogin: reject("login"),
    consent,
    acceptConsent,
    rejectConsent: reject("consent"),
    logoutRequest,
    acceptLogout: (challenge: string) => answer("logout", challenge, "/accept"),
    rejectLogout: (challenge: string) =>
      known(challenge, send({ ...at("logout", challenge, "/reject"), method: "PUT" }, meaning))
  }
}

/** Consents per page: each contains the whole client. */
const pageSize = 100

const path = "/admin/oauth2/auth/sessions/consent"

/** The consents and sign-ins of users. */
const hydraConsentsOn = ({ call, send }: Hydra) => {
  const page = (subject: string, token: string | null) =>
    call(
      {
        method: "GET",
        path,
        query: { subject, page_size: String(pageSize), ...(token === null ? {} : { page_token: token }) }
      },
      readConsents,
      noMeaning
    )

  const consents: Port["consents"] = Effect.fn("OAuth2.consents")(function* (subject) {
    const all: Array<ConsentSession> = []
    if (!isId(subject)) return all
    const seen = new Set<string>()
    for (let token: string | null = null; ; seen.add(token)) {
      const { next, value }: { readonly next: string | null; readonly value: ReadonlyArray<ConsentSession> } =
        yield* page(subject, token)
      all.push(...value)
      // Ends the loop if the server's page tokens form a cycle.
      if (next === null || seen.has(next)) return all
      token = next
    }
  })

  /** The server requires exactly one of `client` and `all`. */
  const revokeConsents: Port["revokeConsents"] = (subject, clientId) => {
    if (!isId(subject) || (clientId !== undefined && !isId(clientId))) return Effect.void
    const which: Readonly<Record<string, string>> = clientId === undefined ? { all: "true" } : { client: clientId }
    return send({ method: "DELETE", path, query: { subject, ...which }, once: false }, noMeaning)
  }

  const revokeLogins: Port["revokeLogins"] = (subject) =>
    isId(subject)
      ? send(
          { method: "DELETE", path: "/admin/oauth2/auth/sessions/login", query: { subject }, once: false },
          noMeaning
        )
      : Effect.void

  return { consents, revokeConsents, revokeLogins }
}

/** Time limit of the readiness check, in ms. */
const readyMillis = 2_000

/** The admin API of Ory Hydra (2.x), or of a compatible server. */
export const layerOAuth2Hydra = (address: OAuth2Address) =>
  Layer.effect(
    OAuth2,
    Effect.map(makeHydra(address), (hydra) => {
      const clients = hydraClientsOn(hydra)
      return OAuth2.of({
        configured: true,
        ready: Effect.match(
          hydra.send({ method: "GET", path: "/health/ready", millis: readyMillis, once: true, quiet: true }, noMeaning),
          { onSuccess: () => true, onFailure: () => false }
        ),
        ...hydraChallengesOn(hydra),
        ...hydraConsentsOn(hydra),
        ...clients,
        ...clientChangesOn(hydra, clients.client)
      })
    })
  )
