import { Result } from "effect"
import { DatabaseError } from "../errors.ts"

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

const refused = (code: string, error: string) => Result.fail(new DatabaseError({ status: 500, error, code }))
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
export const chosenHeader = (name: string, value: unknown): readonly [string, string] | undefined =>
  typeof value === "string" && fieldName.test(name) && fieldValue.test(value) ? [name.toLowerCase(), value] : undefined

export const withoutFraming = (headers: ChosenResponse["headers"]) => headers.filter(([name]) => !framing.has(name))

const headerOf = (value: unknown) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
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
