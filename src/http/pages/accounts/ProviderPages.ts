import { type HttpServerResponse } from "effect/http"
import { type ClientError } from "../../../domain/errors.ts"
import { withValues } from "../../../domain/language/Language.ts"
import { type ProviderLink, type Provider } from "../../../services/ports/identity/Providers.ts"
import { type Html, html, nameText, page } from "../Html.ts"
import { accountForm, button, type Visit } from "./Visit.ts"

/** Buttons that begin a sign-in elsewhere. `again`: the person is signed in, but not recently. */
export const providerButtons = (visit: Visit, providers: ReadonlyArray<Provider>, again = false): Html | undefined =>
  providers.length === 0
    ? undefined
    : accountForm(
        visit,
        "with",
        html`${again ? html`<input type="hidden" name="again" value="yes" />` : undefined}
          <div class="buttons each">
            ${providers.map(({ id, label }) => button(withValues(visit.words.login.with, { name: label }), "provider", id, false))}
          </div>`
      )

/** The section of the account page with linked accounts, and services that can be linked. */
export const linkedAccounts = (
  visit: Visit,
  providers: ReadonlyArray<Provider>,
  links: ReadonlyArray<ProviderLink>
): Html | undefined => {
  const others = providers.filter(({ id }) => !links.some((link) => link.id === id))
  return providers.length === 0 && links.length === 0
    ? undefined
    : html`<h2>${visit.words.links.title}</h2>
        <ul>
          ${links.map(
            ({ account, id, label }) =>
              html`<li>
                ${label} <span class="soft"><bdi>${nameText(account, 200)}</bdi></span>
                ${accountForm(visit, "account", html`<input type="hidden" name="id" value="${id}" /> ${button(visit.words.links.unlink, "action", "unlink", false)}`)}
              </li>`
          )}
          ${others.map(
            ({ id, label }) =>
              html`<li>
                ${label}
                ${accountForm(visit, "account", html`<input type="hidden" name="id" value="${id}" /> ${button(visit.words.links.link, "action", "link", false)}`)}
              </li>`
          )}
        </ul>`
}

/** The page after a failed sign-in at another service: the reason, and a way to continue. */
export const providerFailurePage = (
  visit: Visit,
  name: string,
  linking: boolean,
  { code, error, status }: ClientError
): HttpServerResponse.HttpServerResponse => {
  const { common, provider, providerFailures } = visit.words
  const known: Readonly<Record<string, string>> = providerFailures
  const title = withValues(linking ? provider.notLinked : provider.notSignedIn, { name })
  return page(
    title,
    html`<h1>${title}</h1>
      <p>${withValues(Object.hasOwn(known, code) ? (known[code] ?? error) : error, { name })}</p>
      <div class="buttons">
        <a class="button main" href="${visit.browser.baseUrl}/auth/${linking ? "account" : `login${visit.query}`}"
          >${linking ? common.toAccount : common.backToSignIn}</a
        >
      </div>`,
    { ...visit.look, status }
  )
}
