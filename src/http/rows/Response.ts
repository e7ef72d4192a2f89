import { Cookies, HttpServerResponse } from "effect/http"
import { type ChosenResponse } from "../../domain/rows/ResponseSettings.ts"
import { type FunctionAnswer } from "../../services/rows/Functions.ts"
import { type RowsAnswer } from "../../services/rows/Rows.ts"
import { type RowSettings } from "../../services/rows/Settings.ts"
import { withChosenStatus } from "../front/ErrorBodies.ts"
import { type Doing, preferenceApplied } from "./Prefer.ts"
import { contentRange, rangeStatus } from "./Range.ts"
import { type RowAsk } from "./Ask.ts"

type Response = HttpServerResponse.HttpServerResponse

/** What is sent before user code has its say. */
interface Draft {
  readonly status: number
  readonly headers: Record<string, string>
  /** Of what there is, or to HEAD would be, in the body. */
  readonly contentType: string | undefined
  readonly body: string | undefined
}

/** UTF-8, byte for byte as Node sends Latin-1. */
const asBytes = (text: string) => Buffer.from(text, "utf8").toString("latin1")

const draftResponse = ({ body, contentType, headers, status }: Draft): Response => {
  if (body !== undefined && contentType !== undefined) {
    return HttpServerResponse.text(body, { status, headers, contentType })
  }
  if (contentType !== undefined) headers["content-type"] = contentType
  return HttpServerResponse.empty({ status, headers })
}

/** The status and headers that user code chose go before ours. */
const respond = (draft: Draft, chosen: ChosenResponse): Response => {
  if (chosen.status === undefined && chosen.headers.length === 0) return draftResponse(draft)
  const { body, contentType } = draft
  const headers = { ...draft.headers }
  if (contentType !== undefined) headers["content-type"] = contentType
  const cookies: Array<string> = []
  for (const [name, value] of chosen.headers) {
    if (name === "set-cookie") cookies.push(value)
    else headers[name] = asBytes(value)
  }
  const [only] = cookies
  if (only !== undefined && cookies.length === 1) headers["set-cookie"] = asBytes(only)
  const status = chosen.status ?? draft.status
  // Sent as bytes: with a text Node would encode the headers as it encodes the text.
  const response =
    body === undefined
      ? HttpServerResponse.empty({ status, headers })
      : HttpServerResponse.uint8Array(Buffer.from(body), { status, headers })
  const made = cookies.length > 1 ? HttpServerResponse.mergeCookies(response, Cookies.fromSetCookie(cookies)) : response
  return chosen.status === undefined ? made : withChosenStatus(made)
}

const counts = ({ preferences: { count } }: RowAsk) => count === "exact" || count === "estimated"

const isPlan = ({ form: { media } }: RowAsk) => media === "plan-json" || media === "plan-text"

/** A response that has rows in it says of which schema, where there was a choice. */
const withProfile = ({ profile }: RowAsk, headers: Record<string, string>) => {
  if (profile !== undefined) headers["content-profile"] = asBytes(profile)
  return headers
}

const withApplied = (ask: RowAsk, doing: Doing, headers: Record<string, string>) => {
  const applied = preferenceApplied(ask.stated, doing)
  if (applied !== undefined) headers["preference-applied"] = applied
  return headers
}

const planResponse = (ask: RowAsk, { body }: RowsAnswer): Response =>
  draftResponse({ status: 200, headers: withProfile(ask, {}), contentType: ask.contentType, body: `${body}\n` })

/** Behind the last row. */
const unsatisfiable = (offset: number, total: number) =>
  JSON.stringify({
    error: "Requested range not satisfiable",
    code: "PGRST103",
    details: `An offset of ${offset} was requested, but there are only ${total} rows.`,
    hint: null
  })

/** What needs no escape, as it is and as part of a pair. */
const plain = /^[\w.~-]*$/
const escaped = (text: string) =>
  plain.test(text)
    ? text
    : encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)

