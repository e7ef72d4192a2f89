import { HttpServerResponse } from "effect/http"
import { isExplain, maxCellOf } from "../../domain/rows/Preferences.ts"
import { type ChosenResponse } from "../../domain/rows/ResponseSettings.ts"
import { byteString } from "../../domain/text/Utf8.ts"
import { uriEncode } from "../../domain/text/UriText.ts"
import { type FunctionAnswer } from "../../services/rows/Functions.ts"
import { type RowsAnswer } from "../../services/rows/Rows.ts"
import { type RowSettings } from "../../services/rows/Settings.ts"
import { withChosenStatus } from "../wire/ErrorBodies.ts"
import { bytesResponse, textResponse, withRepeated } from "../wire/OwnedResponse.ts"
import { type RowOperation, preferenceApplied } from "./Prefer.ts"
import { contentRange, rangeStatus } from "./Range.ts"
import { type DecodedRequest, lsnHeader } from "./Request.ts"

type Response = HttpServerResponse.HttpServerResponse

/** The response before user code's settings are applied. */
interface Draft {
  readonly status: number
  readonly headers: Record<string, string>
  /** Type of the body, also of the one that HEAD omits. */
  readonly contentType: string | undefined
  readonly body: RowsAnswer["body"] | undefined
}

const draftResponse = ({ body, contentType, headers, status }: Draft): Response => {
  if (body !== undefined && contentType !== undefined) {
    const options = { status, headers, contentType }
    return typeof body === "string" ? textResponse(body, options) : bytesResponse(body, options)
  }
  if (contentType !== undefined) headers["content-type"] = contentType
  return HttpServerResponse.empty({ status, headers })
}

/** Headers of which a response has one. */
const singular: ReadonlySet<string> = new Set(["content-type", "location", "content-location", "retry-after"])

/** The status and headers set by user code take precedence. */
const respond = (draft: Draft, chosen: ChosenResponse & Pick<RowsAnswer, "lsn">): Response => {
  if (chosen.lsn !== undefined) draft.headers[lsnHeader] = chosen.lsn
  if (chosen.status === undefined && chosen.headers.length === 0) return draftResponse(draft)
  const { body, contentType } = draft
  const own = new Map<string, Array<string>>()
  for (const [name, value] of chosen.headers) {
    const text = byteString(value)
    const known = own.get(name)
    if (known === undefined || singular.has(name)) own.set(name, [text])
    else known.push(text)
  }
  const headers: Record<string, string> = {
    ...draft.headers,
    ...(contentType !== undefined && { "content-type": contentType })
  }
  for (const [name, values] of own) headers[name] = values.join(", ")
  const status = chosen.status ?? draft.status
  // Sent as bytes: for a text body, Node would encode the headers like the body.
  const response =
    body === undefined
      ? HttpServerResponse.empty({ status, headers })
      : HttpServerResponse.uint8Array(typeof body === "string" ? Buffer.from(body) : body, { status, headers })
  const made = withRepeated(
    response,
    [...own].filter(([, values]) => values.length > 1)
  )
  return chosen.status === undefined ? made : withChosenStatus(made)
}

const counts = ({ preferences: { count } }: DecodedRequest) => count === "exact" || count === "estimated"

/** Adds the schema of the rows, if there was a choice. */
const withProfile = ({ profile }: DecodedRequest, headers: Record<string, string>) => {
  if (profile !== undefined) headers["content-profile"] = byteString(profile)
  return headers
}

const withApplied = (request: DecodedRequest, operation: RowOperation, headers: Record<string, string>) => {
  const { form, stated } = request
  const own = stated.maxCell === undefined ? stated : { ...stated, maxCell: maxCellOf(form, stated) }
  const applied = preferenceApplied(own, operation)
  if (applied !== undefined) headers["preference-applied"] = applied
  return headers
}

const planResponse = (request: DecodedRequest, { body }: Pick<RowsAnswer, "body">): Response =>
  draftResponse({ status: 200, headers: withProfile(request, {}), contentType: request.contentType, body: `${body}\n` })

/** The error for an offset beyond the last row. */
const unsatisfiable = (offset: number, total: number) =>
  JSON.stringify({
    error: "Requested range not satisfiable",
    code: "PGRST103",
    details: `An offset of ${offset} was requested, but there are only ${total} rows.`,
    hint: null
  })

/** Text that needs no escaping. */
const plain = /^[\w.~-]*$/
const escaped = (text: string) => (plain.test(text) ? text : uriEncode(text))

/** The path of the table, as the client requested it. */
const tableUrl = ({ root, table }: DecodedRequest) => `${root}/${escaped(table)}`

