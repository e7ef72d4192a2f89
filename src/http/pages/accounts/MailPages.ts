import { type HttpServerResponse } from "effect/http"
import { html, page } from "../Html.ts"
import { email, type Fault } from "./SignInPages.ts"
import { accountForm, alert, button, field, input, type Visit } from "./Visit.ts"

type Response = HttpServerResponse.HttpServerResponse

export type MailPage = "recovery" | "verify"

/** The link of an invitation is one of a recovery, which only says something else. */
export const invitationOf = (link: string) => `${link}&invited=true`
const isInvited = (visit: Visit) => field(visit, "invited", 10) === "true"

/** Asks for the address. */
export const askPage = (
  visit: Visit,
  name: MailPage,
  given: { readonly email?: string; readonly fault?: Fault } = {}
): Response =>
  page(
    visit.words[name].title,
    html`<h1>${visit.words[name].title}</h1>
      ${alert(given.fault?.text)}
      <p>${visit.words[name].ask}</p>
      ${accountForm(
        visit,
        name,
        html`${email(visit, given.email ?? "")}
          <div class="buttons">${button(visit.words.mailed.send, "action", "send")}</div>`
      )}
      <footer>
        <p><a href="login${visit.query}">${visit.words.common.backToSignIn}</a></p>
      </footer>`,
    { ...visit.look, status: given.fault?.status ?? 200 }
  )

/** Asks for the code, whether a message was sent or not. */
export const codePage = (visit: Visit, name: MailPage, flowId: string, fault?: Fault): Response =>
  page(
    visit.words.mailed.title,
    html`<h1>${visit.words.mailed.title}</h1>
      ${alert(fault?.text)}
      <p>${visit.words.mailed.text}</p>
      ${accountForm(
        visit,
        name,
        html`<input type="hidden" name="flow" value="${flowId}" />
          ${input(visit.words.mailed.code, { name: "code", inputmode: "numeric", autocomplete: "one-time-code", maxlength: "8" })}
          <div class="buttons">${button(visit.words.common.continue, "action", "code")}</div>`
      )}
      <footer>
        <p><a href="${name}${visit.query}">${visit.words.mailed.another}</a></p>
      </footer>`,
    { ...visit.look, status: fault?.status ?? 200 }
  )

/**
 * The page that a message's link opens. It requires a click because programs that scan e-mails open links, and must
 * neither use up the link nor confirm anything.
 */
export const linkPage = (
  visit: Visit,
  name: MailPage,
  flowId: string,
  token: string,
  /** The link needs the password too. */
  fault?: Fault
): Response => {
  const title = visit.words[isInvited(visit) ? "invitation" : name].title
  return page(
    title,
    html`<h1>${title}</h1>
      ${alert(fault?.text)}
      ${accountForm(
        visit,
        name,
        html`<input type="hidden" name="flow" value="${flowId}" />
          <input type="hidden" name="token" value="${token}" />
          ${fault && input(visit.words.common.password, { name: "password", type: "password", autocomplete: "current-password" })}
          <div class="buttons">${button(visit.words[name].open, "action", "token")}</div>`
      )}`,
    { ...visit.look, status: fault?.status ?? 200 }
  )
}

/** Reports that something is done or expired. */
export const noticePage = (
  visit: Visit,
  title: string,
  text: string,
  next: { readonly href: string; readonly text: string }
) =>
  page(
    title,
    html`<h1>${title}</h1>
      <p>${text}</p>
      <div class="buttons"><a class="button main" href="${next.href}">${next.text}</a></div>`,
    visit.look
  )
