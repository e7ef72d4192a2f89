import { type HttpServerResponse } from "effect/http"
import { type DueFactors, type Methods } from "../../../services/ports/identity/Accounts.ts"
import { html, nameText, page } from "../Html.ts"
import { keyForm, keyScript } from "./KeyScript.ts"
import { accountForm, alert, button, input, type Visit } from "./Visit.ts"

type Response = HttpServerResponse.HttpServerResponse

/** A refusal that a page shows above its form. */
export interface Fault {
  readonly text: string
  readonly status: number
}

export const email = (value: string) =>
  input("E-mail address", { name: "email", type: "email", autocomplete: "username", maxlength: "254", value })
const password = (autocomplete: "current-password" | "new-password", label = "Password") =>
  input(label, { name: "password", type: "password", autocomplete, maxlength: "1024" })

/** `account`: the signed-in person's name, whose sign-in is too old. */
export const loginPage = (
  visit: Visit,
  methods: Methods,
  given: { readonly email?: string; readonly account?: string; readonly fault?: Fault }
): Response =>
  page(
    "Sign in",
    html`<h1>${given.account === undefined ? "Sign in" : "Confirm that it is you"}</h1>
      ${given.account === undefined ? undefined : html`<p class="soft">You are signed in as <bdi>${nameText(given.account, 200)}</bdi>.</p>`}
      ${alert(given.fault?.text)}
      ${accountForm(
        visit,
        "login",
        html`${given.account === undefined ? email(given.email ?? "") : html`<input type="hidden" name="refresh" value="true" />`}
          ${password("current-password")}
          <div class="buttons">${button("Sign in")}</div>`
      )}
      <div class="buttons"><a class="button" href="passkey${visit.query}">Use a passkey</a></div>
      <footer>
        <p><a href="recovery${visit.query}">Forgot your password?</a></p>
        ${methods.registration ? html`<p><a href="register${visit.query}">Create an account</a></p>` : undefined}
      </footer>`,
    { brand: visit.brand, status: given.fault?.status ?? 200 }
  )

export const passkeyPage = (
  visit: Visit,
  flow: { readonly flowId: string; readonly publicKey: unknown },
  fault?: Fault
): Response =>
  page(
    "Sign in with a passkey",
    html`<h1>Sign in with a passkey</h1>
      ${alert(fault?.text)}
      <p>Your device will ask you to unlock it.</p>
      ${keyForm(visit, "passkey", "passkey", { get: flow.publicKey }, flow.flowId, "Use a passkey")}
      <footer>
        <p><a href="login${visit.query}">Use a password</a></p>
      </footer>`,
    { brand: visit.brand, status: fault?.status ?? 200, script: keyScript }
  )

export const registerPage = (visit: Visit, given: { readonly email?: string; readonly fault?: Fault }): Response =>
  page(
    "Create an account",
    html`<h1>Create an account</h1>
      ${alert(given.fault?.text)}
      ${accountForm(
        visit,
        "register",
        html`${email(given.email ?? "")} ${password("new-password")}
          <p class="soft">At least 8 characters. Several words are easy to remember and hard to guess.</p>
          <div class="buttons">${button("Create an account")}</div>`
      )}
      <footer>
        <p><a href="login${visit.query}">I have an account</a></p>
      </footer>`,
    { brand: visit.brand, status: given.fault?.status ?? 200 }
  )

export const factorPage = (visit: Visit, due: DueFactors, fault?: Fault): Response =>
  page(
    "Second factor",
    html`<h1>Confirm that it is you</h1>
      ${alert(fault?.text)}
      ${
        due.totp
          ? accountForm(
              visit,
              "factor",
              html`${input("Code of your authenticator app", {
                  name: "code",
                  inputmode: "numeric",
                  autocomplete: "one-time-code",
                  maxlength: "6"
                })}
                <div class="buttons">${button("Continue", "action", "totp")}</div>`
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
              "Use a security key"
            )
      }
      ${
        due.recoveryCodes
          ? html`<h2>Without them</h2>
              ${accountForm(
                visit,
                "factor",
                html`${input("Recovery code", { name: "code", autocomplete: "off", maxlength: "8" })}
                  <div class="buttons">${button("Use a recovery code", "action", "lookup_secret", false)}</div>`
              )}`
          : undefined
      }
      <footer>${accountForm(visit, "account", button("Sign out", "action", "logout", false))}</footer>`,
    { brand: visit.brand, status: fault?.status ?? 200, ...(due.webauthn === null ? {} : { script: keyScript }) }
  )

export const newPasswordPage = (visit: Visit, account: string, fault?: Fault): Response =>
  page(
    "New password",
    html`<h1>Choose a new password</h1>
      <p class="soft">For <bdi>${nameText(account, 200)}</bdi>. You will be signed out everywhere else.</p>
      ${alert(fault?.text)}
      ${accountForm(
        visit,
        "password",
        html`<input type="hidden" name="username" autocomplete="username" value="${account}" />
          ${password("new-password", "New password")}
          <div class="buttons">${button("Set the password")}</div>`
      )}
      <footer>
        <p><a href="account">Not now</a></p>
      </footer>`,
    { brand: visit.brand, status: fault?.status ?? 200 }
  )
