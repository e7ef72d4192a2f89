import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { type ClientError } from "../../domain/errors.ts"
import { type Redirect } from "../../services/ports/OAuth2.ts"
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
export const redirectPage = (to: string): HttpServerResponse.HttpServerResponse =>
  page(
    "One moment",
    html`<h1>One moment</h1>
      <p>You are being redirected.</p>
      <div class="buttons"><a class="button main" href="${to}">Continue</a></div>`,
    { next: to }
  )

/** Whether the client prefers HTML to JSON. */
const wantsPage = (accept = "") => {
  const [page, json] = [accept.indexOf("text/html"), accept.indexOf("application/json")]
  return page >= 0 && (json < 0 || page < json)
}

/** Answers failures with a page if the client is a browser. */
export const withFailurePage = <A, E extends ClientError, R>(
  answer: Effect.Effect<A, E, R>
): Effect.Effect<A | HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest> =>
  Effect.catch(answer, (error) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
      wantsPage(headers["accept"]) ? Effect.succeed(failurePage(error)) : Effect.fail(error)
    )
  )

/** A redirect whose URL may contain secrets: not cached, and sent to no other site as a referrer. */
export const redirectTo = ({ redirectTo }: Redirect): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.empty({
    status: 302,
    headers: { location: redirectTo, "cache-control": "no-store", "referrer-policy": "no-referrer" }
  })
