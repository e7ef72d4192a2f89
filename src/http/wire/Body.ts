import { isUtf8 } from "node:buffer"
import { IncomingMessage } from "node:http"
import { ByteSize, Effect, Layer, Schema } from "effect"
import { HttpIncomingMessage, type HttpServerError, HttpServerRequest } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import { InvalidRequest, PayloadTooLarge, UnsupportedMediaType } from "../../domain/errors.ts"
import { type JsonBounds, bodyBounds, jsonExcess } from "../../domain/text/JsonShape.ts"
import { IncomingRequest } from "../../services/access/IncomingRequest.ts"
import { aLoopTurn, largeBody } from "../../services/LoopTurn.ts"
import { headersOf } from "./Headers.ts"
import { isDeployment } from "./Paths.ts"
import { textResponse } from "./OwnedResponse.ts"

/** Body limits in bytes. */
export const rowBodyLimit = 10 * 1024 * 1024
export const bodyLimit = 1024 * 1024

/** Bytes of a deployment of functions: 10 MiB of files in base64, or in a tar archive. */
const deploymentLimit = 16 * 1024 * 1024

/** The media type of tar archives, also of compressed ones. */
export const tarType = "application/x-tar"

/** The limit of routes that set none of their own. */
export const layerBodyLimit = Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(bodyLimit))

export interface JsonBody {
  /** The raw text. */
  readonly text: string
  readonly value: unknown
}

const jsonType = /^application\/(?:[\w.+-]+\+)?json *(?:;|$)/i

/** The request's JSON body, as text and parsed. 400 for invalid JSON and over the bounds; otherwise as `jsonBytes`. */
export const jsonBody = (request: HttpServerRequest.HttpServerRequest, limit: number, bounds?: JsonBounds) =>
  Effect.flatMap(jsonBytes(request, limit), (bytes) => Effect.flatMapEager(turnOf(bytes), () => parsed(bytes, bounds)))

/** The bytes, if they do not exceed what JSON may have before it is decoded. */
export const withinBounds = (bytes: Buffer): Effect.Effect<Buffer, InvalidRequest> => {
  const excess = jsonExcess(bytes, bodyBounds)
  return excess === undefined ? Effect.succeed(bytes) : Effect.fail(excess)
}

const parsed = (bytes: Buffer, bounds = bodyBounds): Effect.Effect<JsonBody, InvalidRequest> => {
  const excess = jsonExcess(bytes, bounds)
  if (excess !== undefined) return Effect.fail(excess)
  const text = bytes.toString("utf8")
  try {
    return Effect.succeed({ text, value: JSON.parse(text) as unknown })
  } catch {
    return Effect.fail(invalid("Empty or invalid json"))
  }
}

/** A turn of the event loop to parse the bytes in, if they are many. */
export const turnOf = ({ byteLength }: ArrayBufferView | ArrayBuffer): Effect.Effect<void> =>
  byteLength > largeBody ? aLoopTurn : Effect.void

/** The request's JSON body. 415 for another media type, 413 over `limit` bytes, 400 for invalid UTF-8. */
export const jsonBytes = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number
): Effect.Effect<Buffer, InvalidRequest | PayloadTooLarge | UnsupportedMediaType | HttpServerError.HttpServerError> => {
  const type = headersOf(request)["content-type"]
  if (type !== undefined && type !== "" && !jsonType.test(type)) {
    return Effect.fail(
      new UnsupportedMediaType({ error: `The body must be application/json, not ${type.slice(0, 100)}` })
    )
  }
  return Effect.flatMapEager(uncoded(request), () => Effect.flatMap(bodyBytes(request, limit), utf8))
}

/** The bytes of a body. 400 if they are not UTF-8. */
export const utf8 = (bytes: Buffer): Effect.Effect<Buffer, InvalidRequest> =>
  isUtf8(bytes) ? Effect.succeed(bytes) : Effect.fail(invalid("The body is not valid UTF-8"))

/** 415 for a body with a Content-Encoding. */
export const uncoded = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<void, UnsupportedMediaType> => {
  const encoding = headersOf(request)["content-encoding"]
  return encoding === undefined || encoding === "identity"
    ? Effect.void
    : Effect.fail(new UnsupportedMediaType({ error: "The body must not have a Content-Encoding" }))
}

