import { type HttpServerResponse } from "effect/http"
import { encodeQR } from "qr"
import { accountOf, type Identity, type SessionSummary } from "../../../domain/identity/Identity.ts"
import { type Passkey } from "../../../services/ports/identity/Accounts.ts"
import { type Factors } from "../../../services/ports/IdP.ts"
import { type Html, html, nameText, page } from "../Html.ts"
import { keyForm, keyScript } from "./KeyScript.ts"
import { type Fault } from "./SignInPages.ts"
import { accountForm, alert, button, input, type Visit } from "./Visit.ts"

type Response = HttpServerResponse.HttpServerResponse

/** Everything that the page of an account shows. */
export interface AccountView {
  readonly identity: Identity
  readonly factors: Factors
  readonly passkeys: ReadonlyArray<Passkey>
  readonly sessions: ReadonlyArray<SessionSummary>
}

const day = (time: string | null) => (time === null ? "never" : time.slice(0, 10))
const act = (visit: Visit, action: string, text: string, fields?: Html, main = false) =>
  accountForm(visit, "account", html`${fields} ${button(text, "action", action, main)}`)
const hidden = (name: string, value: string) => html`<input type="hidden" name="${name}" value="${value}" />`

const named = (visit: Visit, action: string, items: ReadonlyArray<{ id: string; name: string; note: string }>) =>
  html`<ul>
    ${items.map(
      ({ id, name, note }) =>
        html`<li>
          <bdi>${nameText(name, 200)}</bdi> <span class="soft">${note}</span>
          ${act(visit, action, "Remove", hidden("id", id))}
        </li>`
    )}
  </ul>`

/** A person's account: each change is a form of its own; nothing needs JavaScript but keys, which have their own page. */
export const accountPage = (visit: Visit, view: AccountView, message?: Fault): Response => {
  const { factors, identity, passkeys, sessions } = view
  const [address] = identity.addresses
  return page(
    "Your account",
    html`<h1>Your account</h1>
      ${alert(message?.text)}
      <p><bdi>${nameText(accountOf(identity), 254)}</bdi></p>
      ${address === undefined || address.verified ? undefined : html`<p class="soft">This address is not confirmed. <a href="verify">Confirm it</a></p>`}
      ${act(visit, "logout", "Sign out")}

      <h2>Address</h2>
      ${act(
        visit,
        "email",
        "Change the address",
        input("New e-mail address", { name: "email", type: "email", autocomplete: "email", maxlength: "254" })
      )}

      <h2>Password</h2>
      <p><a href="password">Set a new password</a></p>

      <h2>Passkeys</h2>
      ${named(
        visit,
        "passkey-remove",
        passkeys.map(({ added_at, display_name, id, last_used_at }) => ({
          id,
          name: display_name,
          note: `added ${day(added_at)}, used ${day(last_used_at)}`
        }))
      )}
      <p><a href="keys?kind=passkey">Add a passkey</a></p>

      <h2>Second factor</h2>
      <ul>
        <li>Authenticator app ${factors.totp ? act(visit, "totp-remove", "Remove") : act(visit, "totp", "Set up")}</li>
        <li>
          Recovery codes
          <span class="soft"
            >${factors.recoveryCodes.count === 0 ? "none" : `${factors.recoveryCodes.count - factors.recoveryCodes.used} left`}</span
          >
          ${act(visit, "codes", factors.recoveryCodes.count === 0 ? "Generate" : "Replace")}
        </li>
      </ul>
      ${named(
        visit,
        "key-remove",
        factors.webauthn.map(({ addedAt, displayName, id }) => ({
          id,
          name: displayName,
          note: `added ${day(addedAt)}`
        }))
      )}
      <p><a href="keys?kind=key">Add a security key</a></p>

      <h2>Signed in on</h2>
      <ul>
        ${sessions.map(
          ({ current, devices: [device], id, issued_at }) =>
            html`<li>
              <bdi>${nameText(device?.user_agent ?? "Unknown device", 80)}</bdi>
              <span class="soft"
                >${device?.ip_address ?? ""} since ${day(issued_at)}${current ? ", this one" : ""}</span
              >
              ${current ? undefined : act(visit, "session", "Sign out", hidden("id", id))}
            </li>`
        )}
      </ul>
      ${sessions.length > 1 ? act(visit, "sessions", "Sign out everywhere else") : undefined}

      <h2>Delete the account</h2>
      ${act(
        visit,
        "delete",
        "Delete my account",
        html`<label
          ><input type="checkbox" name="sure" value="yes" required /><span
            >Delete the account and all of its data</span
          ></label
        >`
      )}`,
    { brand: visit.brand, status: message?.status ?? 200 }
  )
}

