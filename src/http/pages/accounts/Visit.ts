import { Effect } from "effect"
import { Cookies, HttpEffect, HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomBytes } from "node:crypto"
import { type ClientError, Forbidden } from "../../../domain/errors.ts"
import { type Words, wordsOf } from "../../../domain/language/Language.ts"
import { BrandSettings } from "../../../services/identity/Brand.ts"
import { CurrentLanguage } from "../../../services/identity/CurrentLanguage.ts"
import { IdentitySettings } from "../../../services/identity/Settings.ts"
import { IdentitySignatures } from "../../../services/access/Signatures.ts"
import { CurrentDevice } from "../../../services/ports/identity/Accounts.ts"
import { type BrowserRequest, browserRequestOf, deviceOf, ourPage } from "../../access/BrowserRequests.ts"
import { refuseForeignForm } from "../../access/Origins.ts"
import { rawValue } from "../../access/cookies/SessionCookies.ts"
import { queryOf } from "../../wire/Paths.ts"
import { type Html, html, type Look } from "../Html.ts"
import { formOf, redirectPage, redirectTo } from "../Pages.ts"

type Response = HttpServerResponse.HttpServerResponse

/** Binds forms to the browser that was shown them, also before it has a session: no site can sign it in as another user. */
const formCookie = "svc_form"

/** A browser at one of the pages of accounts. */
export interface Visit {
  readonly browser: BrowserRequest
  /** The operator's name on each page, and the language. */
  readonly look: Look
  readonly words: Words
  /** The fields of the form, or of the query. */
  readonly fields: URLSearchParams
  /** A page of ours or the dashboard's; undefined: none was given. */
  readonly returnTo: string | undefined
  /** Hidden fields of every form. */
  readonly hidden: Html
  /** The query that other pages need, with its question mark; "" for none. */
  readonly query: string
}

/** A field of a form, at most `maxLength` characters long; "" if it is missing. */
export const field = ({ fields }: Visit, name: string, maxLength = 1000): string =>
  (fields.get(name) ?? "").slice(0, maxLength)

const withFormCookie = (value: string, secure: boolean) =>
  HttpEffect.appendPreResponseHandler((_request, response) =>
    Effect.succeed(
      HttpServerResponse.mergeCookies(
        response,
        Cookies.fromIterable([
          Cookies.makeCookieUnsafe(formCookie, value, { path: "/", httpOnly: true, sameSite: "lax", secure })
        ])
      )
    )
  )

/** Prepares a page: reads a GET's query or, after checking that this browser was shown it, a POST's form. */
export const makeVisits = Effect.gen(function* () {
  const settings = yield* IdentitySettings
  const { brand } = yield* BrandSettings
  const signatures = yield* IdentitySignatures

  return <E extends ClientError, R>(use: (visit: Visit) => Effect.Effect<Response, E, R>) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const given = yield* browserRequestOf(request, settings)
      const known = rawValue(request.headers["cookie"] ?? "", formCookie) ?? ""
      const cookie = /^[\w-]{43}$/.test(known) ? known : randomBytes(32).toString("base64url")
      if (cookie !== known) yield* withFormCookie(cookie, given.secure)
      const query = new URLSearchParams(queryOf(request.url))
      let fields = query
      if (request.method === "POST") {
        yield* refuseForeignForm(request, settings)
        fields = yield* formOf(request)
        if (cookie !== known || !(yield* signatures.verify("account-form", cookie, fields.get("form") ?? ""))) {
          return yield* new Forbidden({ error: "This form belongs to another browser; reload the page", code: "CSRF" })
        }
      }
      const language = yield* CurrentLanguage
      const returnTo = ourPage(fields.get("return_to"), request, settings)
      const token = yield* signatures.sign("account-form", cookie)
      const hidden = html`<input type="hidden" name="form" value="${token}" />${
          returnTo === undefined ? undefined : html`<input type="hidden" name="return_to" value="${returnTo}" />`
        }`
      return yield* use({
        browser: { ...given, returnTo },
        look: { brand, language },
        words: wordsOf(language),
        fields,
        returnTo,
        hidden,
        query: returnTo === undefined ? "" : `?${new URLSearchParams({ return_to: returnTo })}`
      }).pipe(Effect.provideService(CurrentDevice, deviceOf(request, settings)))
    })
})

/** The visit of the page that follows. `returnTo` was verified when the visit began. */
export const returningTo = (visit: Visit, returnTo: string | undefined): Visit => ({
  ...visit,
  browser: { ...visit.browser, returnTo: returnTo ?? visit.browser.returnTo },
  returnTo,
  query: returnTo === undefined ? "" : `?${new URLSearchParams({ return_to: returnTo })}`
})

/** Redirects to another account page. */
export const toPage = ({ browser }: Visit, name: string): Response =>
  redirectTo({ redirectTo: `${browser.baseUrl}/auth/${name}` })

/** Sends the browser to its destination. After a form that is not a redirect, which could lead to other sites. */
export const leave = ({ browser, look, returnTo }: Visit): Response =>
  returnTo === undefined
    ? redirectTo({ redirectTo: `${browser.baseUrl}/auth/account` })
    : redirectPage(returnTo, look.language)

/** A form that is posted to a page of accounts. */
export const accountForm = (visit: Visit, page: string, fields: Html): Html =>
  html`<form method="post" action="${page}">${visit.hidden} ${fields}</form>`

/** An input with its label. */
export const input = (
  label: string,
  attributes: Readonly<Record<string, string>>,
  flags: ReadonlyArray<"required" | "autofocus"> = ["required"]
): Html =>
  html`<label class="field"
    >${label}
    <input
      ${Object.entries(attributes).map(([name, value]) => html` ${name}="${value}"`)}${flags.map((flag) => html` ${flag}`)}
    />
  </label>`

export const alert = (text: string | undefined): Html | undefined =>
  text === undefined ? undefined : html`<p class="alert" role="alert">${text}</p>`

export const button = (text: string, name?: string, value?: string, main = true): Html =>
  html`<button${main ? html` class="main"` : undefined}${
    name === undefined ? undefined : html` name="${name}" value="${value ?? ""}"`
  }>${text}</button>`