/** The bytes of the request's body. 413 over `limit` bytes. */
export const bodyBytes = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number
): Effect.Effect<Buffer, PayloadTooLarge | HttpServerError.HttpServerError> => {
  const size = limit < bodyLimit ? `${limit / 1024} KiB` : `${limit / 1024 / 1024} MiB`
  const tooLarge = () => new PayloadTooLarge({ error: `The body exceeds ${size}` })
  const headers = headersOf(request)
  const length = Number(headers["content-length"] ?? 0)
  if (length > limit) return Effect.fail(tooLarge())
  const bytes = () =>
    Effect.provideService(request.arrayBuffer, HttpIncomingMessage.MaxBodySize, ByteSize.bytes(limit)).pipe(
      Effect.mapError((error) =>
        error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge" ? tooLarge() : error
      ),
      Effect.map((bytes) => Buffer.from(bytes))
    )
  const { source } = request
  const plain =
    source instanceof IncomingMessage &&
    source.readableFlowing === null &&
    headers["expect"] === undefined &&
    // Node does not parse the body of a request that offers an upgrade.
    headers["upgrade"] === undefined
  return plain && length > 0 ? wholeBody(source, bytes) : bytes()
}

/** A body whose declared length is within the limit. `otherwise` reads it if it ends early. */
const wholeBody = <E>(source: IncomingMessage, otherwise: () => Effect.Effect<Buffer, E>) =>
  Effect.callback<Buffer, E>((resume) => {
    const chunks: Array<Buffer> = []
    const add = (chunk: Buffer) => void chunks.push(chunk)
    const end = () => settle(Effect.succeed(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
    const close = () => settle(otherwise())
    const stop = () => source.off("data", add).off("end", end).off("close", close)
    const settle = (result: Effect.Effect<Buffer, E>) => {
      stop()
      resume(result)
    }
    source.on("data", add).on("end", end).on("close", close)
    return Effect.sync(() => {
      stop().destroy()
    })
  })

const invalid = (error: string) => new InvalidRequest({ error, code: "PGRST102" })

/** A response of JSON text that PostgreSQL made, sent unchanged. */
export const jsonAnswer = (
  text: string,
  options?: { readonly status?: number; readonly headers?: Record<string, string> }
) => textResponse(text, { ...options, contentType: "application/json; charset=utf-8" })

/** The response body of operations without a result. */
export const Success = Schema.Struct({ success: Schema.Literal(true) })
export const success: typeof Success.Type = { success: true }

/**
 * Rejects bodies that are not UTF-8, in which HttpApi would replace characters silently, and JSON over its bounds, which HttpApi
 * would decode at once.
 */
export class Utf8Bodies extends HttpApiMiddleware.Service<Utf8Bodies>()("svc/http/Utf8Bodies", {
  error: InvalidRequest
}) {}

const notUtf8 = new InvalidRequest({ error: "The body is not valid UTF-8" })

export const layerUtf8Bodies = Layer.succeed(
  Utf8Bodies,
  Utf8Bodies.of((app) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      if (request.method === "GET" || request.method === "HEAD") return yield* app
      // The request caches its body. Read errors are handled by Front.
      const deploys = isDeployment(request)
      const limit = ByteSize.bytes(deploys ? deploymentLimit : bodyLimit)
      const read = Effect.provideService(request.arrayBuffer, HttpIncomingMessage.MaxBodySize, limit)
      const body = Buffer.from(yield* Effect.orDie(read))
      yield* turnOf(body)
      if (deploys && headersOf(request)["content-type"] === tarType) return yield* app
      if (!isUtf8(body)) return yield* notUtf8
      if (/json/i.test(headersOf(request)["content-type"] ?? "json")) yield* withinBounds(body)
      return yield* app
    })
  )
)

/** Lets the request take longer than others. */
export const withoutTimeLimit = ({ source }: HttpServerRequest.HttpServerRequest): void => {
  if (source instanceof IncomingRequest) source.unhurried = true
}
