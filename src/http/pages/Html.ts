import { HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { pageStyle } from "./Style.ts"

/** HTML that is safe where an element's content or a quoted attribute stands. */
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

/** A template whose texts are escaped; undefined is nothing. */
export const html = (texts: TemplateStringsArray, ...pieces: ReadonlyArray<Piece>): Html => ({
  html: texts.map((text, index) => text + written(pieces[index])).join("")
})

/** What strangers call themselves, in one line: without what hides, turns or breaks text; cut when it is long. */
export const nameText = (text: string, longest = 80): string => {
  const clean = Array.from(
    text
      .toWellFormed()
      .replaceAll(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, " ")
      .trim()
  )
  return clean.length > longest ? `${clean.slice(0, longest).join("")}…` : clean.join("")
}

const styleHash = createHash("sha256").update(pageStyle).digest("base64")

/** Exactly what the hash is of. */
const style: Html = { html: `<style>${pageStyle}</style>` }

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${styleHash}'`,
  "img-src https: data:",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'"
].join("; ")

const headers = {
  "content-security-policy": policy,
  "cache-control": "no-store",
  // Not no-referrer: browsers would send its forms without an Origin.
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY"
}

/** A whole page. `next`: where it goes on to by itself, at once. */
export const page = (
  title: string,
  body: Html,
  options: { readonly status?: number; readonly next?: string } = {}
): HttpServerResponse.HttpServerResponse => {
  const refresh =
    options.next === undefined ? undefined : html`<meta http-equiv="refresh" content="0;url=${options.next}" />`
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
      </body>
    </html> `
  return HttpServerResponse.text(document.html, {
    status: options.status ?? 200,
    contentType: "text/html; charset=utf-8",
    headers
  })
}

/** An address that may be linked to; undefined for `javascript:` and the like. */
export const webLink = (url: string): string | undefined =>
  URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) ? new URL(url).href : undefined