/** The pairs ordered by name, so that equivalent requests have the same URL. */
const canonicalQuery = ({ query }: DecodedRequest) => {
  const [first] = query
  if (first === undefined) return ""
  if (query.length === 1) return `?${escaped(first[0])}=${escaped(first[1])}`
  const sorted = [...query].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return `?${sorted.map(([name, value]) => `${escaped(name)}=${escaped(value)}`).join("&")}`
}

/** Bytes of a header that repeats the URL or a key: Node's client refuses responses with 16 KiB of headers. */
const maxEcho = 3 * 1024

const setShort = (headers: Record<string, string>, name: string, value: string) => {
  if (value.length <= maxEcho) headers[name] = value
}

/** The response to a read or a call. */
const ranged = (request: DecodedRequest, answer: RowsAnswer, operation: "read" | "call"): Response => {
  const { count, offset, total } = answer
  const status = rangeStatus(offset, count, total)
  const headers: Record<string, string> = { "content-range": contentRange(offset, count, total) }
  if (operation === "read") setShort(headers, "content-location", `${tableUrl(request)}${canonicalQuery(request)}`)
  if (answer.cut !== undefined) headers["x-max-rows"] = String(answer.cut)
  withApplied(request, operation, withProfile(request, headers))
  const body = request.context.method === "HEAD" ? undefined : answer.body
  if (status !== 416 || total === undefined)
    return respond({ status, headers, contentType: request.contentType, body }, answer)
  const contentType = "application/json; charset=utf-8"
  return respond({ status, headers, contentType, body: unsatisfiable(offset, total) }, answer)
}

export const readResponse = (request: DecodedRequest, answer: RowsAnswer): Response => {
  if (answer.lines !== undefined) return streamed(request, answer.lines)
  return isExplain(request.form) ? planResponse(request, answer) : ranged(request, answer, "read")
}

/** Lines of text, as fast as the client reads them. */
const streamed = (request: DecodedRequest, lines: NonNullable<RowsAnswer["lines"]>): Response => {
  const headers = withApplied(request, "read", withProfile(request, {}))
  return HttpServerResponse.stream(lines, { contentType: request.contentType, headers })
}

/** `answer.body` is undefined if the function returns nothing. */
export const callResponse = (request: DecodedRequest, answer: FunctionAnswer): Response => {
  const { body } = answer
  if (body === undefined) {
    const headers = { "content-range": contentRange(answer.offset, answer.count, answer.total) }
    withApplied(request, "call", headers)
    return respond({ status: 204, headers, contentType: undefined, body: undefined }, answer)
  }
  return isExplain(request.form)
    ? planResponse(request, { ...answer, body })
    : ranged(request, { ...answer, body }, "call")
}

/** The response to OPTIONS. */
export const allowResponse = (methods: ReadonlyArray<string>): Response =>
  HttpServerResponse.empty({ status: 200, headers: { allow: methods.join(","), "content-length": "0" } })

type Writing = "insert" | "upsert" | "update" | "remove"

/** The response to a write: its status, the number of rows, and the rows if requested. */
export const writeResponse = (
  request: DecodedRequest,
  answer: RowsAnswer,
  operation: Writing,
  { defaultReturn }: Pick<RowSettings["Service"], "defaultReturn">
): Response => {
  if (isExplain(request.form)) return planResponse(request, answer)
  const wanted = (request.preferences.return ?? defaultReturn) === "representation"
  const total = counts(request) ? answer.count : undefined
  const stated =
    operation === "insert" && answer.resolved === false ? { ...request.stated, resolution: undefined } : request.stated
  const headers: Record<string, string> = {}
  if (operation === "update") headers["content-range"] = contentRange(0, answer.count, total)
  else if (operation !== "upsert") headers["content-range"] = contentRange(0, 0, total)
  if (answer.location !== undefined) setShort(headers, "location", `${tableUrl(request)}${answer.location}`)
  withApplied({ ...request, stated }, operation, headers)
  const status = writtenStatus(operation, answer, request)
  if (wanted) {
    return respond(
      { status, headers: withProfile(request, headers), contentType: request.contentType, body: answer.body },
      answer
    )
  }
  const nothing = { headers, contentType: undefined, body: undefined }
  if (operation !== "insert") return respond({ status: 204, ...nothing }, answer)
  headers["content-length"] = "0"
  return respond({ status, ...nothing }, answer)
}

const writtenStatus = (operation: Writing, { inserted }: RowsAnswer, { preferences }: DecodedRequest) => {
  if (operation === "insert") return inserted || preferences.resolution !== "merge-duplicates" ? 201 : 200
  return operation === "upsert" && inserted ? 201 : 200
}
