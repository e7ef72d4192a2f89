import { type HttpServerResponse } from "effect/http"
import { wordsOf } from "../../domain/language/Language.ts"
import { filledHtml, html, type Look, nameText, page } from "./Html.ts"
import { form, type FormToken } from "./Pages.ts"

export interface LogoutForm extends FormToken {
  /** The signed-in user's account name; undefined without a session at the identity provider. */
  readonly account: string | undefined
  readonly look: Look
}

/** Asks the user to confirm a sign-out, which another site may have started. */
export const logoutPage = ({ account, look, ...token }: LogoutForm): HttpServerResponse.HttpServerResponse => {
  const { common, logout } = wordsOf(look.language)
  const name = look.brand?.name
  return page(
    logout.title,
    html`<h1>${name === undefined ? logout.title : filledHtml(logout.of, { brand: html`<bdi>${name}</bdi>` })}</h1>
      ${
        account === undefined
          ? undefined
          : html`<p class="soft">
              ${filledHtml(common.signedInAs, { name: html`<strong><bdi>${nameText(account, 200)}</bdi></strong>` })}
            </p>`
      }
      <p>${logout.text}</p>
      ${form(
        "logout",
        token,
        html`<div class="buttons">
          <button class="main" name="decision" value="leave">${common.signOut}</button>
          <button name="decision" value="stay">${logout.stay}</button>
        </div>`
      )}`,
    look
  )
}

/** Shown after "Stay signed in" when there is no dashboard. */
export const stillSignedInPage = (look: Look): HttpServerResponse.HttpServerResponse => {
  const { common, logout } = wordsOf(look.language)
  return page(
    logout.stillTitle,
    html`<h1>${logout.still}</h1>
      <p>${common.close}</p>`,
    look
  )
}
