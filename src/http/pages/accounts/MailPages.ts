import { type HttpServerResponse } from "effect/http"
import { html, page } from "../Html.ts"
import { email, type Fault } from "./SignInPages.ts"
import { accountForm, alert, button, input, type Visit } from "./Visit.ts"

type Response = HttpServerResponse.HttpServerResponse

const words = {
  recovery: {
    title: "Recover your account",
    ask: "We will send you a link and a code.",
    open: "Continue to your account",
    send: "Send"
  },
  verify: {
    title: "Confirm your address",
    ask: "We will send you a link and a code.",
    open: "Confirm my address",
    send: "Send"
  }
}
export type MailPage = keyof typeof words

/** Asks for the address. */
export const askPage = (
  visit: Visit,
  name: MailPage,
  given: { readonly email?: string; readonly fault?: Fault } = {}
): Response =>
  page(
    words[name].title,
    html`<h1>${words[name].title}</h1>
      ${alert(given.fault?.text)}
      <p>${words[name].ask}</p>
      ${accountForm(
        visit,
        name,
        html`${email(given.email ?? "")}
          <div class="buttons">${button(words[name].send, "action", "send")}</div>`
      )}
      <footer>
        <p><a href="login${visit.query}">Back to sign in</a></p>
      </footer>`,
    { brand: visit.brand, status: given.fault?.status ?? 200 }
  )

/** Asks for the code, whether a message was sent or not. */
export const codePage = (visit: Visit, name: MailPage, flowId: string, fault?: Fault): Response =>
  page(
    "Check your e-mails",
    html`<h1>Check your e-mails</h1>
      ${alert(fault?.text)}
      <p>If the address is right, a message is on its way. Open its link, or enter its code here.</p>
      ${accountForm(
        visit,
        name,
        html`<input type="hidden" name="flow" value="${flowId}" />
          ${input("Code", { name: "code", inputmode: "numeric", autocomplete: "one-time-code", maxlength: "8" })}
          <div class="buttons">${button("Continue", "action", "code")}</div>`
      )}
      <footer>
        <p><a href="${name}${visit.query}">Send another message</a></p>
      </footer>`,
    { brand: visit.brand, status: fault?.status ?? 200 }
  )

/**
 * Where the link of a message leads. It asks for a click: programs that scan e-mails open links, and must neither use up
 * the link nor confirm anything.
 */
export const linkPage = (visit: Visit, name: MailPage, flowId: string, token: string): Response =>
  page(
    words[name].title,
    html`<h1>${words[name].title}</h1>
      ${accountForm(
        visit,
        name,
        html`<input type="hidden" name="flow" value="${flowId}" />
          <input type="hidden" name="token" value="${token}" />
          <div class="buttons">${button(words[name].open, "action", "token")}</div>`
      )}`,
    { brand: visit.brand }
  )

/** Says that something is done or over. */
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
    { brand: visit.brand }
  )
