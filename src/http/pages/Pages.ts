import { type HttpServerResponse } from "effect/http"
import { type ClientError } from "../../domain/errors.ts"
import { type Html, html, page, webLink } from "./Html.ts"

/** What a form of ours carries: what it is about, and a mark that it came from us, to this session. */
export interface FormProof {
  readonly challenge: string
  readonly token: string
}

/** A form that is sent to the page's own address, whose last step is `name`. */
export const proven = (name: "consent" | "logout", { challenge, token }: FormProof, fields: Html): Html =>
  html`<form method="post" action="${name}">
    <input type="hidden" name="${name}_challenge" value="${challenge}" />
    <input type="hidden" name="token" value="${token}" />
    ${fields}
  </form>`

/**
 * Sends a browser on after a form. No redirect: browsers hold the whole chain of them to the form's own policy
 * (form-action), and where a client sends people afterwards nobody knows.
 */
export const leavingPage = (to: string): HttpServerResponse.HttpServerResponse =>
  page(
    "One moment",
    html`<h1>One moment</h1>
      <p>You are being sent on.</p>
      <div class="buttons"><a class="button main" href="${to}">Continue</a></div>`,
    { next: to }
  )

/** A failure, for who looks at it in a browser. */
export const failurePage = (error: ClientError): HttpServerResponse.HttpServerResponse => {
  const to = "redirect_to" in error && error.redirect_to !== null ? webLink(error.redirect_to) : undefined
  return page(
    "That did not work",
    html`<h1>That did not work</h1>
      <p>${error.error}</p>
      <p class="soft"><code>${error.code}</code></p>
      ${to === undefined ? undefined : html`<div class="buttons"><a class="button main" href="${to}" rel="noreferrer">Try again</a></div>`}`,
    { status: error.status }
  )
}
