import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { type ClientError, InvalidRequest, UnsupportedMediaType } from "../../domain/errors.ts"
import { type Language, type Words, wordsOf } from "../../domain/language/Language.ts"
import { maxChallengeLength } from "../../domain/oauth2/OAuth2.ts"
import { CurrentLanguage } from "../../services/identity/CurrentLanguage.ts"
import { type Redirect } from "../../services/ports/OAuth2.ts"
import { inLanguage } from "../access/PageLanguage.ts"
import { bodyBytes } from "../wire/Body.ts"
import { queryOf } from "../wire/Paths.ts"
import { type Html, html, page, webLink } from "./Html.ts"

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
  const decision = names.find((name) => name === fields.get("decision"))
  return decision === undefined
    ? Effect.fail(new InvalidRequest({ error: `decision must be ${names.join(" or ")}` }))
    : Effect.succeed(decision)
}

/** The explanation of an error for users, by its code. The code is shown for those whom they ask for help. */
const textsOf = ({ code, status }: ClientError, { failed, failures, unavailable }: Words) => {
  const texts: Readonly<Record<string, { readonly title: string; readonly text: string }>> = failures
  return (Object.hasOwn(texts, code) ? texts[code] : undefined) ?? (status >= 500 ? unavailable : failed)
}

/** Shows an error to a user, with a link to continue if there is one. */
export const failurePage = (error: ClientError, language: Language): HttpServerResponse.HttpServerResponse => {
  const to = "redirect_to" in error && error.redirect_to !== null ? webLink(error.redirect_to) : undefined
  const words = wordsOf(language)
  const { text, title } = textsOf(error, words)
  return page(
    title,
    html`<h1>${title}</h1>
      <p>${text}</p>
      <p class="soft"><code>${error.code}</code></p>
      ${to === undefined ? undefined : html`<div class="buttons"><a class="button main" href="${to}" rel="noreferrer">${words.common.continue}</a></div>`}`,
    { status: error.status, language }
  )
}

/** Hidden fields of a form: its challenge, and a signature that binds the form to the session. */
export interface FormToken {
  readonly challenge: string
  readonly token: string
}

/** A form that is posted to the page's own URL, whose last segment is `name`. */
export const form = (name: "consent" | "logout", { challenge, token }: FormToken, fields: Html): Html =>
  html`<form class="choice" method="post" action="${name}">
    <input type="hidden" name="${name}_challenge" value="${challenge}" />
    <input type="hidden" name="token" value="${token}" />
    ${fields}
  </form>`

/**
 * Sends a browser on after a form. Not a redirect: browsers apply the page's form-action policy to the whole chain of
 * redirects, and the service can't know where a client redirects to.
 */
export const redirectPage = (to: string, language: Language): HttpServerResponse.HttpServerResponse => {
  const { common, redirect } = wordsOf(language)
  return page(
    redirect.title,
    html`<h1>${redirect.title}</h1>
      <p>${redirect.text}</p>
      <div class="buttons"><a class="button main" href="${to}">${common.continue}</a></div>`,
    { next: to, language }
  )
}

/** Whether the client prefers HTML to JSON. */
const wantsPage = (accept = "") => {
  const [page, json] = [accept.indexOf("text/html"), accept.indexOf("application/json")]
  return page >= 0 && (json < 0 || page < json)
}

/** Answers in the language of the browser, and failures with a page if the client is one. `keeps`: see inLanguage. */
export const withFailurePage = <A, E extends ClientError, R>(
  answer: Effect.Effect<A, E, R>,
  keeps = true
): Effect.Effect<A | HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest> =>
  inLanguage(
    Effect.catch(answer, (error) =>
      Effect.gen(function* () {
        const { headers } = yield* HttpServerRequest.HttpServerRequest
        return wantsPage(headers["accept"]) ? failurePage(error, yield* CurrentLanguage) : yield* Effect.fail(error)
      })
    ),
    keeps
  )

/** A redirect whose URL may contain secrets: not cached, and sent to no other site as a referrer. */
export const redirectTo = ({ redirectTo }: Redirect): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.empty({
    status: 302,
    headers: { location: redirectTo, "cache-control": "no-store", "referrer-policy": "no-referrer" }
  })
