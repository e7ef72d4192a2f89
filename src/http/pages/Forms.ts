import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { InvalidRequest, UnsupportedMediaType } from "../../domain/errors.ts"
import { maxChallengeLength } from "../../domain/oauth2/OAuth2.ts"
import { bodyBytes } from "../wire/Body.ts"
import { queryOf } from "../wire/Paths.ts"

/** Maximum size of a form, with its challenge and scopes, in bytes. */
const formLimit = 256 * 1024

/** The fields of a form of the service's own pages. */
export const formOf = (request: HttpServerRequest.HttpServerRequest) => {
  if (!/^application\/x-www-form-urlencoded *(?:;|$)/i.test(request.headers["content-type"] ?? "")) {
    return Effect.fail(new UnsupportedMediaType({ error: "The body must be application/x-www-form-urlencoded" }))
  }
  return bodyBytes(request, formLimit).pipe(
    Effect.catchTag("HttpServerError", Effect.die), // answered by http/front
    Effect.map((bytes) => new URLSearchParams(bytes.toString("utf8")))
  )
}

/** The challenge among a form's or query's fields. */
export const challengeIn = (
  fields: URLSearchParams,
  name: "consent_challenge" | "logout_challenge"
): Effect.Effect<string, InvalidRequest> => {
  const challenge = fields.get(name) ?? ""
  return challenge.length <= maxChallengeLength && /^[\x21-\x7e]+$/.test(challenge)
    ? Effect.succeed(challenge)
    : Effect.fail(new InvalidRequest({ error: `${name} is missing or invalid` }))
}

/** The query parameters of the current request. */
export const queryFields = Effect.map(
  HttpServerRequest.HttpServerRequest,
  ({ url }) => new URLSearchParams(queryOf(url))
)

/** The button that was pressed. */
export const decisionIn = <const Name extends string>(
  fields: URLSearchParams,
  ...names: ReadonlyArray<Name>
): Effect.Effect<Name, InvalidRequest> => {
  const given = names.find((name) => name === fields.get("decision"))
  return given === undefined
    ? Effect.fail(new InvalidRequest({ error: `decision must be ${names.join(" or ")}` }))
    : Effect.succeed(given)
}
