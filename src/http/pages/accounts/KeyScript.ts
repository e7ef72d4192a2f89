import { type Html, html } from "../Html.ts"
import { accountForm, button, type Visit } from "./Visit.ts"

/**
 * The only script of these pages: asks the browser for a passkey or security key and submits what it signs. A refusal by
 * the person or the browser is shown next to the button.
 */
export const keyScript = `
for (const form of document.querySelectorAll("form[data-key]")) {
  const start = async (event) => {
    event.preventDefault()
    const { create, get } = JSON.parse(form.dataset.key)
    try {
      const credential = create
        ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(create) })
        : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(get) })
      form.elements.credential.value = JSON.stringify(credential.toJSON())
      form.removeEventListener("submit", start)
      form.submit()
    } catch (error) {
      form.querySelector("output").value = error.name === "InvalidStateError"
        ? form.dataset.known
        : form.dataset.unused
    }
  }
  form.addEventListener("submit", start)
}
`

/**
 * A form that a passkey or security key completes. Without JavaScript its button does nothing, and a notice explains
 * why.
 */
export const keyForm = (
  visit: Visit,
  page: string,
  action: string,
  key: { readonly create: unknown } | { readonly get: unknown },
  flowId: string,
  label: string,
  more?: Html
): Html => {
  const form = accountForm(
    visit,
    page,
    html`<input type="hidden" name="action" value="${action}" />
      <input type="hidden" name="flow" value="${flowId}" />
      <input type="hidden" name="credential" value="" />
      ${more}
      <noscript><p class="soft">${visit.words.keys.noScript}</p></noscript>
      <output class="soft"></output>
      <div class="buttons">${button(label)}</div>`
  )
  const options = html`<form
    data-key="${JSON.stringify(key)}"
    data-known="${visit.words.keys.known}"
    data-unused="${visit.words.keys.unused}"`
  return { html: form.html.replace("<form", () => options.html) }
}
