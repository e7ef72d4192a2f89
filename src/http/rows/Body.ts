import { Effect } from "effect"
import { type HttpServerError, type HttpServerRequest } from "effect/http"
import { CsvRows } from "../../domain/text/Csv.ts"
import { FormFields, FormObject, maxFields } from "../../domain/text/Form.ts"
import { InvalidRequest, PayloadTooLarge, type UnsupportedMediaType } from "../../domain/errors.ts"
import { type CallBody } from "../../domain/rows/functions/Call.ts"
import { inSteps } from "../../services/YieldEvery.ts"
import { headersOf } from "../access/Credentials.ts"
import { bodyBytes, jsonBytes, rowBodyLimit, uncoded, utf8 } from "../wire/Body.ts"

type Request = HttpServerRequest.HttpServerRequest
type BodyError = InvalidRequest | PayloadTooLarge | UnsupportedMediaType | HttpServerError.HttpServerError

/** The most bytes of JSON that are made of a body in CSV. */
const csvJsonLimit = 4 * rowBodyLimit

const invalid = (error: string, hint: string | null = null) => new InvalidRequest({ error, code: "PGRST102", hint })

/** A body other than JSON, which must be UTF-8. */
const textBody = (request: Request): Effect.Effect<Buffer, BodyError> =>
  Effect.andThen(uncoded(request), Effect.flatMap(bodyBytes(request, rowBodyLimit), utf8))

const formFields = Effect.fnUntraced(function* (request: Request) {
  const { fields, problem } = yield* inSteps(new FormFields(yield* textBody(request)))
  if (problem === undefined) return fields
  return yield* problem === "encoding"
    ? invalid("The body is not valid percent-encoded UTF-8")
    : invalid(`A form must have at most ${maxFields} fields`, "Send JSON or CSV")
})

const csvRows = Effect.fnUntraced(function* (request: Request) {
  const rows = yield* inSteps(new CsvRows(yield* textBody(request), csvJsonLimit))
  if (rows.problem !== undefined) return yield* invalid(rows.problem)
  if (!rows.tooLarge) return rows.json
  return yield* new PayloadTooLarge({
    error: `The rows of the CSV exceed ${csvJsonLimit / 1024 / 1024} MiB as JSON, in which each row repeats the column names`,
    hint: "Send them in several requests"
  })
})

/** The media type in lower case without parameters; "" if there is none. */
const mediaOf = (request: Request) =>
  (headersOf(request)["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? ""

const isJson = /^application\/(?:[\w.+-]+\+)?json$/
const notAcceptable = (request: Request) =>
  Effect.fail(invalid(`Content-Type not acceptable: ${(headersOf(request)["content-type"] ?? "").slice(0, 200)}`))

/**
 * Rows to write as JSON, from a body in JSON or CSV or from an HTML form. CSV with one row becomes an object, not an
 * array.
 */
export const rowBody = (request: Request): Effect.Effect<Buffer, BodyError> => {
  const media = mediaOf(request)
  if (media === "" || isJson.test(media)) return jsonBytes(request, rowBodyLimit)
  if (media === "application/x-www-form-urlencoded") {
    return Effect.flatMap(formFields(request), (fields) =>
      Effect.map(inSteps(new FormObject(fields)), ({ json }) => json)
    )
  }
  return media === "text/csv" ? csvRows(request) : notAcceptable(request)
}

/** A function's arguments: JSON, a form, CSV, or a single raw value. */
export const callBody = (request: Request): Effect.Effect<CallBody, BodyError> => {
  const media = mediaOf(request)
  if (media === "" || isJson.test(media)) {
    return Effect.map(jsonBytes(request, rowBodyLimit), (json) =>
      json.length === 0 ? { _tag: "None" } : { _tag: "Json", json }
    )
  }
  switch (media) {
    case "application/x-www-form-urlencoded":
      return Effect.map(formFields(request), (fields) => ({
        _tag: "Pairs",
        pairs: fields.map(({ name, value }) => [name, value.toString("utf8")])
      }))
    case "text/csv":
      return Effect.map(csvRows(request), (json) => ({ _tag: "Json", json }))
    case "text/plain":
    case "text/xml":
    case "application/octet-stream":
      return Effect.andThen(
        uncoded(request),
        Effect.map(bodyBytes(request, rowBodyLimit), (bytes): CallBody => ({ _tag: "Raw", media, bytes }))
      )
    default:
      return notAcceptable(request)
  }
}
