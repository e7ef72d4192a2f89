import { type HttpServerResponse } from "effect/http"
import { wordsOf } from "../../domain/language/Language.ts"
import { type Look, html, page } from "./Html.ts"

/** The OAuth 2.0 server redirects here after a sign-out that no app started. */
export const signedOutPage = (look: Look): HttpServerResponse.HttpServerResponse => {
  const { common, signedOut } = wordsOf(look.language)
  return page(
    signedOut.title,
    html`<h1>${signedOut.title}</h1>
      <p>${common.close}</p>`,
    look
  )
}

/**
 * The OAuth 2.0 server redirects here with an error that it can't return to the app. Anyone can make such a link, so
 * its texts are not shown.
 */
export const oauth2ErrorPage = (code: string, look: Look): HttpServerResponse.HttpServerResponse => {
  const { oauth2Error, oauth2Errors } = wordsOf(look.language)
  const texts: Readonly<Record<string, string>> = oauth2Errors
  return page(
    oauth2Error.title,
    html`<h1>${oauth2Error.title}</h1>
      <p>${Object.hasOwn(texts, code) ? texts[code] : oauth2Error.other}</p>
      ${/^[a-z_]{1,50}$/.test(code) ? html`<p class="soft"><code>${code}</code></p>` : undefined}`,
    { status: 400, ...look }
  )
}

/** Replaces the dashboard in installations without the packages that build it. */
export const notBuiltPage = (): HttpServerResponse.HttpServerResponse =>
  page(
    "The dashboard is not built",
    html`<h1>The dashboard is not built</h1>
      <p>
        Run <code>npm install &amp;&amp; npm run build:dashboard</code> where the service is installed, and restart it.
      </p>`,
    { status: 503 }
  )
