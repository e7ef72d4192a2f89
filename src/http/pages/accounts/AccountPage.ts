import { type HttpServerResponse } from "effect/http"
import { encodeQR } from "qr"
import { accountOf, type Identity, type SessionSummary } from "../../../domain/identity/Identity.ts"
import { type Passkey } from "../../../services/ports/identity/Accounts.ts"
import { type ProviderLink, type Provider } from "../../../services/ports/identity/Providers.ts"
import { type Factors } from "../../../services/ports/IdP.ts"
import { withValues } from "../../../domain/language/Language.ts"
import { filledHtml, type Html, html, nameText, page } from "../Html.ts"
import { keyForm, keyScript } from "./KeyScript.ts"
import { linkedAccounts } from "./ProviderPages.ts"
import { type Fault } from "./SignInPages.ts"
import { accountForm, alert, button, input, type Visit } from "./Visit.ts"

type Response = HttpServerResponse.HttpServerResponse

/** Everything that the page of an account shows. */
export interface AccountView {
  readonly identity: Identity
  readonly factors: Factors
  readonly passkeys: ReadonlyArray<Passkey>
  readonly sessions: ReadonlyArray<SessionSummary>
  readonly providers: ReadonlyArray<Provider>
  readonly links: ReadonlyArray<ProviderLink>
}

const day = (time: string) => time.slice(0, 10)
const act = (visit: Visit, action: string, text: string, fields?: Html, main = false) =>
  accountForm(visit, "account", html`${fields} ${button(text, "action", action, main)}`)
const hidden = (name: string, value: string) => html`<input type="hidden" name="${name}" value="${value}" />`

const named = (visit: Visit, action: string, items: ReadonlyArray<{ id: string; name: string; note: string }>) =>
  html`<ul>
    ${items.map(
      ({ id, name, note }) =>
        html`<li>
          <bdi>${nameText(name, 200)}</bdi> <span class="soft">${note}</span>
          ${act(visit, action, visit.words.common.remove, hidden("id", id))}
        </li>`
    )}
  </ul>`

/** A person's account. Each change is a form of its own; only keys need JavaScript, and have their own page. */
export const accountPage = (visit: Visit, view: AccountView, message?: Fault): Response => {
  const { factors, identity, links, passkeys, providers, sessions } = view
  const [address] = identity.addresses
  const { account, common } = visit.words
  return page(
    account.title,
    html`<h1>${account.title}</h1>
      ${alert(message?.text)}
      <p><bdi>${nameText(accountOf(identity), 254)}</bdi></p>
      ${address === undefined || address.verified ? undefined : html`<p class="soft">${account.unconfirmed} <a href="verify">${account.confirm}</a></p>`}
      ${act(visit, "logout", common.signOut)}

      <h2>${account.address}</h2>
      ${act(
        visit,
        "email",
        account.changeAddress,
        input(account.newAddress, { name: "email", type: "email", autocomplete: "email", maxlength: "254" })
      )}

      <h2>${account.password}</h2>
      <p><a href="password">${account.setPassword}</a></p>

      <h2>${account.passkeys}</h2>
      ${named(
        visit,
        "passkey-remove",
        passkeys.map(({ added_at, display_name, id, last_used_at }) => ({
          id,
          name: display_name,
          note:
            last_used_at === null
              ? withValues(account.unused, { added: day(added_at) })
              : withValues(account.used, { added: day(added_at), used: day(last_used_at) })
        }))
      )}
      <p><a href="keys?kind=passkey">${account.addPasskey}</a></p>

      ${linkedAccounts(visit, providers, links)}

      <h2>${account.factors}</h2>
      <ul>
        <li>
          ${account.app} ${factors.totp ? act(visit, "totp-remove", common.remove) : act(visit, "totp", account.setUp)}
        </li>
        <li>
          ${account.codes}
          <span class="soft"
            >${factors.recoveryCodes.count === 0 ? account.none : withValues(account.left, { count: String(factors.recoveryCodes.count - factors.recoveryCodes.used) })}</span
          >
          ${act(visit, "codes", factors.recoveryCodes.count === 0 ? account.generate : account.replace)}
        </li>
      </ul>
      ${named(
        visit,
        "key-remove",
        factors.webauthn.map(({ addedAt, displayName, id }) => ({
          id,
          name: displayName,
          note: addedAt === null ? "" : withValues(account.added, { added: day(addedAt) })
        }))
      )}
      <p><a href="keys?kind=key">${account.addKey}</a></p>

      <h2>${account.sessions}</h2>
      <ul>
        ${sessions.map(
          ({ current, devices: [device], id, issued_at }) =>
            html`<li>
              <bdi>${nameText(device?.user_agent ?? account.unknownDevice, 80)}</bdi>
              <span class="soft"
                >${device?.ip_address ?? ""}
                ${withValues(account.since, { time: day(issued_at) })}${current ? `, ${account.current}` : ""}</span
              >
              ${current ? undefined : act(visit, "session", common.signOut, hidden("id", id))}
            </li>`
        )}
      </ul>
      ${sessions.length > 1 ? act(visit, "sessions", account.endOthers) : undefined}

      <h2>${account.delete}</h2>
      ${act(
        visit,
        "delete",
        account.deleteMine,
        html`<label><input type="checkbox" name="sure" value="yes" required /><span>${account.sure}</span></label>`
      )}`,
    { ...visit.look, status: message?.status ?? 200 }
  )
}

