import { HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { pageStyle } from "./Style.ts"

/** HTML that is safe as an element's content or in a quoted attribute. */
export interface Html {
  readonly html: string
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

const escaped = (text: string) => text.toWellFormed().replaceAll(/[&<>"']/g, (character) => entities[character] ?? "")

type Piece = Html | string | undefined | ReadonlyArray<Html>

const written = (piece: Piece): string =>
  piece === undefined
    ? ""
    : typeof piece === "string"
      ? escaped(piece)
      : "html" in piece
        ? piece.html
        : piece.map(({ html }) => html).join("")

/** A template that escapes its strings; undefined is left out. */
export const html = (texts: TemplateStringsArray, ...pieces: ReadonlyArray<Piece>): Html => ({
  html: texts.map((text, index) => text + written(pieces[index])).join("")
})

/** An untrusted name in one line: without control, formatting and separator characters, and truncated. */
export const nameText = (text: string, maxLength = 80): string => {
  const clean = Array.from(
    text
      .toWellFormed()
      .replaceAll(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, " ")
      .trim()
  )
  return clean.length > maxLength ? `${clean.slice(0, maxLength).join("")}…` : clean.join("")
}

const styleHash = createHash("sha256").update(pageStyle).digest("base64")

/** Must contain exactly the hashed text. */
const style: Html = { html: `<style>${pageStyle}</style>` }

/** `script`: the only one that may run, by its hash. */
const policyFor = (script: string | undefined) =>
  [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    ...(script === undefined ? [] : [`script-src 'sha256-${createHash("sha256").update(script).digest("base64")}'`]),
    "img-src https:",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'"
  ].join("; ")

const headers = {
  "cache-control": "no-store",
  // With no-referrer, browsers would submit forms without an Origin.
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY"
}

/** A complete page. `next`: a URL to which it refreshes immediately. `script`: the text of its only script. */
export const page = (
  title: string,
  body: Html,
  options: { readonly status?: number; readonly next?: string; readonly script?: string } = {}
): HttpServerResponse.HttpServerResponse => {
  const refresh =
    options.next === undefined ? undefined : html`<meta http-equiv="refresh" content="0;url=${options.next}" />`
  const script: Html | undefined =
    options.script === undefined ? undefined : { html: `<script>${options.script}</script>` }
  const document = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>${title}</title>
        ${refresh} ${style}
      </head>
      <body>
        <main>${body}</main>
        ${script}
      </body>
    </html> `
  return HttpServerResponse.text(document.html, {
    status: options.status ?? 200,
    contentType: "text/html; charset=utf-8",
    headers: { ...headers, "content-security-policy": policyFor(options.script) }
  })
}

/** A URL that is safe to link to; undefined for `javascript:` and similar schemes. */
export const webLink = (url: string): string | undefined =>
  URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) ? new URL(url).href : undefined
