import { Effect, Schema, Stream } from "effect"
import { type HttpServerRequest, Multipart } from "effect/http"
import { IncomingMessage } from "node:http"
import { type ClientError, InvalidRequest, PayloadTooLarge, RequestTimeout } from "../../../domain/errors.ts"
import { JsonObjectSchema } from "../../../domain/text/JsonObjectSchema.ts"
import { type Upload } from "../../../services/supabase/Files.ts"
import { headersOf } from "../../wire/Headers.ts"

type Request = HttpServerRequest.HttpServerRequest

/** An object's attributes in a request, without its name. */
export type DescribedUpload = Pick<Upload, "contentType" | "cacheControl" | "userMetadata">

export type Bytes = Stream.Stream<Uint8Array, ClientError>

const decodeMetadata = Schema.decodeUnknownEffect(Schema.fromJsonString(JsonObjectSchema))
const invalidMetadata = new InvalidRequest({ error: "The metadata is not a JSON object", code: "InvalidRequest" })
const metadataOf = (text: string | undefined) =>
  text === undefined || text === "" ? Effect.undefined : Effect.mapError(decodeMetadata(text), () => invalidMetadata)

const octets = "application/octet-stream"
const broken = new InvalidRequest({ error: "The body ended early", code: "InvalidRequest" })
const noFile = new InvalidRequest({ error: "The form has no file", code: "InvalidRequest" })
const badForm = new InvalidRequest({ error: "The form is malformed", code: "InvalidRequest" })
const tooLarge = new PayloadTooLarge({ error: "The object exceeded the maximum allowed size", code: "EntityTooLarge" })
const stalled = new RequestTimeout({ error: "The body stopped arriving" })

/** Maximum time without a byte, in ms; then the client is disconnected. */
const stallMillis = 30_000

/** Seconds in a form, a whole header elsewhere. */
export const storedCacheControl = (text: string | undefined) =>
  text === undefined || text === "" ? "no-cache" : /^\d{1,10}$/.test(text) ? `max-age=${text}` : text.slice(0, 200)

/** Keeps the characters that are safe in a header sent to every reader. */
export const safeText = (text: string) => text.replaceAll(/[^\x20-\x7e]/g, "").slice(0, 200)

/** The user's metadata in a header. */
export const headerMetadata = (request: Request) => {
  const encoded = headersOf(request)["x-metadata"]
  return metadataOf(encoded && Buffer.from(encoded, "base64").toString("utf8"))
}

const raw = Effect.fnUntraced(function* (request: Request) {
  const headers = headersOf(request)
  const userMetadata = yield* headerMetadata(request)
  const described = {
    contentType: safeText(headers["content-type"] ?? octets),
    cacheControl: safeText(storedCacheControl(headers["cache-control"])),
    userMetadata
  }
  return { described, bytes: Stream.mapError(request.stream, (): ClientError => broken) }
})

/** The parts before the file describe it. The file is read as it arrives. */
const form = <A>(
  request: Request,
  limit: number,
  use: (described: DescribedUpload, bytes: Bytes) => Effect.Effect<A, ClientError>
): Effect.Effect<A, ClientError> => {
  const fields = new Map<string, string>()
  let result: { readonly value: A } | undefined
  const parts = Stream.runForEach(request.multipartStream, (part) => {
    if (part._tag === "Field") return Effect.sync(() => void fields.set(part.key, part.value))
    if (result !== undefined) return Effect.fail(badForm)
    return Effect.gen(function* () {
      const userMetadata = yield* metadataOf(fields.get("metadata"))
      const described = {
        contentType: safeText(part.contentType === "" ? octets : part.contentType),
        cacheControl: safeText(storedCacheControl(fields.get("cacheControl"))),
        userMetadata
      }
      const bytes = Stream.mapError(part.content, (error): ClientError => asFormError(error))
      result = { value: yield* use(described, bytes) }
    })
  })
  return parts.pipe(
    Effect.mapError((error) => (error._tag === "MultipartError" ? asFormError(error) : error)),
    Effect.flatMap(() => (result === undefined ? Effect.fail(noFile) : Effect.succeed(result.value))),
    Effect.provide(
      Multipart.limitsServices({
        maxParts: 20,
        maxFieldSize: 64 * 1024,
        maxTotalSize: limit + 256 * 1024,
        // A file may have any type, JSON as well.
        fieldMimeTypes: []
      })
    )
  )
}

const asFormError = ({ reason }: Multipart.MultipartError): ClientError =>
  reason._tag === "FileTooLarge" || reason._tag === "BodyTooLarge" ? tooLarge : badForm

/** The bytes of a body, as they arrive. */
export const rawBytes = (request: Request): Bytes => inTime(Stream.mapError(request.stream, (): ClientError => broken))

const inTime = (bytes: Bytes): Bytes =>
  Stream.timeoutOrElse(bytes, { duration: stallMillis, orElse: () => Stream.fail(stalled) })

/** Reads an upload: a form with one file, or the bytes themselves. `limit` in bytes. */
export const withUpload = <A>(
  request: Request,
  limit: number,
  use: (described: DescribedUpload, bytes: Bytes) => Effect.Effect<A, ClientError>
): Effect.Effect<A, ClientError> => {
  const headers = headersOf(request)
  if (!(request.source instanceof IncomingMessage)) return Effect.fail(broken)
  const isForm = /^multipart\/form-data *;/i.test(headers["content-type"] ?? "")
  if (Number(headers["content-length"] ?? 0) > limit + (isForm ? 256 * 1024 : 0)) return Effect.fail(tooLarge)
  return isForm
    ? form(request, limit, (described, bytes) => use(described, inTime(bytes)))
    : Effect.flatMap(raw(request), ({ bytes, described }) => use(described, inTime(bytes)))
}
