import { Effect, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { type ClientError, InvalidRequest, NotFound, NotImplemented } from "../../../domain/errors.ts"
import { type Actor } from "../../../services/ports/Db.ts"
import { type FileName } from "../../../services/supabase/Files.ts"
import { noGate } from "../../access/Caller.ts"
import { keyActorOf, ManagementAudit } from "../../access/ManagementAudit.ts"
import { CurrentRequest } from "../../access/ServedRequest.ts"
import { bodyBytes, bodyLimit, utf8, withinBounds } from "../../wire/Body.ts"
import { branchHeader } from "../../wire/BranchHeader.ts"
import { issueLines } from "../../wire/RequestErrors.ts"
import { SupabaseGate } from "../Gate.ts"

const noBranches = new InvalidRequest({ error: "Branches have no files: omit X-Svc-Branch", code: "InvalidRequest" })

export type Request = HttpServerRequest.HttpServerRequest

/** Admits the callers of `/storage/v1`: by a key, or by a user's JWT alone. */
export const makeAccess = Effect.gen(function* () {
  const gate = yield* SupabaseGate
  const audit = yield* ManagementAudit

  /** The client's address. */
  const address = Effect.map(CurrentRequest, (request) => request.address)

  /** The caller of the request. */
  const enter: Effect.Effect<Actor, ClientError> = Effect.flatMap(CurrentRequest, (request) =>
    // The files are of the main database: a branch has its rows, but not their bytes.
    request.headers[branchHeader] === undefined
      ? Effect.map(gate.enter(request.headers, request, true), ({ actor }) => actor)
      : Effect.fail(noBranches)
  )

  /** The request, if its path is not percent-encoded where the router would not see it. */
  const request = Effect.flatMap(HttpServerRequest.HttpServerRequest, (given) =>
    given.url.startsWith("/storage/v1/") ? Effect.succeed(given) : Effect.fail(noGate)
  )

  /** Runs a change of a bucket, which the audit records if it is by a service_role key: users' are under policies. */
  const recorded = <A, E, R>(actor: Actor, action: string, change: Effect.Effect<A, E, R>) => {
    const place = {
      endpoint: { identifier: action, method: "POST" },
      group: { identifier: "supabaseBuckets" }
    } as const
    return actor.role === "service_role"
      ? Effect.flatMap(CurrentRequest, (request) => audit.around(change, place, keyActorOf(request)))
      : change
  }

  return { address, enter, recorded, request }
})

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
/** A version of an object, which this server does not keep: any is refused. */
const version = Schema.optionalKey(Schema.NullOr(Schema.String))
export const signOf = payloadOf(
  Schema.Struct({ expiresIn: Seconds, transform: Schema.optionalKey(Schema.Unknown), versionId: version })
)
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
const places = {
  bucketId: Name,
  sourceKey: Name,
  sourceVersionId: version,
  destinationKey: Name,
  destinationBucket: Schema.optionalKey(Schema.NullOr(Name))
}
export const moveOf = payloadOf(Schema.Struct(places))
const Header = Schema.String.check(Schema.isMaxLength(200))
export const copyOf = payloadOf(
  Schema.Struct({
    ...places,
    copyMetadata: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
    metadata: Schema.optionalKey(
      Schema.NullOr(
        Schema.Struct({
          cacheControl: Schema.optionalKey(Schema.NullOr(Header)),
          mimetype: Schema.optionalKey(Schema.NullOr(Header))
        })
      )
    )
  })
)
const Removed = Schema.Union([Name, Schema.Struct({ name: Name, versionId: version })])
export const removeOf = payloadOf(
  Schema.Struct({ prefixes: Schema.Array(Removed).check(Schema.isBetweenLength(1, 1000)) })
)

/** Refuses a version of an object, and its transformation. */
export const refuseVersion = (id: string | null | undefined) =>
  id == null || id === ""
    ? Effect.void
    : Effect.fail(new NotImplemented({ error: "This server keeps no versions of objects", code: "FeatureNotEnabled" }))
