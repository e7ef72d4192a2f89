import { type HttpServerResponse } from "effect/http"
import { type DueFactors, type Methods } from "../../../services/ports/identity/Accounts.ts"
import { type Html, filledHtml, html, nameText, page } from "../Html.ts"
import { keyForm, keyScript } from "./KeyScript.ts"
import { providerButtons } from "./ProviderPages.ts"
import { type Visit, accountForm, alert, button, input } from "./Visit.ts"

type Response = HttpServerResponse.HttpServerResponse

/** A refusal that a page shows above its form. */
export interface Fault {
  readonly text: string
  readonly status: number
}

export const email = ({ words }: Visit, value: string) =>
  input(words.common.email, { name: "email", type: "email", autocomplete: "username", maxlength: "254", value })
const password = (autocomplete: "current-password" | "new-password", label: string) =>
  input(label, { name: "password", type: "password", autocomplete, maxlength: "1024" })

/** A new password, with what makes a good one. */
export const newPassword = ({ words }: Visit): Html =>
  html`${password("new-password", words.common.password)}
    <p class="soft">${words.register.hint}</p>`

/** `account`: the signed-in person's name, whose sign-in is too old. */
export const loginPage = (
  visit: Visit,
  methods: Methods,
  given: { readonly email?: string; readonly account?: string; readonly fault?: Fault }
): Response =>
  page(
    visit.words.login.title,
    html`<h1>${given.account === undefined ? visit.words.login.title : visit.words.login.again}</h1>
      ${given.account === undefined ? undefined : html`<p class="soft">${filledHtml(visit.words.common.signedInAs, { name: html`<bdi>${nameText(given.account, 200)}</bdi>` })}</p>`}
      ${alert(given.fault?.text)}
      ${accountForm(
        visit,
        "login",
        html`${given.account === undefined ? email(visit, given.email ?? "") : html`<input type="hidden" name="refresh" value="true" />`}
          ${password("current-password", visit.words.common.password)}
          <div class="buttons">${button(visit.words.common.signIn)}</div>`
      )}
      <div class="buttons"><a class="button" href="passkey${visit.query}">${visit.words.login.passkey}</a></div>
      ${providerButtons(visit, methods.providers, given.account !== undefined)}
      <footer>
        <p><a href="recovery${visit.query}">${visit.words.login.forgot}</a></p>
        ${methods.registration ? html`<p><a href="register${visit.query}">${visit.words.login.register}</a></p>` : undefined}
      </footer>`,
    { ...visit.look, status: given.fault?.status ?? 200 }
  )

export const passkeyPage = (
  visit: Visit,
  flow: { readonly flowId: string; readonly publicKey: unknown },
  fault?: Fault
): Response =>
  page(
    visit.words.passkey.title,
    html`<h1>${visit.words.passkey.title}</h1>
      ${alert(fault?.text)}
      <p>${visit.words.passkey.text}</p>
      ${keyForm(visit, "passkey", "passkey", { get: flow.publicKey }, flow.flowId, visit.words.passkey.use)}
      <footer>
        <p><a href="login${visit.query}">${visit.words.passkey.password}</a></p>
      </footer>`,
    { ...visit.look, status: fault?.status ?? 200, script: keyScript }
  )

export const registerPage = (
  visit: Visit,
  methods: Methods,
  given: { readonly email?: string; readonly fault?: Fault }
): Response =>
  page(
    visit.words.register.title,
    html`<h1>${visit.words.register.title}</h1>
      ${alert(given.fault?.text)}
      ${accountForm(
        visit,
        "register",
        html`${email(visit, given.email ?? "")} ${newPassword(visit)}
          <div class="buttons">${button(visit.words.register.submit)}</div>`
      )}
      ${providerButtons(visit, methods.providers)}
      <footer>
        <p><a href="login${visit.query}">${visit.words.register.have}</a></p>
      </footer>`,
    { ...visit.look, status: given.fault?.status ?? 200 }
  )

