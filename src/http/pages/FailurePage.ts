import { type HttpServerResponse } from "effect/http"
import { type ClientError } from "../../domain/errors.ts"
import { type Language, type Words } from "../../domain/language/Language.ts"
import { wordsOf } from "../../domain/language/Words.ts"
import { html, page, webLink } from "./Html.ts"

/** The explanation of an error for users, by its code. The code is shown for those whom they ask for help. */
const textsOf = ({ code, status }: ClientError, { failed, failures, unavailable }: Words) => {
  const known: Readonly<Record<string, { readonly title: string; readonly text: string }>> = failures
  return (Object.hasOwn(known, code) ? known[code] : undefined) ?? (status >= 500 ? unavailable : failed)
}

/** Shows an error to a user, with a link to continue if there is one. */
export const failurePage = (error: ClientError, language: Language): HttpServerResponse.HttpServerResponse => {
  const to = "redirect_to" in error && error.redirect_to !== null ? webLink(error.redirect_to) : undefined
  const words = wordsOf(language)
  const { text, title } = textsOf(error, words)
  return page(
    title,
    html`<h1>${title}</h1>
      <p>${text}</p>
      <p class="soft"><code>${error.code}</code></p>
      ${to === undefined ? undefined : html`<div class="buttons"><a class="button main" href="${to}" rel="noreferrer">${words.common.continue}</a></div>`}`,
    { status: error.status, language }
  )
}