/** Cameras do not read denser codes than that of a text of this length. */
const maxQrText = 1000

/** The URI as a picture, unless it is too long; dark on light in every colour scheme, which scanners expect. */
const qrPicture = (uri: string): Html | undefined => {
  if (uri.length > maxQrText) return undefined
  const rows = encodeQR(uri, "raw", { border: 4 })
  const size = String(rows.length)
  const dark = rows.flatMap((row, y) => row.flatMap((cell, x) => (cell ? [`M${x} ${y}h1v1h-1z`] : []))).join("")
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label="QR code of the key below">
    <path fill="#fff" d="M0 0h${size}v${size}H0z" />
    <path fill="#000" d="${dark}" />
  </svg>`
}

/** Sets up an authenticator app. */
export const totpPage = (
  visit: Visit,
  setup: { readonly flowId: string; readonly secret: string; readonly uri: string },
  fault?: Fault
): Response =>
  page(
    "Authenticator app",
    html`<h1>Set up an authenticator app</h1>
      ${alert(fault?.text)}
      <p>
        Scan the code with the app, or enter its key, or <a href="${setup.uri}">open it there</a> if the app is on this
        device.
      </p>
      ${qrPicture(setup.uri)}
      <pre>${setup.secret.replaceAll(/(.{4})(?=.)/g, "$1 ")}</pre>
      ${accountForm(
        visit,
        "account",
        html`${hidden("flow", setup.flowId)} ${hidden("secret", setup.secret)}
          ${input("Code that the app shows", { name: "code", inputmode: "numeric", autocomplete: "one-time-code", maxlength: "6" })}
          <div class="buttons">${button("Add the app", "action", "totp-confirm")}</div>`
      )}
      <footer>
        <p><a href="account">Cancel</a></p>
      </footer>`,
    { brand: visit.brand, status: fault?.status ?? 200 }
  )

/** Shows new recovery codes, once. */
export const codesPage = (visit: Visit, flowId: string, codes: ReadonlyArray<string>): Response =>
  page(
    "Recovery codes",
    html`<h1>Your recovery codes</h1>
      <p>
        Keep them where only you can read them. Each signs you in once when your second factor is lost. They are not
        shown again.
      </p>
      <pre>${codes.join("\n")}</pre>
      ${accountForm(
        visit,
        "account",
        html`${hidden("flow", flowId)}
          <div class="buttons">${button("I have stored them", "action", "codes-confirm")}</div>`
      )}
      <footer>
        <p><a href="account">Cancel</a></p>
      </footer>`,
    { brand: visit.brand }
  )

/** Adds a passkey or a security key. */
export const newKeyPage = (
  visit: Visit,
  kind: "passkey" | "key",
  begun: { readonly flowId: string; readonly publicKey: unknown },
  fault?: Fault
): Response => {
  const title = kind === "passkey" ? "Add a passkey" : "Add a security key"
  return page(
    title,
    html`<h1>${title}</h1>
      ${alert(fault?.text)}
      ${keyForm(
        visit,
        "keys",
        kind,
        { create: begun.publicKey },
        begun.flowId,
        "Add it",
        input("Name of the key", {
          name: "name",
          maxlength: "100",
          value: kind === "passkey" ? "Passkey" : "Security key"
        })
      )}
      <footer>
        <p><a href="account">Cancel</a></p>
      </footer>`,
    { brand: visit.brand, status: fault?.status ?? 200, script: keyScript }
  )
}
