import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { IncomingMessage } from "node:http"
import { InvalidRequest } from "../../domain/errors.ts"
import { bodyTooLarge, FunctionServer, maxFunctionBody } from "../../services/ports/supabase/FunctionServer.ts"
import { SupabaseSettings } from "../../services/supabase/Settings.ts"
import { type Caller, noGate } from "../access/Caller.ts"
import { CurrentRequest } from "../access/ServedRequest.ts"
import { type Headers } from "../wire/Headers.ts"
import { withChosenStatus } from "../wire/ErrorBodies.ts"
import { withoutTimeLimit } from "../wire/Body.ts"
import { SupabaseGate } from "./Gate.ts"

const mount = "/functions/v1"

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

const noFunction = new InvalidRequest({
  error: "The path of a function is invalid",
  hint: "/functions/v1/<name>: letters, digits, _ and -; no . or .. segments"
})

/** How often a segment may be percent-encoded. */
const maxDecoding = 4

/** Whether a server that decodes a segment, as often as it likes, would leave the function's path. */
const leaves = (segment: string): boolean => {
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

/** The path and query below the server's URL; undefined if it is no function's. */
const pathOf = (url: string): string | undefined => {
  const path = url.slice(mount.length)
  const [, name = "", ...rest] = (path.split("?", 1)[0] ?? "").split("/")
  return /^[\w-]{1,100}$/.test(name) && !rest.some(leaves) ? path : undefined
}

/** What the service has verified about the caller, as headers for the function. */
const callerHeaders = ({ actor: { role, sub } }: Caller) => ({
  "x-svc-role": role,
  ...(sub === "" ? {} : { "x-svc-user": encodeURIComponent(sub) })
})

const withoutBody = new Set([204, 205, 304])

/** `/functions/v1/{name}`, passed on to SVC_FUNCTIONS_URL. */
export const FunctionsProxyRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const server = yield* FunctionServer
    const gate = yield* SupabaseGate
    const { enabled, functions } = yield* SupabaseSettings
    if (!enabled || functions.url === undefined) return

    const call = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { method, source, url } = request
      if (!url.startsWith(`${mount}/`) || !(source instanceof IncomingMessage)) return yield* noGate
      const path = pathOf(url)
      if (path === undefined) return yield* noFunction
      const served = yield* CurrentRequest
      const { address, headers } = served
      if (Number(headers["content-length"] ?? 0) > maxFunctionBody) return yield* bodyTooLarge
      const caller = functions.verifyJwt ? yield* gate.enter(headers, served, true) : undefined
      withoutTimeLimit(request)
      const reply = yield* server.call({
        method,
        path,
        headers: {
          ...passed(headers, notSent, /^x-(?:svc|forwarded)-/),
          "x-forwarded-for": address,
          ...(headers["host"] === undefined ? {} : { "x-forwarded-host": headers["host"] }),
          ...(caller === undefined ? {} : callerHeaders(caller))
        },
        body: hasBody(headers) ? source : undefined
      })
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
    })

    yield* router.add("*", `${mount}/*`, call)
  })
)

const hasBody = (headers: Headers) =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"
