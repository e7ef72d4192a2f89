/** Headers that are ours to write, or that would change how the request is framed; lower case. */
const refused = new Set([
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
/** Names and values together, in bytes; all are ASCII. */
const maxSize = 8 * 1024

/** RFC 9110 5.6.2 */
const token = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/
/** Visible ASCII, with spaces and tabs only between. */
const value = /^(?:[!-~](?:[\t -~]*[!-~])?)?$/

/** What is wrong with custom headers, each with the header's name; none: they can be sent. */
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
  if (refused.has(name.toLowerCase())) return "This header is the service's own"
  if (seen.has(name.toLowerCase())) return "This header is there twice"
  return value.test(text) ? undefined : "Expected printable ASCII without line breaks"
}
