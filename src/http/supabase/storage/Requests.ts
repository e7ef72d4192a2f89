import { Effect, Schema } from "effect"
import { type HttpServerRequest } from "effect/http"
import { type ClientError, InvalidRequest, NotFound } from "../../../domain/errors.ts"
import { type FileName } from "../../../services/supabase/Files.ts"
import { bodyBytes, bodyLimit, utf8, withinBounds } from "../../wire/Body.ts"
import { issueLines } from "../../wire/RequestErrors.ts"

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

/** The longest time for which a URL is signed, in seconds. */
const maxSeconds = 10 * 365 * 24 * 60 * 60

const Name = Schema.String.check(Schema.isMaxLength(1024))
/** Some clients send numbers as text. */
const whole = (minimum: number, maximum: number) => {
  const inRange = Schema.isBetween({ minimum, maximum })
  return Schema.Union([Schema.Int.check(inRange), Schema.FiniteFromString.check(Schema.isInt(), inRange)])
}
const Seconds = whole(1, maxSeconds)
export const signOf = payloadOf(Schema.Struct({ expiresIn: Seconds, transform: Schema.optionalKey(Schema.Unknown) }))
export const signManyOf = payloadOf(
  Schema.Struct({ expiresIn: Seconds, paths: Schema.Array(Name).check(Schema.isBetweenLength(1, 500)) })
)
export const listingOf = payloadOf(
  Schema.Struct({
    prefix: Name,
    limit: Schema.optionalKey(whole(1, 10_000)),
    offset: Schema.optionalKey(whole(0, 10_000_000)),
    search: Schema.optionalKey(Schema.NullOr(Name)),
    sortBy: Schema.optionalKey(
      Schema.NullOr(
        Schema.Struct({
          column: Schema.optionalKey(Schema.Literals(["name", "created_at", "updated_at", "last_accessed_at"])),
          order: Schema.optionalKey(Schema.Literals(["asc", "desc"]))
        })
      )
    )
  })
)
export const listV2Of = payloadOf(
  Schema.Struct({
    prefix: Schema.optionalKey(Schema.NullOr(Name)),
    limit: Schema.optionalKey(whole(1, 1000)),
    cursor: Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(4096)))),
    with_delimiter: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
    sortBy: Schema.optionalKey(
      Schema.NullOr(
        Schema.Struct({
          column: Schema.optionalKey(Schema.Literals(["name", "created_at", "updated_at"])),
          order: Schema.optionalKey(Schema.Literals(["asc", "desc"]))
        })
      )
    )
  })
)
/** The content of a cursor, which is base64url of JSON. */
export const decodeCursor = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({ at: Schema.String.check(Schema.isPattern(/^(-infinity|[\d :.+-]{1,40})$/)), name: Name })
  )
)
export const moveOf = payloadOf(
  Schema.Struct({
    bucketId: Name,
    sourceKey: Name,
    destinationKey: Name,
    destinationBucket: Schema.optionalKey(Schema.NullOr(Name))
  })
)
export const removeOf = payloadOf(
  Schema.Struct({ prefixes: Schema.Array(Name).check(Schema.isBetweenLength(1, 1000)) })
)
