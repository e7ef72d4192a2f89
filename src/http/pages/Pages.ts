import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { type ClientError } from "../../domain/errors.ts"
import { type Language } from "../../domain/language/Language.ts"
import { wordsOf } from "../../domain/language/Words.ts"
import { CurrentLanguage } from "../../services/identity/CurrentLanguage.ts"
import { type Redirect } from "../../services/ports/OAuth2.ts"
import { inLanguage } from "../access/PageLanguage.ts"
import { failurePage } from "./FailurePage.ts"
import { type Html, html, page } from "./Html.ts"

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