export const factorPage = (visit: Visit, due: DueFactors, fault?: Fault): Response =>
  page(
    visit.words.factor.title,
    html`<h1>${visit.words.factor.heading}</h1>
      ${alert(fault?.text)}
      ${
        due.totp
          ? accountForm(
              visit,
              "factor",
              html`${input(visit.words.factor.code, {
                  name: "code",
                  inputmode: "numeric",
                  autocomplete: "one-time-code",
                  maxlength: "6"
                })}
                <div class="buttons">${button(visit.words.common.continue, "action", "totp")}</div>`
            )
          : undefined
      }
      ${
        due.webauthn === null
          ? undefined
          : keyForm(
              visit,
              "factor",
              "webauthn",
              { get: due.webauthn.options.publicKey },
              due.webauthn.flowId,
              visit.words.factor.useKey
            )
      }
      ${
        due.recoveryCodes
          ? html`<h2>${visit.words.factor.without}</h2>
              ${accountForm(
                visit,
                "factor",
                html`${input(visit.words.factor.recoveryCode, { name: "code", autocomplete: "off", maxlength: "8" })}
                  <div class="buttons">${button(visit.words.factor.useCode, "action", "lookup_secret", false)}</div>`
              )}`
          : undefined
      }
      <footer>${accountForm(visit, "account", button(visit.words.common.signOut, "action", "logout", false))}</footer>`,
    { ...visit.look, status: fault?.status ?? 200, ...(due.webauthn === null ? {} : { script: keyScript }) }
  )

export const newPasswordPage = (visit: Visit, account: string, fault?: Fault): Response =>
  page(
    visit.words.newPassword.title,
    html`<h1>${visit.words.newPassword.heading}</h1>
      <p class="soft">
        ${filledHtml(visit.words.newPassword.text, { name: html`<bdi>${nameText(account, 200)}</bdi>` })}
      </p>
      ${alert(fault?.text)}
      ${accountForm(
        visit,
        "password",
        html`<input type="hidden" name="username" autocomplete="username" value="${account}" />
          ${password("new-password", visit.words.newPassword.field)}
          <div class="buttons">${button(visit.words.newPassword.submit)}</div>`
      )}
      <footer>
        <p><a href="account">${visit.words.newPassword.later}</a></p>
      </footer>`,
    { ...visit.look, status: fault?.status ?? 200 }
  )

/** Makes the first administrator: of the account that is signed in, else of a new one. */
export const administratorPage = (
  visit: Visit,
  given: {
    readonly flow: string
    readonly token: string
    /** The URL of this page. */
    readonly here: string
    readonly account: string | undefined
  },
  fault?: Fault
): HttpServerResponse.HttpServerResponse => {
  const { administrator, common, register } = visit.words
  const link = html`<input type="hidden" name="flow" value="${given.flow}" />
    <input type="hidden" name="token" value="${given.token}" />`
  const name = html`<bdi>${nameText(given.account ?? "", 200)}</bdi>`
  return page(
    administrator.title,
    html`<h1>${administrator.title}</h1>
      ${alert(fault?.text)}
      <p>${administrator.text}</p>
      ${
        given.account === undefined
          ? html`${accountForm(
                visit,
                "administrator",
                html`${link} ${email(visit, "")} ${newPassword(visit)}
                  <div class="buttons">${button(administrator.create, "action", "create")}</div>`
              )}
              <footer>
                <p><a href="login?${new URLSearchParams({ return_to: given.here }).toString()}">${register.have}</a></p>
              </footer>`
          : html`<p class="soft">${filledHtml(common.signedInAs, { name })}</p>
              ${accountForm(
                visit,
                "administrator",
                html`${link}
                  <div class="buttons">${button(administrator.make, "action", "make")}</div>`
              )}`
      }`,
    { ...visit.look, status: fault?.status ?? 200 }
  )
}
