import { Effect, Schema } from "effect"
import { type HttpServerRequest } from "effect/http"
import { type ClientError, InvalidRequest, NotFound } from "../../../domain/errors.ts"
import { type FileName } from "../../../services/supabase/Files.ts"
import { issueLines } from "../../wire/RequestErrors.ts"
import { bodyBytes, bodyLimit, utf8, withinBounds } from "../../wire/Body.ts"

type Request = HttpServerRequest.HttpServerRequest

const mount = "/storage/v1"

const malformed = new InvalidRequest({ error: "The URL is not valid percent-encoded UTF-8", code: "InvalidRequest" })
const broken = new InvalidRequest({ error: "The body ended early", code: "InvalidRequest" })
const noRoute = new NotFound({ error: "The path names no bucket and object", code: "NoSuchKey" })

const decoded = (text: string) => Effect.try({ try: () => decodeURIComponent(text), catch: () => malformed })

/** The path behind a prefix such as `/object/sign`, percent-decoded. */
export const restOf = ({ url }: Request, prefix: string) =>
  decoded((url.split("?", 1)[0] ?? "").slice(mount.length + prefix.length + 1))

/** Bucket and object in the path behind a prefix. */
export const fileOf = (request: Request, prefix: string): Effect.Effect<FileName, ClientError> =>
  Effect.flatMap(restOf(request, prefix), (path): Effect.Effect<FileName, ClientError> => {
    const slash = path.indexOf("/")
    return slash < 1 || slash === path.length - 1
      ? Effect.fail(noRoute)
      : Effect.succeed({ bucket: path.slice(0, slash), name: path.slice(slash + 1) })
  })

/** The JSON body; clients also send none, or one without a type. */
export const payloadOf = <S extends Schema.Decoder<unknown>>(schema: S) => {
  const decode = Schema.decodeUnknownEffect(schema)
  return Effect.fnUntraced(function* (request: Request): Effect.fn.Return<S["Type"], ClientError> {
    const bytes = yield* Effect.flatMap(bodyBytes(request, bodyLimit), utf8).pipe(
      Effect.flatMap(withinBounds),
      Effect.catchTag("HttpServerError", () => Effect.fail(broken))
    )
    const value = yield* Effect.try({
      try: (): unknown => (bytes.length === 0 ? {} : JSON.parse(bytes.toString("utf8"))),
      catch: () => new InvalidRequest({ error: "The body is not valid JSON", code: "InvalidRequest" })
    })
    return yield* Effect.mapError(
      decode(value, { onExcessProperty: "ignore" }),
      (error) => new InvalidRequest({ error: `body ${issueLines(error.issue).join("; ")}`, code: "InvalidRequest" })
    )
  })
}
