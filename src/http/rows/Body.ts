import { Effect, Result } from "effect"
import { type HttpServerError, type HttpServerRequest } from "effect/http"
import { isUtf8 } from "node:buffer"
import { parseCsv } from "../../domain/text/Csv.ts"
import { InvalidRequest, type PayloadTooLarge, type UnsupportedMediaType } from "../../domain/errors.ts"
import { queryPairs } from "../../domain/rows/parse/Parser.ts"
import { type CallBody } from "../../domain/rows/functions/Call.ts"
import { headersOf } from "../access/Credentials.ts"
import { bodyBytes, type JsonBody, jsonBody, rowBodyLimit, uncoded } from "../wire/Body.ts"

type Request = HttpServerRequest.HttpServerRequest
type BodyError = InvalidRequest | PayloadTooLarge | UnsupportedMediaType | HttpServerError.HttpServerError

const invalid = (error: string) => new InvalidRequest({ error, code: "PGRST102" })

/** A body other than JSON, as text. */
const textBody = (request: Request): Effect.Effect<string, BodyError> =>
  Effect.andThen(
    uncoded(request),
    Effect.flatMap(bodyBytes(request, rowBodyLimit), (bytes) =>
      isUtf8(bytes) ? Effect.succeed(bytes.toString("utf8")) : Effect.fail(invalid("The body is not valid UTF-8"))
    )
  )

/** The pairs of a form; as in HTML, a name without a value has an empty one. */
const formPairs = (request: Request) =>
  Effect.flatMap(textBody(request), (text) => {
    const parts = text.trim().split("&")
    const pairs = queryPairs(parts.map((part) => (part === "" || part.includes("=") ? part : `${part}=`)).join("&"))
    return pairs === undefined
      ? Effect.fail(invalid("The body is not valid percent-encoded UTF-8"))
      : Effect.succeed(pairs)
  })

/** Rows as CSV: the first record has the column names, NULL is null, everything else is text. */
const csvRows = (text: string): Result.Result<ReadonlyArray<Record<string, string | null>>, string> => {
  const records = parseCsv(text)
  if (Result.isFailure(records)) return Result.fail(`line ${records.failure.line}: ${records.failure.text}`)
  const [names, ...lines] = records.success
  if (names === undefined) return Result.fail("the line with the column names is missing")
  if (new Set(names).size < names.length) return Result.fail("a column name is repeated")
  if (lines.some((line) => line.length !== names.length))
    return Result.fail("All lines must have same number of fields")
  return Result.succeed(
    lines.map((line) =>
      Object.fromEntries(names.map((name, at) => [name, line[at] === "NULL" ? null : (line[at] ?? "")]))
    )
  )
}

const asJson = (value: unknown): JsonBody => ({ text: JSON.stringify(value), value })

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
export const rowBody = (request: Request): Effect.Effect<JsonBody, BodyError> => {
  const media = mediaOf(request)
  if (media === "" || isJson.test(media)) return jsonBody(request, rowBodyLimit)
  if (media === "application/x-www-form-urlencoded") {
    return Effect.map(formPairs(request), (pairs) => asJson(Object.fromEntries(pairs)))
  }
  if (media !== "text/csv") return notAcceptable(request)
  return Effect.flatMap(textBody(request), (text): Effect.Effect<JsonBody, InvalidRequest> => {
    const rows = csvRows(text)
    if (Result.isFailure(rows)) {
      const { failure } = rows
      return Effect.fail(invalid(failure.startsWith("All ") ? failure : `The body is not valid CSV: ${failure}`))
    }
    return Effect.succeed(asJson(rows.success.length === 1 ? rows.success[0] : rows.success))
  })
}

/** A function's arguments: JSON, a form, CSV, or a single raw value. */
export const callBody = (request: Request): Effect.Effect<CallBody, BodyError> => {
  const media = mediaOf(request)
  if (media === "" || isJson.test(media)) {
    return Effect.map(jsonBody(request, rowBodyLimit, nothing), (body) =>
      body === nothing ? { _tag: "None" } : { _tag: "Json", ...body }
    )
  }
  switch (media) {
    case "application/x-www-form-urlencoded":
      return Effect.map(formPairs(request), (pairs) => ({ _tag: "Pairs", pairs }))
    case "text/csv":
      return Effect.map(rowBody(request), (body) => ({ _tag: "Json", ...body }))
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

const nothing: JsonBody = { text: "", value: undefined }
