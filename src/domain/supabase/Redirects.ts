/** Characters of a URL that a client may ask to be sent to. */
const maxLength = 2048

/**
 * A pattern of SVC_SUPABASE_REDIRECT_URLS as a regular expression: `*` is any text without `.` and `/`, `**` any text, `?` one
 * character that is neither. At most four stars, so that it is fast for every URL.
 */
export const redirectPattern = (pattern: string): RegExp | undefined => {
  if (!/^[a-z][a-z0-9+.-]*:/i.test(pattern) || pattern.length > 500) return undefined
  // Scripts and local contents are no places to go to.
  if (/^(?:javascript|data|vbscript|blob|file|about):/i.test(pattern)) return undefined
  const parts = pattern.match(/\*\*|\*|\?|[^*?]+/g) ?? []
  if (parts.filter((part) => part.startsWith("*")).length > 4) return undefined
  const source = parts.map((part) =>
    part === "**"
      ? ".*"
      : part === "*"
        ? "[^./]*"
        : part === "?"
          ? "[^./]"
          : part.replaceAll(/[$()+.[\\\]^{|}/-]/g, (character) => `\\${character}`)
  )
  return new RegExp(`^${source.join("")}$`)
}

/**
 * The URL to which a browser returns after a sign-in: the one that the client requested, if it is of the site or
 * listed; otherwise the site. URLs are compared in the browser's form, without query and fragment; one with a user name
 * is refused.
 */
export const redirectOf = (asked: string | null | undefined, site: string, allowed: ReadonlyArray<RegExp>): string => {
  if (asked == null || asked === "" || asked.length > maxLength || !URL.canParse(asked)) return site
  const url = new URL(asked)
  if (url.username !== "" || url.password !== "") return site
  const plain = `${url.protocol}${url.host === "" && !asked.startsWith(`${url.protocol}//`) ? "" : "//"}${url.host}${url.pathname}`
  const isSite = /^https?:$/.test(url.protocol) && url.origin === new URL(site).origin
  const listed = allowed.some(
    (pattern) => pattern.test(plain) || (plain.endsWith("/") && pattern.test(plain.slice(0, -1)))
  )
  return isSite || listed ? url.href : site
}

/** The URL with parameters in its fragment. */
export const withFragment = (url: string, values: Readonly<Record<string, string>>) =>
  `${url.split("#", 1)[0]}#${new URLSearchParams(values)}`

/** The URL with parameters in its query. */
export const withQuery = (url: string, values: Readonly<Record<string, string>>) => {
  const result = new URL(url)
  for (const [name, value] of Object.entries(values)) result.searchParams.set(name, value)
  return result.href
}
