import { Effect, Result } from "effect"
import { type HttpServerRequest } from "effect/http"
import { type ClientError, InvalidRequest } from "../../domain/errors.ts"
import { type Preferences, type RequestContext, noPreferences } from "../../domain/rows/Preferences.ts"
import { queryPairs } from "../../domain/rows/parse/Parser.ts"
import { parseLsn } from "../../domain/sql/Lsn.ts"
import { fromLatin1 } from "../../domain/text/Utf8.ts"
import { type Branches } from "../../services/branches/Branches.ts"
import { type ExposedSchemas } from "../../services/catalogue/ExposedSchemas.ts"
import { type Database, type Db, type Freshness } from "../../services/ports/Db.ts"
import { type RowRequest } from "../../services/rows/Rows.ts"
import { type RowSettings } from "../../services/rows/Settings.ts"
import { branchHeader, branchOf } from "../wire/BranchHeader.ts"
import { noGate } from "../access/Caller.ts"
import { bearerOf } from "../access/Credentials.ts"
import { isDashboardCookie } from "../access/cookies/DashboardCookie.ts"
import { isSessionCookie } from "../access/cookies/SessionCookies.ts"
import { CurrentRequest } from "../access/ServedRequest.ts"
import { headersOf } from "../wire/Headers.ts"
import { lastSegment, queryOf } from "../wire/Paths.ts"
import { accepted } from "./Accept.ts"
import { parsePreferences } from "./Prefer.ts"
import { choosesProfile, profileOf } from "./Profile.ts"
import { rowRange } from "./Range.ts"

/**
 * In a response: a position of the write-ahead log after the write. In a request: the position that its read must
 * include.
 */
export const lsnHeader = "x-svc-lsn"

const session: Result.Result<Freshness> = Result.succeed({ after: 0, session: true })
const eventual: Result.Result<Freshness> = Result.succeed({ after: 0, session: false })
const strong = Result.succeed(undefined)

/** How recent a read has to be. `strong`: it runs on the primary, and the header has no further effect. */
const freshnessOf = (
  { consistency = "session" }: Preferences,
  lsn: string | undefined
): Result.Result<Freshness | undefined, InvalidRequest> => {
  if (consistency === "strong") return strong
  if (lsn === undefined) return consistency === "session" ? session : eventual
  const after = parseLsn(lsn.trim())
  return after === undefined
    ? Result.fail(
        new InvalidRequest({
          error:
            "X-Svc-Lsn must be a position of the write-ahead log, as a response to a write has it, such as 16/B374D848"
        })
      )
    : Result.succeed({ after, session: consistency === "session" })
}

type Headers = HttpServerRequest.HttpServerRequest["headers"]

/** The prefix stripped from paths: PostgREST clients are configured with it as their base URL. */
const mountPoint = "/v1/db"

/** API keys give access to more than the caller's own rows, so functions must not see them. */
const secret: ReadonlySet<string> = new Set(["apikey", "x-api-key"])

const headersText = (headers: Headers) => {
  const visible = Object.entries(headers).filter(([name]) => name !== "cookie" && !secret.has(name))
  const token = bearerOf(headers)
  // supabase-js sends its key as the token while no user is signed in.
  const isKey = token !== undefined && (token === headers["apikey"] || token === headers["x-api-key"])
  return JSON.stringify(
    Object.fromEntries(
      visible.flatMap(([name, value]) =>
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

const contextOf = (request: HttpServerRequest.HttpServerRequest): RequestContext => new HttpContext(request)

/** A request on `/v1/db` without its body. `table` is the name in the path, for calls the function's. */
export interface DecodedRequest extends RowRequest {
  /** The client's own preferences that apply. Settings may add others to `preferences`. */
  readonly stated: Preferences
  readonly contentType: string
  /** The path of the API that was asked, before the table's name. */
  readonly root: "/v1/db" | "/rest/v1"
  /** The schema for `Content-Profile`, if there is more than one or the client chose one. */
  readonly profile: string | undefined
}

export interface RequestDependencies {
  readonly db: Db["Service"]
  readonly branches: Branches["Service"]
  readonly settings: RowSettings["Service"]
  readonly exposed: ExposedSchemas["Service"]
}

const broken = () => new InvalidRequest({ error: "The URL is not valid percent-encoded UTF-8" })

/** Adds Supabase's defaults, which are PostgREST's. */
const asSupabase = (stated: Preferences): Preferences => ({
  ...stated,
  return: stated.return ?? "minimal",
  missing: stated.missing ?? "null"
})

/** Decodes requests. Absent headers cost nothing. */
export const requestDecoder = ({ branches, db, exposed, settings }: RequestDependencies) => {
  const { plans, txEnd } = settings
  const { schemas } = exposed
  const overridable = txEnd.endsWith("-allow-override")
  const rollsBack = txEnd.startsWith("rollback")
  const unsaid: Preferences = rollsBack ? { ...noPreferences, tx: "rollback" } : noPreferences
  const unsaidToSupabase = asSupabase(unsaid)
  const several = schemas.length > 1

  /** Adds how the transaction ends, by preference or by setting. */
  const withEnd = (stated: Preferences): Preferences => {
    if (stated === noPreferences) return unsaid
    return rollsBack && stated.tx === undefined ? { ...stated, tx: "rollback" } : stated
  }

  const withDefaults = (stated: Preferences) =>
    stated === noPreferences ? unsaidToSupabase : asSupabase(withEnd(stated))

  return (request: HttpServerRequest.HttpServerRequest) =>
    Effect.withFiber<DecodedRequest, ClientError>((fiber) => {
      const { caller } = fiber.getRef(CurrentRequest)
      if (caller === undefined) return Effect.fail(noGate)
      const { method, url } = request
      const headers = headersOf(request)
      const head = { method, headers }
      const query = queryPairs(queryOf(url))
      const table = lastSegment(url)
      if (query === undefined || table === undefined) return Effect.fail(broken())
      const schema = profileOf(head, schemas)
      if (Result.isFailure(schema)) return Effect.fail(schema.failure)
      const preferences = parsePreferences(headers["prefer"])
      if (Result.isFailure(preferences)) return Effect.fail(preferences.failure)
      // OPTIONS has no body.
      const form = accepted(method === "OPTIONS" ? undefined : headers["accept"], plans)
      if (Result.isFailure(form)) return Effect.fail(form.failure)
      const freshness = freshnessOf(preferences.success, headers[lsnHeader])
      if (Result.isFailure(freshness)) return Effect.fail(freshness.failure)
      const { success } = preferences
      const stated = overridable || success.tx === undefined ? success : { ...success, tx: undefined }
      const on = (database: Database): DecodedRequest => ({
        database,
        actor: caller.actor,
        schema: schema.success,
        searchPath: exposed.searchPath(schema.success),
        table,
        query,
        preferences: caller.supabase === undefined ? withEnd(stated) : withDefaults(stated),
        range: method === "GET" ? rowRange(headers["range"]) : undefined,
        form: form.success.form,
        context: contextOf(request),
        freshness: freshness.success,
        stated,
        contentType: form.success.contentType,
        root: caller.supabase === undefined ? "/v1/db" : "/rest/v1",
        profile: several || choosesProfile(head) ? schema.success : undefined
      })
      const branch = headers[branchHeader]
      return branch === undefined
        ? Effect.succeed(on(db.main))
        : Effect.map(branchOf(branch, caller.actor, branches), on)
    })
}