/** Cameras do not read denser codes than that of a text of this length. */
const maxQrText = 1000

/** The URI as a picture, unless it is too long; dark on light in every colour scheme, which scanners expect. */
const qrPicture = (visit: Visit, uri: string): Html | undefined => {
  if (uri.length > maxQrText) return undefined
  const rows = encodeQR(uri, "raw", { border: 4 })
  const size = String(rows.length)
  const dark = rows.flatMap((row, y) => row.flatMap((cell, x) => (cell ? [`M${x} ${y}h1v1h-1z`] : []))).join("")
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label="${visit.words.totp.picture}">
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
    visit.words.totp.title,
    html`<h1>${visit.words.totp.heading}</h1>
      ${alert(fault?.text)}
      <p>${filledHtml(visit.words.totp.text, { link: html`<a href="${setup.uri}">${visit.words.totp.open}</a>` })}</p>
      ${qrPicture(visit, setup.uri)}
      <pre>${setup.secret.replaceAll(/(.{4})(?=.)/g, "$1 ")}</pre>
      ${accountForm(
        visit,
        "account",
        html`${hidden("flow", setup.flowId)} ${hidden("secret", setup.secret)}
          ${input(visit.words.totp.code, { name: "code", inputmode: "numeric", autocomplete: "one-time-code", maxlength: "9" })}
          <div class="buttons">${button(visit.words.totp.submit, "action", "totp-confirm")}</div>`
      )}
      <footer>
        <p><a href="account">${visit.words.common.cancel}</a></p>
      </footer>`,
    { ...visit.look, status: fault?.status ?? 200 }
  )

/** Shows new recovery codes, once. */
export const codesPage = (visit: Visit, flowId: string, codes: ReadonlyArray<string>): Response =>
  page(
    visit.words.codes.title,
    html`<h1>${visit.words.codes.heading}</h1>
      <p>${visit.words.codes.text}</p>
      <pre>${codes.join("\n")}</pre>
      ${accountForm(
        visit,
        "account",
        html`${hidden("flow", flowId)}
          <div class="buttons">${button(visit.words.codes.stored, "action", "codes-confirm")}</div>`
      )}
      <footer>
        <p><a href="account">${visit.words.common.cancel}</a></p>
      </footer>`,
    visit.look
  )

/** Adds a passkey or a security key. */
export const newKeyPage = (
  visit: Visit,
  kind: "passkey" | "key",
  begun: { readonly flowId: string; readonly publicKey: unknown },
  fault?: Fault
): Response => {
  const { keys } = visit.words
  const title = kind === "passkey" ? keys.passkeyTitle : keys.keyTitle
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
        keys.add,
        input(keys.name, {
          name: "name",
          maxlength: "100",
          value: kind === "passkey" ? keys.passkeyName : keys.keyName
        })
      )}
      <footer>
        <p><a href="account">${visit.words.common.cancel}</a></p>
      </footer>`,
    { ...visit.look, status: fault?.status ?? 200, script: keyScript }
  )
}
