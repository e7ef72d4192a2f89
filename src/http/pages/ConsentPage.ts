import { type HttpServerResponse } from "effect/http"
import { type ConsentRequest } from "../../domain/oauth2/OAuth2.ts"
import { withValues, type Words, wordsOf } from "../../domain/language/Language.ts"
import { filledHtml, type Html, html, type Look, nameText, page, webLink } from "./Html.ts"
import { type Brand } from "../../services/identity/Brand.ts"
import { form, type FormToken } from "./Pages.ts"

interface ScopeWords {
  /** The operator's descriptions of scopes. */
  readonly own: Readonly<Record<string, string>>
  /** Scopes that give access to the user's rows. */
  readonly dataScopes: ReadonlyArray<string>
  readonly words: Words
}

/** Scopes that neither the operator nor OpenID Connect describes are shown by name. */
const scopeText = (scope: string, { dataScopes, own, words }: ScopeWords): Html => {
  const standard: Readonly<Record<string, string>> = words.scopes
  const known = [own, standard].find((all) => Object.hasOwn(all, scope))?.[scope]
  const text = known ?? (dataScopes.includes(scope) ? words.consent.data : undefined)
  return text === undefined
    ? html`<span><bdi>${nameText(scope, 200)}</bdi></span>`
    : html`<span
        >${text}<small><bdi>${nameText(scope)}</bdi></small></span
      >`
}

/** `openid` can't be deselected: without it the client would not receive the user's identity. */
const scopeField = (scope: string, words: ScopeWords): Html => {
  const text = scopeText(scope, words)
  return scope === "openid"
    ? html`<label><input type="checkbox" checked disabled />${text}</label>
        <input type="hidden" name="grant_scope" value="openid" />`
    : html`<label><input type="checkbox" name="grant_scope" value="${scope}" checked />${text}</label>`
}

/** The host that the browser will be redirected to: unlike the client's name it can't be forged. */
const destination = ({ client, requestUrl }: ConsentRequest, app: string) => {
  const requested = URL.canParse(requestUrl) ? new URL(requestUrl).searchParams.get("redirect_uri") : null
  const uri = requested ?? client.redirect_uris[0] ?? ""
  if (!URL.canParse(uri)) return undefined
  const { host, protocol } = new URL(uri)
  return host === "" ? withValues(app, { scheme: protocol }) : host
}

/** A logo that the page's policy allows. */
const logoOf = (uri: string) => (/^https:\/\//i.test(uri) && URL.canParse(uri) ? new URL(uri).href : undefined)

const link = (url: string, text: string) => {
  const href = webLink(url)
  return href === undefined ? undefined : html`<a href="${href}" rel="noopener noreferrer nofollow">${text}</a>`
}

export interface ConsentForm {
  readonly request: ConsentRequest
  /** The signed-in user's account name. */
  readonly account: string
  readonly token: FormToken["token"]
  /** How the operator describes scopes. */
  readonly scopes: Omit<ScopeWords, "words">
  readonly look: Look & { readonly brand: Brand }
}

/** Asks the user what a client may access. Works without JavaScript; all data of the client is untrusted. */
export const consentPage = ({
  account,
  look,
  request,
  scopes,
  token
}: ConsentForm): HttpServerResponse.HttpServerResponse => {
  const { brand, language } = look
  const words = wordsOf(language)
  const { common, consent } = words
  const { client } = request
  const name = nameText(client.client_name) || nameText(client.client_id)
  const logo = logoOf(client.logo_uri)
  const host = destination(request, consent.app)
  const links = [link(client.tos_uri, consent.terms), link(client.policy_uri, consent.privacy)].filter(
    (one) => one !== undefined
  )
  const asks = filledHtml(brand.name === undefined ? consent.asks : consent.asksOf, {
    app: html`<bdi>${name}</bdi>`,
    brand: html`<bdi>${nameText(brand.name ?? "")}</bdi>`
  })
  return page(
    consent.title,
    html`${
        logo === undefined ? undefined : html`<img class="logo" src="${logo}" alt="" referrerpolicy="no-referrer" /> `
      }
      <h1>${asks}</h1>
      <p class="soft">
        ${filledHtml(common.signedInAs, { name: html`<strong><bdi>${nameText(account, 200)}</bdi></strong>` })}
      </p>
      ${form(
        "consent",
        { challenge: request.challenge, token },
        // A form of its own: the Enter key presses the first button of a form.
        html`<p class="soft"><button class="plain" name="decision" value="switch">${consent.switch}</button></p>`
      )}
      ${form(
        "consent",
        { challenge: request.challenge, token },
        html`<fieldset>
            <legend>${consent.scopes}</legend>
            ${request.requestedScope.length === 0 ? html`<p>${consent.nothing}</p>` : request.requestedScope.map((scope) => scopeField(scope, { ...scopes, words }))}
          </fieldset>
          ${
            request.requestedAudience.length === 0
              ? undefined
              : html`<p class="soft">
                  ${filledHtml(consent.at, {
                    audiences: html`${request.requestedAudience.map(
                      (audience, index) => html`${index === 0 ? "" : ", "}<bdi>${nameText(audience, 200)}</bdi>`
                    )}`
                  })}
                </p>`
          }
          <label><input type="checkbox" name="remember" value="on" /><span>${consent.remember}</span></label>
          <div class="buttons">
            <button class="main" name="decision" value="allow">${consent.allow}</button>
            <button name="decision" value="deny">${consent.deny}</button>
          </div>`
      )}
      <footer>
        ${
          host === undefined
            ? undefined
            : html`<p>
                ${filledHtml(consent.redirected, { host: html`<strong><bdi>${nameText(host, 200)}</bdi></strong>` })}
              </p>`
        }
        ${links.length === 0 ? undefined : html`<p>${links.map((one, index) => html`${index === 0 ? "" : " · "}${one}`)}</p>`}
      </footer>`,
    look
  )
}
