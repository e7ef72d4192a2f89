import { ByteSize, Effect, Layer } from "effect"
import { HttpIncomingMessage, type HttpServerError, type HttpServerRequest } from "effect/http"
import { isUtf8 } from "node:buffer"
import { InvalidRequest, PayloadTooLarge, UnsupportedMediaType } from "../../domain/errors.ts"

/** Body limits in bytes. */
export const rowBodyLimit = 10 * 1024 * 1024
export const bodyLimit = 1024 * 1024

/** The limit where a route sets none of its own. */
export const layerBodyLimit = Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(bodyLimit))

export interface JsonBody {
  /** As it came. */
  readonly text: string
  readonly value: unknown
}

const jsonType = /^application\/(?:[\w.+-]+\+)?json *(?:;|$)/i

/**
 * The request's JSON body, both as text and parsed. 415 for another media type, 413 over `limit` bytes, 400 when it is
 * no UTF-8 or no JSON. An empty body is `whenEmpty`, or 400 without one.
 */
export const jsonBody = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
  whenEmpty?: JsonBody
): Effect.Effect<
  JsonBody,
  InvalidRequest | PayloadTooLarge | UnsupportedMediaType | HttpServerError.HttpServerError
> => {
  const type = request.headers["content-type"]
  if (type !== undefined && type !== "" && !jsonType.test(type)) {
    return Effect.fail(
      new UnsupportedMediaType({ error: `The body must be application/json, not ${type.slice(0, 100)}` })
    )
  }
  return Effect.andThen(uncoded(request), bodyBytes(request, limit)).pipe(
    Effect.flatMap((buffer): Effect.Effect<JsonBody, InvalidRequest> => {
      if (!isUtf8(buffer)) return Effect.fail(invalid("The body is not valid UTF-8"))
      const text = buffer.toString("utf8")
      if (text === "" && whenEmpty !== undefined) return Effect.succeed(whenEmpty)
      try {
        return Effect.succeed({ text, value: JSON.parse(text) as unknown })
      } catch {
        return Effect.fail(invalid("Empty or invalid json"))
      }
    })
  )
}

/** 415 for a body that is compressed or the like. */
export const uncoded = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<void, UnsupportedMediaType> => {
  const encoding = request.headers["content-encoding"]
  return encoding === undefined || encoding === "identity"
    ? Effect.void
    : Effect.fail(new UnsupportedMediaType({ error: "The body must be sent as it is, without Content-Encoding" }))
}

/** The request's body, whatever it is. 413 over `limit` bytes. */
export const bodyBytes = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number
): Effect.Effect<Buffer, PayloadTooLarge | HttpServerError.HttpServerError> => {
  const tooLarge = () => new PayloadTooLarge({ error: `The body is larger than ${limit / 1024 / 1024} MiB` })
  if (Number(request.headers["content-length"] ?? 0) > limit) return Effect.fail(tooLarge())
  return Effect.provideService(request.arrayBuffer, HttpIncomingMessage.MaxBodySize, ByteSize.bytes(limit)).pipe(
    Effect.mapError((error) =>
      error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge" ? tooLarge() : error
    ),
    Effect.map((bytes) => Buffer.from(bytes))
  )
}

const invalid = (error: string) => new InvalidRequest({ error, code: "PGRST102" })
