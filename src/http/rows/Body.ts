import { Effect, Stream } from "effect"
import { type HttpServerError, type HttpServerRequest } from "effect/http"
import { CsvRows } from "../../domain/text/csv/Csv.ts"
import { FormFields, FormObject, maxFields } from "../../domain/text/Form.ts"
import {
  DatabaseError,
  InvalidRequest,
  PayloadTooLarge,
  RequestTimeout,
  UnsupportedMediaType
} from "../../domain/errors.ts"
import { type CallBody } from "../../domain/rows/functions/Call.ts"
import { inSteps } from "../../services/LoopTurn.ts"
import { headersOf } from "../wire/Headers.ts"
import { bodyBytes, jsonBytes, rowBodyLimit, uncoded, utf8 } from "../wire/Body.ts"

type Request = HttpServerRequest.HttpServerRequest
type BodyError = InvalidRequest | PayloadTooLarge | UnsupportedMediaType | HttpServerError.HttpServerError

/** The most bytes of JSON that are made of a body in CSV. */
const csvJsonLimit = 4 * rowBodyLimit

const invalid = (error: string, hint: string | null = null) => new InvalidRequest({ error, code: "PGRST102", hint })

/** A body other than JSON, which must be UTF-8. */
const textBody = (request: Request): Effect.Effect<Buffer, BodyError> =>
  Effect.andThen(uncoded(request), Effect.flatMap(bodyBytes(request, rowBodyLimit), utf8))

/** JSON begins with a bracket, which a form would encode. */
const likeJson = /^[\t\n\r ]{0,100}[{[]/

const formFields = Effect.fnUntraced(function* (request: Request) {
  const body = yield* textBody(request)
  if (likeJson.test(body.toString("latin1", 0, 101))) {
    return yield* invalid(
      "The body looks like JSON, but its Content-Type is application/x-www-form-urlencoded",
      "Send the header Content-Type: application/json, which curl and some clients do not send by themselves"
    )
  }
  const { fields, problem } = yield* inSteps(new FormFields(body))
  if (problem === undefined) return fields
  return yield* problem === "encoding"
    ? invalid("The body is not valid percent-encoded UTF-8")
    : invalid(`A form must have at most ${maxFields} fields`, "Send JSON or CSV")
})

const importHint =
  "POST /v1/db/<table>/import, with a service_role key, takes a CSV of any size and names the line and column of an error"

const csvRows = Effect.fnUntraced(function* (request: Request) {
  const body = yield* Effect.mapError(textBody(request), (error) =>
    error instanceof PayloadTooLarge ? new PayloadTooLarge({ ...error, hint: importHint }) : error
  )
  const rows = yield* inSteps(new CsvRows(body, csvJsonLimit))
  if (rows.problem !== undefined) return yield* invalid(rows.problem, importHint)
  if (!rows.tooLarge) return rows.json
  return yield* new PayloadTooLarge({
    error: `The rows of the CSV exceed ${csvJsonLimit / 1024 / 1024} MiB as JSON, in which each row repeats the column names`,
    hint: `Send them in several requests. ${importHint}`
  })
})

/** The media type in lower case without parameters; "" if there is none. */
const mediaOf = (request: Request) =>
  (headersOf(request)["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? ""

/** Whether the rows of a request are of a format that has only texts. */
export const hasTexts = (request: Request) => {
  const media = mediaOf(request)
  return media === "text/csv" || media === "application/x-www-form-urlencoded"
}

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
      return Effect.map(csvRows(request), (json) => ({ _tag: "Json", json, media }))
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

/** Maximum time without a byte, in ms; then the sender of a stream is disconnected. */
const stallMillis = 30_000

const stalled = new RequestTimeout({ error: "The body stopped arriving", hint: "Nothing was written; send it again" })

/** The bytes of a CSV of any size, as they are taken. */
export const csvStream = (request: Request) => {
  const media = mediaOf(request)
  if (media !== "text/csv") {
    return Effect.fail(
      new UnsupportedMediaType({ error: "An import must be text/csv", hint: "Send the header Content-Type: text/csv" })
    )
  }
  const bytes = Stream.timeoutOrElse(request.stream, { duration: stallMillis, orElse: () => Stream.fail(stalled) })
  return Effect.as(uncoded(request), bytes)
}

/** Errors of values in a CSV name no line. */
export const withCsvHint = <A, E>(
  request: Request,
  written: Effect.Effect<A, E>
): Effect.Effect<A, E | DatabaseError> => (mediaOf(request) === "text/csv" ? Effect.mapError(written, hinted) : written)

const hinted = <E>(error: E): E | DatabaseError =>
  error instanceof DatabaseError && error.hint === null && error.code.startsWith("22")
    ? new DatabaseError({
        ...error,
        hint: `An empty field is NULL, and one in quotes ("") is the empty text. ${importHint}`
      })
    : error
