import { type HttpServerResponse } from "effect/http"
import { type ConsentRequest } from "../../domain/oauth2/OAuth2.ts"
import { type Html, html, nameText, page, webLink } from "./Html.ts"
import { type Brand } from "../../services/identity/Brand.ts"
import { form, type FormToken } from "./Pages.ts"

/** Descriptions of the scopes of OpenID Connect Core 5.4 and 11; others are shown by name. */
const words: Readonly<Record<string, string>> = {
  openid: "Know who you are",
  profile: "See your name and the rest of your profile",
  email: "See your e-mail address",
  address: "See your postal address",
  phone: "See your phone number",
  offline: "Keep access while you are away",
  offline_access: "Keep access while you are away"
}

interface Words {
  /** The operator's descriptions of scopes. */
  readonly own: Readonly<Record<string, string>>
  /** Scopes that give access to the user's rows. */
  readonly dataScopes: ReadonlyArray<string>
}

const scopeText = (scope: string, { dataScopes, own }: Words): Html => {
  const known = [own, words].find((all) => Object.hasOwn(all, scope))?.[scope]
  const text = known ?? (dataScopes.includes(scope) ? "Read and change your data" : undefined)
  return text === undefined
    ? html`<span><bdi>${nameText(scope, 200)}</bdi></span>`
    : html`<span
        >${text}<small><bdi>${nameText(scope)}</bdi></small></span
      >`
}

/** `openid` can't be deselected: without it the client would not learn who signed in. */
const scopeField = (scope: string, words: Words): Html => {
  const text = scopeText(scope, words)
  return scope === "openid"
    ? html`<label><input type="checkbox" checked disabled />${text}</label>
        <input type="hidden" name="grant_scope" value="openid" />`
    : html`<label><input type="checkbox" name="grant_scope" value="${scope}" checked />${text}</label>`
}

/** The host that the browser will be redirected to: unlike the client's name it can't be forged. */
const destination = ({ client, requestUrl }: ConsentRequest) => {
  const requested = URL.canParse(requestUrl) ? new URL(requestUrl).searchParams.get("redirect_uri") : null
  const uri = requested ?? client.redirect_uris[0] ?? ""
  if (!URL.canParse(uri)) return undefined
  const { host, protocol } = new URL(uri)
  return host === "" ? `${protocol} (an app)` : host
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
  readonly words: Words
  readonly brand: Brand
}

/** Asks the user what a client may access. Works without JavaScript; all data of the client is untrusted. */
export const consentPage = ({
  account,
  brand,
  request,
  token,
  words
}: ConsentForm): HttpServerResponse.HttpServerResponse => {
  const { client } = request
  const name = nameText(client.client_name) || nameText(client.client_id)
  const logo = logoOf(client.logo_uri)
  const host = destination(request)
  const links = [link(client.tos_uri, "Terms of service"), link(client.policy_uri, "Privacy policy")].filter(
    (one) => one !== undefined
  )
  const whose = brand.name === undefined ? "account" : html`<bdi>${nameText(brand.name)}</bdi> account`
  return page(
    "Allow access?",
    html`${
        logo === undefined ? undefined : html`<img class="logo" src="${logo}" alt="" referrerpolicy="no-referrer" /> `
      }
      <h1><bdi>${name}</bdi> asks for access to your ${whose}</h1>
      <p class="soft">
        You are signed in as <strong><bdi>${nameText(account, 200)}</bdi></strong
        >.
      </p>
      ${form(
        "consent",
        { challenge: request.challenge, token },
        // A form of its own: the Enter key presses the first button of a form.
        html`<p class="soft"><button class="plain" name="decision" value="switch">Use another account</button></p>`
      )}
      ${form(
        "consent",
        { challenge: request.challenge, token },
        html`<fieldset>
            <legend>If you allow it, the app can</legend>
            ${request.requestedScope.length === 0 ? html`<p>Know that you have signed in, and nothing else.</p>` : request.requestedScope.map((scope) => scopeField(scope, words))}
          </fieldset>
          ${
            request.requestedAudience.length === 0
              ? undefined
              : html`<p class="soft">
                  At:
                  ${request.requestedAudience.map(
                    (audience, index) => html`${index === 0 ? "" : ", "}<bdi>${nameText(audience, 200)}</bdi>`
                  )}
                </p>`
          }
          <label><input type="checkbox" name="remember" value="on" /><span>Do not ask again for 30 days</span></label>
          <div class="buttons">
            <button class="main" name="decision" value="allow">Allow</button>
            <button name="decision" value="deny">Deny</button>
          </div>`
      )}
      <footer>
        ${
          host === undefined
            ? undefined
            : html`<p>
                You will be redirected to <strong><bdi>${nameText(host, 200)}</bdi></strong
                >.
              </p>`
        }
        ${links.length === 0 ? undefined : html`<p>${links.map((one, index) => html`${index === 0 ? "" : " · "}${one}`)}</p>`}
      </footer>`,
    { brand }
  )
}
