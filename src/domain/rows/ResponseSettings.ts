import { Result } from "effect"
import { type ErrorCode, type SqlState } from "../codes/ErrorCode.ts"
import { DatabaseError } from "../errors.ts"
import { isJsonObject } from "../text/JsonObject.ts"

/** The values of the settings `response.status` and `response.headers` at the end of the transaction; "" if not set. */
export interface ResponseSettings {
  readonly status: string
  /** A JSON array of objects, each with one header. */
  readonly headers: string
}

/** The parsed settings: headers are in the order given, their names in lower case. */
export interface ChosenResponse {
  readonly status: number | undefined
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
}

export const nothingChosen: ChosenResponse = { status: undefined, headers: [] }

const refused = (code: ErrorCode, error: string) => Result.fail(new DatabaseError({ status: 500, error, code }))
const badHeaders = () =>
  refused(
    "PGRST111",
    "response.headers guc must be a JSON array composed of objects with a single key and a string value"
  )

/** RFC 9110 5.1 and 5.5; non-ASCII characters are sent as UTF-8. */
const fieldName = /^[!#$%&'*+.^_`|~\w-]+$/
const fieldValue = /^(?:\P{Cc}|\t)*$/u
/** User code must not set headers that frame the message. */
const framing: ReadonlySet<string> = new Set(["connection", "content-length", "keep-alive", "transfer-encoding"])

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A header set by user code, its name in lower case; undefined if it is not a valid header. */
const chosenHeader = (name: string, value: unknown): readonly [string, string] | undefined =>
  typeof value === "string" && fieldName.test(name) && fieldValue.test(value) ? [name.toLowerCase(), value] : undefined

const withoutFraming = (headers: ChosenResponse["headers"]) => headers.filter(([name]) => !framing.has(name))

const headerOf = (value: unknown) => {
  if (!isJsonObject(value)) return undefined
  const [pair, ...others] = Object.entries(value)
  return pair === undefined || others.length > 0 ? undefined : chosenHeader(...pair)
}

/** Failures are errors of the function's author: status 500 with PostgREST's code. */
export const readResponseSettings = ({
  headers,
  status
}: ResponseSettings): Result.Result<ChosenResponse, DatabaseError> => {
  const all = headers === "" ? [] : parsed(headers)
  if (!Array.isArray(all)) return badHeaders()
  const pairs = all.map(headerOf)
  if (!pairs.every((pair) => pair !== undefined)) return badHeaders()
  if (status !== "" && !/^[2-5]\d\d$/.test(status)) {
    return refused("PGRST112", "response.status guc must be a valid status code")
  }
  return Result.succeed({
    status: status === "" ? undefined : Number(status),
    headers: withoutFraming(pairs)
  })
}

/**
 * The response that `RAISE SQLSTATE 'PGRST'` describes: MESSAGE is a JSON object with `code`, `message` and optionally
 * `details` and `hint`; DETAIL is one with `status`, `headers` and optionally `status_text`.
 */
export interface RaisedAnswer {
  readonly status: number
  readonly status_text?: string
  readonly headers?: ChosenResponse["headers"]
  readonly code: ErrorCode
  readonly error: string
  readonly details: string | null
  readonly hint: string | null
}

const objectIn = (text: string) => {
  const value = parsed(text)
  return isJsonObject(value) ? value : undefined
}

/** null if absent, undefined if not a string. */
const optionalText = (value: unknown = null) => (typeof value === "string" || value === null ? value : undefined)

/** A valid reason phrase (RFC 9112 4). */
const reason = /^[\t\x20-\x7e]+$/
export const statusText = (text: string) => (reason.test(text) ? { status_text: text } : {})

const malformed = (details: string, hint: string): RaisedAnswer => ({
  status: 500,
  code: "PGRST121",
  error: `Could not parse JSON in the "RAISE SQLSTATE 'PGRST'" error`,
  details,
  hint
})

const badMessage = (text: string) =>
  malformed(
    `Invalid JSON value for MESSAGE: '${text}'`,
    "MESSAGE must be a JSON object with obligatory keys: 'code', 'message' and optional keys: 'details', 'hint'."
  )

const badDetail = (details: string) =>
  malformed(
    details,
    "DETAIL must be a JSON object with obligatory keys: 'status', 'headers' and optional key: 'status_text'."
  )

/** `detail` is undefined if absent. Malformed JSON is PGRST121 with status 500: the author of the function must fix it. */
export const raisedAnswer = (message: string, detail: string | undefined): RaisedAnswer => {
  const said = objectIn(message)
  const code = said?.["code"]
  const error = said?.["message"]
  const details = optionalText(said?.["details"])
  const hint = optionalText(said?.["hint"])
  if (typeof code !== "string" || typeof error !== "string" || details === undefined || hint === undefined) {
    return badMessage(message)
  }
  if (detail === undefined) return badDetail("DETAIL is missing in the RAISE statement")
  const how = objectIn(detail)
  const status = how?.["status"]
  const reasonText = optionalText(how?.["status_text"])
  const given = how?.["headers"]
  const headers = isJsonObject(given) ? Object.entries(given).map((pair) => chosenHeader(...pair)) : [undefined]
  if (
    typeof status !== "number" ||
    !Number.isInteger(status) ||
    status < 200 ||
    status > 599 ||
    reasonText === undefined ||
    !headers.every((header) => header !== undefined)
  ) {
    return badDetail(`Invalid JSON value for DETAIL: '${detail}'`)
  }
  return {
    status,
    ...statusText(reasonText ?? ""),
    headers: withoutFraming(headers),
    code: code as SqlState,
    error,
    details,
    hint
  }
}
