import { type HttpServerResponse } from "effect/http"
import { type Brand } from "../../services/identity/Brand.ts"
import { html, page } from "./Html.ts"

/** Where the OAuth 2.0 server redirects after a sign-out that no app started. */
export const signedOutPage = (brand: Brand): HttpServerResponse.HttpServerResponse =>
  page(
    "Signed out",
    html`<h1>You are signed out</h1>
      <p>You can close this page.</p>`,
    { brand }
  )

const incorrect = "The app's request is not correct. Only the app's provider can fix this."

/** Errors that can't be returned to an app (RFC 6749 4.1.2.1, OpenID Connect Core 3.1.2.6), for people. */
const texts: Readonly<Record<string, string>> = {
  invalid_client: "The app is not registered with this service.",
  unauthorized_client: "The app may not sign users in this way.",
  invalid_request: incorrect,
  invalid_scope: "The app asks for something that it may not have.",
  unsupported_response_type: incorrect,
  request_forbidden:
    "The sign-in was continued in another browser, or cookies are blocked. Please start again at the app.",
  server_error: "A server has failed. Please try again in a few minutes.",
  temporarily_unavailable: "A server is busy. Please try again in a few minutes."
}

/**
 * Where the OAuth 2.0 server redirects with an error that it can't return to the app. Anyone can make such a link, so
 * its texts are not shown.
 */
export const oauth2ErrorPage = (code: string, brand: Brand): HttpServerResponse.HttpServerResponse =>
  page(
    "The app could not sign you in",
    html`<h1>The app could not sign you in</h1>
      <p>${Object.hasOwn(texts, code) ? texts[code] : "Please go back to the app and start again."}</p>
      ${/^[a-z_]{1,50}$/.test(code) ? html`<p class="soft"><code>${code}</code></p>` : undefined}`,
    { status: 400, brand }
  )

/** Instead of the dashboard, where it was installed without the packages that build it. */
export const notBuiltPage = (): HttpServerResponse.HttpServerResponse =>
  page(
    "The dashboard is not built",
    html`<h1>The dashboard is not built</h1>
      <p>
        Run <code>npm install &amp;&amp; npm run build:dashboard</code> where the service is installed, and restart it.
      </p>`,
    { status: 503 }
  )
