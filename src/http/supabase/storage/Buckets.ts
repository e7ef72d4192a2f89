import { Effect, Schema } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { shownFileBucket } from "../../../domain/audit/Shown.ts"
import { InvalidRequest, NotImplemented } from "../../../domain/errors.ts"
import { bytesOf, invalidBucket, isBucketName } from "../../../domain/supabase/FileNames.ts"
import { describeChange } from "../../../services/audit/Change.ts"
import { type Actor } from "../../../services/ports/Db.ts"
import { type BucketChange, FileBuckets, FileOperation } from "../../../services/supabase/FileBuckets.ts"
import { Files } from "../../../services/supabase/Files.ts"
import { SupabaseSettings } from "../../../services/supabase/Settings.ts"
import { jsonAnswer } from "../../wire/Body.ts"
import { queryOf } from "../../wire/Paths.ts"
import { type Request, makeAccess, payloadOf, restOf } from "./Requests.ts"

const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const change = {
  public: optional(Schema.Boolean),
  file_size_limit: optional(Schema.Union([Schema.Number, Schema.String])),
  allowed_mime_types: optional(
    Schema.Array(Schema.String.check(Schema.isMaxLength(200))).check(Schema.isMaxLength(200))
  ),
  versioning_status: optional(Schema.Literals(["DISABLED", "ENABLED", "SUSPENDED"]))
}
const New = Schema.Struct({
  name: Schema.String,
  id: optional(Schema.String),
  type: optional(Schema.Literals(["STANDARD", "ANALYTICS", "VECTOR"])),
  ...change
})
const Changed = Schema.Struct(change)
const newOf = payloadOf(New)
const changedOf = payloadOf(Changed)

const invalidLimit = new InvalidRequest({
  error: "body file_size_limit must be a number of bytes, or a text such as 20mb",
  code: "InvalidRequest"
})

const notStandard = new NotImplemented({
  error: "This server has buckets of the type STANDARD only, without versioning",
  code: "FeatureNotEnabled"
})

const changeOf = (given: typeof Changed.Type & Partial<Pick<typeof New.Type, "type">>) =>
  Effect.gen(function* () {
    const { allowed_mime_types: types, file_size_limit: limit, type, versioning_status: versioning } = given
    if ((type ?? "STANDARD") !== "STANDARD" || (versioning ?? "DISABLED") !== "DISABLED") return yield* notStandard
    const bytes = limit == null ? limit : bytesOf(limit)
    if (limit != null && bytes === undefined) return yield* invalidLimit
    return {
      public: given.public ?? undefined,
      file_size_limit: bytes,
      allowed_mime_types: types
    } satisfies BucketChange
  })

const subjectOf = (id: string) => `file_bucket:${id}`

const columns = ["id", "name", "created_at", "updated_at"] as const

/** A whole number of the query, within limits. */
const numberOf = (
  query: URLSearchParams,
  name: string,
  otherwise: number,
  { least, most }: { readonly least: number; readonly most: number }
) => {
  const text = query.get(name)
  if (text === null || text === "") return Effect.succeed(otherwise)
  const value = /^\d{1,9}$/.test(text) ? Number(text) : -1
  return value >= least
    ? Effect.succeed(Math.min(value, most))
    : Effect.fail(invalidQuery(`querystring/${name} must be an integer >= ${least}`))
}

/** One of several values of the query. */
const oneOf = <const A extends string>(query: URLSearchParams, name: string, all: ReadonlyArray<A>) => {
  const text = query.get(name)
  if (text === null || text === "") return Effect.undefined
  const found = all.find((one) => one === text)
  return found === undefined
    ? Effect.fail(invalidQuery(`querystring/${name} must be one of ${all.join(", ")}`))
    : Effect.succeed(found)
}

const invalidQuery = (error: string) => new InvalidRequest({ error, code: "InvalidRequest" })

/** `/storage/v1/bucket`. */
export const FileBucketsRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    if (!(yield* SupabaseSettings).enabled) return
    const buckets = yield* FileBuckets
    const files = yield* Files
    const access = yield* makeAccess
    const idOf = (request: Parameters<typeof restOf>[0]) => restOf(request, "/bucket")

    const list = Effect.gen(function* () {
      const request = yield* access.request
      const actor = yield* access.enter
      const query = new URLSearchParams(queryOf(request.url))
      return jsonAnswer(
        yield* buckets.list(actor, {
          limit: yield* numberOf(query, "limit", 1000, { least: 1, most: 1000 }),
          offset: yield* numberOf(query, "offset", 0, { least: 0, most: 1_000_000 }),
          search: query.get("search") ?? "",
          column: (yield* oneOf(query, "sortColumn", columns)) ?? "name",
          descending: (yield* oneOf(query, "sortOrder", ["asc", "desc"])) === "desc"
        })
      )
    })

    const create = Effect.gen(function* () {
      const request = yield* access.request
      const actor = yield* access.enter
      const making = Effect.gen(function* () {
        const given = yield* newOf(request)
        const id = given.id ?? given.name
        if (!isBucketName(id) || given.name !== id) return yield* invalidBucket
        const change = yield* changeOf(given)
        yield* describeChange({ subject: subjectOf(id), after: shownFileBucket(change) })
        yield* buckets.create(actor, id, change)
        return id
      })
      return HttpServerResponse.jsonUnsafe({ name: yield* access.recorded(actor, "create", making) })
    })

    const get = Effect.gen(function* () {
      const request = yield* access.request
      return HttpServerResponse.jsonUnsafe(yield* buckets.get(yield* access.enter, yield* idOf(request)))
    })

    /** A change of the bucket in the path, and what it answers. */
    const changing = <E, R>(
      action: string,
      change: (actor: Actor, id: string, request: Request) => Effect.Effect<unknown, E, R>,
      message: string
    ) =>
      Effect.gen(function* () {
        const request = yield* access.request
        const actor = yield* access.enter
        const id = (yield* idOf(request)).replace(/\/empty$/, "")
        const work = Effect.andThen(describeChange({ subject: subjectOf(id) }), change(actor, id, request))
        yield* access.recorded(actor, action, work)
        return HttpServerResponse.jsonUnsafe({ message })
      })

    const update = changing(
      "update",
      Effect.fnUntraced(function* (actor: Actor, id: string, request: Request) {
        const change = yield* changeOf(yield* changedOf(request))
        yield* describeChange({ subject: subjectOf(id), after: shownFileBucket(change) })
        yield* buckets.update(actor, id, change)
      }),
      "Successfully updated"
    )
    const remove = changing("remove", (actor, id) => buckets.remove(actor, id), "Successfully deleted")
    const empty = changing(
      "empty",
      (actor, id) => files.empty(actor, id),
      "Empty bucket has been queued. Completion may take up to an hour."
    )

    /** `operation`: the name that policies can read, after `storage.bucket.`. */
    const as = <A, E, R>(operation: string, effect: Effect.Effect<A, E, R>) =>
      Effect.provideService(effect, FileOperation, `storage.bucket.${operation}`)
    yield* router.add("GET", "/storage/v1/bucket", as("list", list))
    yield* router.add("POST", "/storage/v1/bucket", as("create", create))
    yield* router.add("GET", "/storage/v1/bucket/:id", as("get", get))
    yield* router.add("PUT", "/storage/v1/bucket/:id", as("update", update))
    yield* router.add("DELETE", "/storage/v1/bucket/:id", as("delete", remove))
    yield* router.add("POST", "/storage/v1/bucket/:id/empty", as("empty", empty))
  })
)
