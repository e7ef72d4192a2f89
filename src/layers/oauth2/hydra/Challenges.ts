import { Effect } from "effect"
import { Gone, NotFound } from "../../../domain/errors.ts"
import { type Rejection, type OAuth2 } from "../../../services/ports/OAuth2.ts"
import { type Hydra, type Meaning } from "./Calls.ts"
import { readConsent, readLogin, readLogout, readOnward } from "./Replies.ts"
import { isChallenge, oneLine } from "./Text.ts"

type Port = OAuth2["Service"]
type Kind = "login" | "consent" | "logout"

const unknown = new NotFound({ error: "There is no such challenge", code: "CHALLENGE_NOT_FOUND" })

/**
 * 404: not one of its challenges. 401 with `request_unauthorized`: one of them, but too old; any other 401 is of a gateway
 * that wants another token. 410 and 409: used already, as servers up to 2.1 say.
 */
const meaning: Meaning<NotFound | Gone> = ({ description, error, redirectTo, status }) => {
  if (status === 404 && error !== "") return unknown
  if (status === 401 && error === "request_unauthorized" && /expired/i.test(description)) {
    return new Gone({ error: "The challenge has expired: start again at the application", code: "CHALLENGE_EXPIRED" })
  }
  if (status === 410 || status === 409) {
    const gone = "The challenge was answered already"
    return new Gone({ error: gone, code: "CHALLENGE_EXPIRED", redirect_to: redirectTo })
  }
  return undefined
}

/** Logins, consents and logouts under way, by their challenges. */
export const challengesOn = ({ call, tell }: Hydra) => {
  const at = (kind: Kind, challenge: string, step = "") => ({
    path: `/admin/oauth2/auth/requests/${kind}${step}`,
    query: { [`${kind}_challenge`]: challenge }
  })

  const known = <A, E>(challenge: string, ask: Effect.Effect<A, E>): Effect.Effect<A, E | NotFound> =>
    isChallenge(challenge) ? ask : Effect.fail(unknown)

  /** Never asked again: nobody could say whether the first time did it. */
  const answer = (kind: Kind, challenge: string, step: "/accept" | "/reject", body?: unknown) =>
    known(
      challenge,
      Effect.map(
        call(
          { ...at(kind, challenge, step), method: "PUT", ...(body === undefined ? {} : { body }) },
          readOnward,
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
      // Without it the server can't sign the person out of the application either (RP-initiated logout).
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
      known(challenge, tell({ ...at("logout", challenge, "/reject"), method: "PUT" }, meaning))
  }
}
