import { type HttpServerResponse } from "effect/http"
import { html, nameText, page } from "./Html.ts"
import { type FormProof, proven } from "./Pages.ts"

export interface LogoutForm extends FormProof {
  /** Who is signed in, as they know themselves; undefined when only the OAuth 2.0 server knows. */
  readonly account: string | undefined
}

/** Asks somebody whether they want to sign out, since it need not have been they who came here. */
export const logoutPage = ({ account, ...proof }: LogoutForm): HttpServerResponse.HttpServerResponse =>
  page(
    "Sign out?",
    html`<h1>Sign out?</h1>
      ${account === undefined ? undefined : html`<p class="soft">You are signed in as <bdi>${nameText(account, 200)}</bdi>.</p>`}
      <p>Apps will ask you to sign in again.</p>
      ${proven(
        "logout",
        proof,
        html`<div class="buttons">
          <button class="main" name="decision" value="leave">Sign out</button>
          <button name="decision" value="stay">Stay signed in</button>
        </div>`
      )}`
  )

/** After a no, where there is no dashboard to go to. */
export const stayedPage = (): HttpServerResponse.HttpServerResponse =>
  page(
    "Still signed in",
    html`<h1>You are still signed in</h1>
      <p>You can close this page.</p>`
  )