/** The pairs in the order of their names, so that the same request has the same address. */
const canonicalQuery = ({ query }: RowAsk) => {
  const [first] = query
  if (first === undefined) return ""
  if (query.length === 1) return `?${escaped(first[0])}=${escaped(first[1])}`
  const sorted = [...query].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return `?${sorted.map(([name, value]) => `${escaped(name)}=${escaped(value)}`).join("&")}`
}

/** Rows read, or what a function gave. */
const ranged = (ask: RowAsk, answer: RowsAnswer, doing: "read" | "call"): Response => {
  const { count, offset, total } = answer
  const status = rangeStatus(offset, count, total)
  const headers: Record<string, string> = { "content-range": contentRange(offset, count, total) }
  if (doing === "read") headers["content-location"] = `/${escaped(ask.table)}${canonicalQuery(ask)}`
  withApplied(ask, doing, withProfile(ask, headers))
  const body = ask.context.method === "HEAD" ? undefined : answer.body
  if (status !== 416 || total === undefined)
    return respond({ status, headers, contentType: ask.contentType, body }, answer)
  const contentType = "application/json; charset=utf-8"
  return respond({ status, headers, contentType, body: unsatisfiable(offset, total) }, answer)
}

export const readResponse = (ask: RowAsk, answer: RowsAnswer): Response =>
  isPlan(ask) ? planResponse(ask, answer) : ranged(ask, answer, "read")

/** `answer.body` undefined: the function gives nothing. */
export const callResponse = (ask: RowAsk, answer: FunctionAnswer): Response => {
  const { body } = answer
  if (body === undefined) {
    const headers = { "content-range": contentRange(answer.offset, answer.count, answer.total) }
    withApplied(ask, "call", headers)
    return respond({ status: 204, headers, contentType: undefined, body: undefined }, answer)
  }
  return isPlan(ask) ? planResponse(ask, { ...answer, body }) : ranged(ask, { ...answer, body }, "call")
}

/** Of OPTIONS. */
export const allowResponse = (methods: ReadonlyArray<string>): Response =>
  HttpServerResponse.empty({ status: 200, headers: { allow: methods.join(","), "content-length": "0" } })

type Writing = "insert" | "upsert" | "update" | "remove"

/** Of a write: statuses, what tells how many rows it was about, and the rows if they are wanted back. */
export const writeResponse = (
  ask: RowAsk,
  answer: RowsAnswer,
  doing: Writing,
  { defaultReturn }: Pick<RowSettings["Service"], "defaultReturn">
): Response => {
  if (isPlan(ask)) return planResponse(ask, answer)
  const wanted = (ask.preferences.return ?? defaultReturn) === "representation"
  const total = counts(ask) ? answer.count : undefined
  const stated = doing === "insert" && answer.resolved === false ? { ...ask.stated, resolution: undefined } : ask.stated
  const headers: Record<string, string> = {}
  if (doing === "update") headers["content-range"] = contentRange(0, answer.count, total)
  else if (doing !== "upsert") headers["content-range"] = contentRange(0, 0, total)
  if (answer.location !== undefined) headers["location"] = `/${escaped(ask.table)}${answer.location}`
  withApplied({ ...ask, stated }, doing, headers)
  const status = writtenStatus(doing, answer, ask)
  if (wanted) {
    return respond(
      { status, headers: withProfile(ask, headers), contentType: ask.contentType, body: answer.body },
      answer
    )
  }
  const nothing = { headers, contentType: undefined, body: undefined }
  if (doing !== "insert") return respond({ status: 204, ...nothing }, answer)
  headers["content-length"] = "0"
  return respond({ status, ...nothing }, answer)
}

const writtenStatus = (doing: Writing, { inserted }: RowsAnswer, { preferences }: RowAsk) => {
  if (doing === "insert") return inserted || preferences.resolution !== "merge-duplicates" ? 201 : 200
  return doing === "upsert" && inserted ? 201 : 200
}
