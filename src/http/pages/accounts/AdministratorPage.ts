import { type HttpServerResponse } from "effect/http"
import { filledHtml, html, nameText, page } from "../Html.ts"
import { email, type Fault, newPassword } from "./SignInPages.ts"
import { accountForm, alert, button, type Visit } from "./Visit.ts"

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
