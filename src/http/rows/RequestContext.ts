import { type HttpServerRequest } from "effect/http"
import { type RequestContext } from "../../domain/rows/Preferences.ts"
import { fromLatin1 } from "../../domain/text/Utf8.ts"
import { bearerOf } from "../access/Credentials.ts"
import { isDashboardCookie } from "../access/cookies/DashboardCookie.ts"
import { isSessionCookie } from "../access/cookies/SessionCookies.ts"

type Headers = HttpServerRequest.HttpServerRequest["headers"]

/** The prefix stripped from paths: PostgREST clients are configured with it as their base URL. */
const mountPoint = "/v1/db"

/** API keys give access to more than the caller's own rows, so functions must not see them. */
const secret: ReadonlySet<string> = new Set(["apikey", "x-api-key"])

const headersText = (headers: Headers) => {
  const shown = Object.entries(headers).filter(([name]) => name !== "cookie" && !secret.has(name))
  const token = bearerOf(headers)
  // supabase-js sends its key as the token while no user is signed in.
  const isKey = token !== undefined && (token === headers["apikey"] || token === headers["x-api-key"])
  return JSON.stringify(
    Object.fromEntries(
      shown.flatMap(([name, value]) =>
        value === undefined || (isKey && name === "authorization") ? [] : [[name, fromLatin1(value)]]
      )
    )
  )
}

/** Cookies with their values as sent, like PostgREST's: `request.cookies` of effect/http decodes percent signs. */
const cookiesText = (header: string | undefined) => {
  if (header === undefined) return "{}"
  const pairs = header.split(";").flatMap((pair) => {
    const equals = pair.indexOf("=")
    const name = pair.slice(0, Math.max(equals, 0)).trim()
    return name === "" || isSessionCookie(name) || isDashboardCookie(name)
      ? []
      : [[name, fromLatin1(pair.slice(equals + 1).trim())]]
  })
  return JSON.stringify(Object.fromEntries(pairs))
}

/** The request as user code can read it. Its fields are built on first use. */
class HttpContext implements RequestContext {
  private readonly request: HttpServerRequest.HttpServerRequest
  constructor(request: HttpServerRequest.HttpServerRequest) {
    this.request = request
  }

  get method() {
    return this.request.method
  }

  get path() {
    const { url } = this.request
    const mark = url.indexOf("?")
    return url.slice(mountPoint.length, mark < 0 ? undefined : mark)
  }

  get headers() {
    return headersText(this.request.headers)
  }

  get cookies() {
    return cookiesText(this.request.headers["cookie"])
  }
}

export const contextOf = (request: HttpServerRequest.HttpServerRequest): RequestContext => new HttpContext(request)
