/** Headers that the service sets itself, or that would change the framing of the request; lower case. */
const reserved = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "webhook-id",
  "webhook-signature",
  "webhook-timestamp",
  "x-svc-signature"
])

const maxHeaders = 50
/** Total bytes of names and values; both are ASCII. */
const maxSize = 8 * 1024

/** RFC 9110 5.6.2 */
const token = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/
/** Visible ASCII, with spaces and tabs only in between. */
const value = /^(?:[!-~](?:[\t -~]*[!-~])?)?$/

/** The problems of custom headers, each with the name of its header; empty when they can be sent. */
export const headerProblems = (
  headers: Readonly<Record<string, string>>
): ReadonlyArray<{ readonly name: string; readonly problem: string }> => {
  const entries = Object.entries(headers)
  if (entries.length > maxHeaders) return [{ name: "", problem: `Expected at most ${maxHeaders} headers` }]
  if (entries.reduce((size, [name, text]) => size + name.length + text.length, 0) > maxSize) {
    return [{ name: "", problem: `Expected at most ${maxSize} bytes of headers` }]
  }
  const seen = new Set<string>()
  return entries.flatMap(([name, text]) => {
    const problem = problemOf(name, text, seen)
    seen.add(name.toLowerCase())
    return problem === undefined ? [] : [{ name, problem }]
  })
}

const problemOf = (name: string, text: string, seen: ReadonlySet<string>) => {
  if (!token.test(name)) return "Expected a header name (RFC 9110)"
  if (reserved.has(name.toLowerCase())) return "This header is set by the service"
  if (seen.has(name.toLowerCase())) return "This header is given twice"
  return value.test(text) ? undefined : "Expected printable ASCII without line breaks"
}
