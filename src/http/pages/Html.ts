import { HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { type Accent, accentsOf } from "../../domain/identity/Accent.ts"
import { type Language } from "../../domain/language/Language.ts"
import { type Brand } from "../../services/identity/Brand.ts"
import { grounds, pageStyle } from "./Style.ts"

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

/** A text of domain/language with its `{names}` replaced by HTML. */
export const filledHtml = (text: string, values: Readonly<Record<string, Html>>): Html => ({
  html: text
    .split(/\{(\w+)\}/)
    .map((part, index) => (index % 2 === 0 ? escaped(part) : (values[part]?.html ?? "")))
    .join("")
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

/** A style sheet in the colour of an operator. */
const styleIn = (color: string | undefined) => {
  const accents = color === undefined ? undefined : accentsOf(color, grounds)
  const rootOf = ({ hover, onStrong, strong }: Accent) =>
    `:root { --strong: ${strong}; --on-strong: ${onStrong}; --hover: ${hover}; }`
  const text =
    accents === undefined
      ? pageStyle
      : `${pageStyle}${rootOf(accents.light)} @media (prefers-color-scheme: dark) { ${rootOf(accents.dark)} }`
  return {
    hash: createHash("sha256").update(text).digest("base64"),
    /** Must contain exactly the hashed text. */
    element: { html: `<style>${text}</style>` } satisfies Html
  }
}

const styles = new Map<string | undefined, ReturnType<typeof styleIn>>()
const styleOf = (color: string | undefined) => {
  const known = styles.get(color) ?? styleIn(color)
  styles.set(color, known)
  return known
}

/** `script`: the only one that may run, by its hash. */
const policyFor = (styleHash: string, script: string | undefined) =>
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
  // Browsers would submit forms without an Origin under no-referrer.
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY"
}

const brandOf = ({ logoUrl, name }: Brand): Html | undefined =>
  logoUrl === undefined && name === undefined
    ? undefined
    : html`<header class="brand">
        ${logoUrl === undefined ? undefined : html`<img src="${logoUrl}" alt="" referrerpolicy="no-referrer" />`}
        ${name === undefined ? undefined : html`<span>${name}</span>`}
      </header>`

/** How all pages for people look. */
export interface Look {
  readonly brand?: Brand
  readonly language: Language
}

/**
 * A complete page. `next`: a URL to which it refreshes immediately. `script`: the text of its only script. `brand`: the
 * operator, shown on top.
 */
export const page = (
  title: string,
  body: Html,
  options: {
    readonly status?: number
    readonly next?: string
    readonly script?: string
  } & Partial<Look> = {}
): HttpServerResponse.HttpServerResponse => {
  const refresh =
    options.next === undefined ? undefined : html`<meta http-equiv="refresh" content="0;url=${options.next}" />`
  const script: Html | undefined =
    options.script === undefined ? undefined : { html: `<script>${options.script}</script>` }
  const { element, hash } = styleOf(options.brand?.color)
  const document = html`<!doctype html>
    <html lang="${options.language ?? "en"}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>${title}</title>
        ${refresh} ${element}
      </head>
      <body>
        <main>${options.brand === undefined ? undefined : brandOf(options.brand)}${body}</main>
        ${script}
      </body>
    </html> `
  return HttpServerResponse.text(document.html, {
    status: options.status ?? 200,
    contentType: "text/html; charset=utf-8",
    headers: { ...headers, "content-security-policy": policyFor(hash, options.script) }
  })
}

/** A URL that is safe to link to; undefined for `javascript:` and similar schemes. */
export const webLink = (url: string): string | undefined =>
  URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) ? new URL(url).href : undefined
