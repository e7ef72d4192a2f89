import { type ChosenResponse, chosenHeader, withoutFraming } from "./ResponseSettings.ts"

/**
 * The response that `RAISE SQLSTATE 'PGRST'` describes: MESSAGE is a JSON object with `code`, `message` and optionally
 * `details` and `hint`; DETAIL is one with `status`, `headers` and optionally `status_text`.
 */
export interface RaisedAnswer {
  readonly status: number
  readonly status_text?: string
  readonly headers?: ChosenResponse["headers"]
  readonly code: string
  readonly error: string
  readonly details: string | null
  readonly hint: string | null
}

type Fields = Readonly<Record<string, unknown>>

const objectOf = (text: string): Fields | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
  } catch {
    return undefined
  }
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
  const said = objectOf(message)
  const code = said?.["code"]
  const error = said?.["message"]
  const details = optionalText(said?.["details"])
  const hint = optionalText(said?.["hint"])
  if (typeof code !== "string" || typeof error !== "string" || details === undefined || hint === undefined) {
    return badMessage(message)
  }
  if (detail === undefined) return badDetail("DETAIL is missing in the RAISE statement")
  const how = objectOf(detail)
  const status = how?.["status"]
  const reasonText = optionalText(how?.["status_text"])
  const given = how?.["headers"]
  const headers =
    typeof given === "object" && given !== null && !Array.isArray(given)
      ? Object.entries(given).map((pair) => chosenHeader(...pair))
      : [undefined]
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
    code,
    error,
    details,
    hint
  }
}
