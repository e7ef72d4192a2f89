import { HttpServerResponse } from "effect/http"
import { type FunctionReply } from "../../services/ports/supabase/FunctionServer.ts"
import { type ServedRequest } from "../access/ServedRequest.ts"
import { withChosenStatus } from "../wire/ErrorBodies.ts"
import { type Headers } from "../wire/Headers.ts"

/** Headers of one connection (RFC 9110 7.6.1). Those below are the service's own to set, or belong to its cookies. */
const ofConnection =
  "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade expect host".split(
    " "
  )
const notSent = new Set([...ofConnection, "cookie", "forwarded", "x-real-ip"])
const notReturned = new Set([...ofConnection, "set-cookie", "date", "x-request-id"])

/** How CGI, WSGI, Rack and PHP may read a header's name: `X_Svc_Role` would be the `X-Svc-Role` that only the service sends. */
const readAs = (name: string) => name.replaceAll(/[^a-z0-9]/g, "-")

/** The headers that may be passed on. */
const passed = (headers: Headers, refused: ReadonlySet<string>, prefixes: RegExp) => {
  const named = new Set((headers["connection"] ?? "").split(",").map((name) => name.trim().toLowerCase()))
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    const read = readAs(name)
    if (value !== undefined && !refused.has(read) && !named.has(name) && !prefixes.test(read)) kept[name] = value
  }
  return kept
}

/** How often a segment may be percent-encoded. */
const maxDecoding = 4

/** Whether a server that decodes a segment, as often as it likes, would leave the function's path. */
export const leaves = (segment: string): boolean => {
  let text = segment
  for (let n = 0; n < maxDecoding; n++) {
    if (/^\.{1,2}$|[/\\\0]/.test(text)) return true
    if (!text.includes("%")) return false
    try {
      text = decodeURIComponent(text)
    } catch {
      return true
    }
  }
  return true
}

/** Headers that a caller has chosen, by names in lower case, without those that it can't choose. */
export const passedHeaders = (headers: Headers): Record<string, string> =>
  passed(
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    new Set([...notSent, "content-length"]),
    /^x-(?:svc|forwarded)-/
  )

/** The headers of a request that a function gets, without those that say who calls. */
export const sentHeaders = ({ address, headers, id }: ServedRequest): Readonly<Record<string, string>> => ({
  ...passed(headers, notSent, /^x-(?:svc|forwarded)-/),
  "x-forwarded-for": address,
  "x-request-id": id,
  ...(headers["host"] === undefined ? {} : { "x-forwarded-host": headers["host"] })
})

export const hasBody = (headers: Headers) =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"

const withoutBody = new Set([204, 205, 304])

/** The response of a function as that of the service. */
export const replied = (method: string, reply: FunctionReply) => {
  const options = {
    status: reply.status,
    headers: {
      ...passed(reply.headers, notReturned, /^access-control-/),
      // A page of a function would be one of this origin.
      "content-security-policy": "sandbox; default-src 'none'"
    }
  }
  return withChosenStatus(
    method === "HEAD" || withoutBody.has(reply.status)
      ? HttpServerResponse.empty(options)
      : HttpServerResponse.stream(reply.body, {
          ...options,
          contentType: reply.headers["content-type"] ?? "application/octet-stream"
        })
  )
}
