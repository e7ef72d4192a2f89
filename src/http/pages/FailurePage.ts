import { type HttpServerResponse } from "effect/http"
import { type ClientError } from "../../domain/errors.ts"
import { html, page, webLink } from "./Html.ts"

interface Words {
  readonly title: string
  readonly text: string
}

const unavailable: Words = {
  title: "Signing in is not possible at the moment",
  text: "A server that is needed for it does not respond. Please try again in a few minutes."
}
const incomplete: Words = {
  title: "This link is incomplete or no longer valid",
  text: "Please go back to the app and start again."
}

/** What errors mean for people, by code; the code itself is for those whom they ask for help. */
const words: Readonly<Record<string, Words>> = {
  INVALID_REQUEST: incomplete,
  CHALLENGE_NOT_FOUND: incomplete,
  CHALLENGE_EXPIRED: {
    title: "This took too long",
    text: "The request of the app has expired or was already answered. Please start again."
  },
  CHALLENGE_FORBIDDEN: {
    title: "You are signed in to another account",
    text: "The app asked for a different account. Go back to the app and start again to continue with this one, or sign out first."
  },
  CSRF: {
    title: "This page is out of date",
    text: "Your session has changed since it was opened. Please go back to the app and start again."
  },
  aal2_required: { title: "One more step", text: "Please confirm that it is you with your second factor." },
  reauthentication_required: { title: "One more step", text: "Your sign-in was some time ago. Please sign in again." },
  USE_IDP: {
    title: "Your account is kept elsewhere",
    text: "This service does not keep accounts itself. Please go back to the app and sign in there."
  },
  TOO_MANY_GUESSES: { title: "Too many attempts", text: "Please wait for a minute and try again." },
  NOT_CONFIGURED: { title: "Signing in is not set up", text: "Please tell the operator of this service." }
}

const wordsOf = ({ code, status }: ClientError): Words =>
  (Object.hasOwn(words, code) ? words[code] : undefined) ??
  (status >= 500 ? unavailable : { title: "Something went wrong", text: "Please go back to the app and start again." })

/** Shows an error to a person, with a way on if there is one. */
export const failurePage = (error: ClientError): HttpServerResponse.HttpServerResponse => {
  const to = "redirect_to" in error && error.redirect_to !== null ? webLink(error.redirect_to) : undefined
  const { text, title } = wordsOf(error)
  return page(
    title,
    html`<h1>${title}</h1>
      <p>${text}</p>
      <p class="soft"><code>${error.code}</code></p>
      ${to === undefined ? undefined : html`<div class="buttons"><a class="button main" href="${to}" rel="noreferrer">Continue</a></div>`}`,
    { status: error.status }
  )
}
