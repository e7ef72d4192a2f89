import { type HttpServerResponse } from "effect/http"
import { type Brand } from "../../services/identity/Brand.ts"
import { html, nameText, page } from "./Html.ts"
import { form, type FormToken } from "./Pages.ts"

export interface LogoutForm extends FormToken {
  /** The signed-in user's account name; undefined without a session at the identity provider. */
  readonly account: string | undefined
  readonly brand: Brand
}

/** Asks the user to confirm a sign-out, which another site may have started. */
export const logoutPage = ({ account, brand, ...token }: LogoutForm): HttpServerResponse.HttpServerResponse =>
  page(
    "Sign out?",
    html`<h1>${brand.name === undefined ? "Sign out?" : html`Sign out of <bdi>${brand.name}</bdi>?`}</h1>
      ${
        account === undefined
          ? undefined
          : html`<p class="soft">
              You are signed in as <strong><bdi>${nameText(account, 200)}</bdi></strong
              >.
            </p>`
      }
      <p>Apps that you use with this account will ask you to sign in again.</p>
      ${form(
        "logout",
        token,
        html`<div class="buttons">
          <button class="main" name="decision" value="leave">Sign out</button>
          <button name="decision" value="stay">Stay signed in</button>
        </div>`
      )}`,
    { brand }
  )

/** Shown after "Stay signed in" when there is no dashboard. */
export const stillSignedInPage = (brand: Brand): HttpServerResponse.HttpServerResponse =>
  page(
    "Still signed in",
    html`<h1>You are still signed in</h1>
      <p>You can close this page.</p>`,
    { brand }
  )
