import { Effect, Option } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { InvalidRequest, NotFound, RequestTimeout, type Unavailable } from "../../../domain/errors.ts"
import { makeTurns } from "../../../services/access/Turns.ts"
import { type Actor, serviceActor } from "../../../services/ports/Db.ts"
import { FileBuckets, FileOperation, noBucket } from "../../../services/supabase/FileBuckets.ts"
import { type FileRecord } from "../../../services/supabase/FileSql.ts"
import { type FileName, Files, maxFileBytes } from "../../../services/supabase/Files.ts"
import { SignedUrls } from "../../../services/supabase/SignedUrls.ts"
import { SupabaseSettings } from "../../../services/supabase/Settings.ts"
import { headersOf } from "../../wire/Headers.ts"
import { jsonAnswer, withoutTimeLimit } from "../../wire/Body.ts"
import { queryOf } from "../../wire/Paths.ts"
import { fileResponse, noTransformations, sizeOf, metadataText } from "./Downloads.ts"
import {
  type Request,
  copyOf,
  decodeCursor,
  fileOf,
  listV2Of,
  listingOf,
  makeAccess,
  moveOf,
  refuseVersion,
  removeOf,
  restOf,
  signManyOf,
  signOf
} from "./Requests.ts"
import { headerMetadata, safeText, storedCacheControl, withUpload } from "./Uploads.ts"

/** How long a URL for an upload is valid, in seconds. */
const uploadSeconds = 2 * 60 * 60
/** Uploads and copies in progress: each holds up to 16 MiB, and may last as long as its client takes. */
const uploads = { ofClient: 4, ofAll: 32 }
/** An upload must arrive this fast, in bytes a second, after a minute. */
const slowestRate = 16 * 1024
const tooSlow = new RequestTimeout({ error: "The upload takes too long; 16 KiB a second are needed" })

const noObject = new NotFound({ error: "Object not found", code: "NoSuchKey" })
const unseen = "Either the object does not exist or you do not have access to it"

const invalidCursor = new InvalidRequest({
  error: "cursor is not one that a list has returned",
  code: "InvalidRequest"
})

/** An entry of a list with cursors; folders have no id. */
interface Entry {
  readonly at: string
  readonly name: string
  readonly id: string | null
}

/** One page of a list, of which there is one entry more if another page follows. */
const pageOf = (entries: ReadonlyArray<Entry>, limit: number) => {
  const page = entries.slice(0, limit)
  const last = page.at(-1)
  const hasNext = entries.length > limit && last !== undefined
  const cursor = hasNext
    ? Buffer.from(JSON.stringify({ at: last.at, name: last.name })).toString("base64url")
    : undefined
  return {
    hasNext,
    folders: page.flatMap(({ id, name }) => (id === null ? [{ name, key: name.slice(0, -1) }] : [])),
    objects: page.flatMap((entry) => (entry.id === null ? [] : [{ ...entry, at: undefined, key: entry.name }])),
    ...(cursor === undefined ? {} : { nextCursor: cursor })
  }
}

/** One of several URLs, or the error instead of it. */
interface SignedPath {
  readonly error: string | null
  readonly path: string
  readonly signedURL: string | null
}

/** The attributes of a copy, unless it has those of its source. As at Supabase, others than the given ones stay. */
const replacementOf = (
  request: Request,
  {
    copyMetadata,
    metadata
  }: {
    readonly copyMetadata?: boolean | null
    readonly metadata?: { readonly cacheControl?: string | null; readonly mimetype?: string | null } | null
  }
) =>
  copyMetadata === false
    ? Effect.map(headerMetadata(request), (userMetadata) => ({
        userMetadata,
        cacheControl: metadata?.cacheControl == null ? undefined : safeText(storedCacheControl(metadata.cacheControl)),
        contentType: metadata?.mimetype == null ? undefined : safeText(metadata.mimetype)
      }))
    : Effect.undefined

const urlOf = ({ bucket, name }: FileName) => `${bucket}/${name}`
const queryParameter = ({ url }: Request, name: string) => new URLSearchParams(queryOf(url)).get(name) ?? ""

/** An object's description, as `info` returns it. */
const infoOf = (record: FileRecord) => ({
  id: record.id,
  name: record.name,
  version: record.version,
  bucket_id: record.bucket_id,
  size: sizeOf(record),
  content_type: metadataText(record, "mimetype", "application/octet-stream"),
  cache_control: metadataText(record, "cacheControl", "no-cache"),
  etag: metadataText(record, "eTag", ""),
  metadata: record.user_metadata ?? {},
  last_modified: metadataText(record, "lastModified", record.updated_at ?? ""),
  created_at: record.created_at
})

/** `/storage/v1/object`. */
export const FilesRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    if (!(yield* SupabaseSettings).enabled) return
    const buckets = yield* FileBuckets
    const files = yield* Files
    const urls = yield* SignedUrls
    const turns = makeTurns(uploads)
    const maxBytes = yield* Effect.orDie(maxFileBytes)
    const access = yield* makeAccess

    /** A route for callers with credentials. `operation`: the name that policies can read, after `storage.object.`. */
    const forCaller = <A, E, R>(operation: string, use: (request: Request, actor: Actor) => Effect.Effect<A, E, R>) =>
      Effect.flatMap(access.request, (request) => Effect.flatMap(access.enter, (actor) => use(request, actor))).pipe(
        Effect.provideService(FileOperation, `storage.object.${operation}`)
      )

    const clientOf = ({ client }: Actor) => (client === undefined ? access.address : Effect.succeed(client))

    const uploaded = (request: Request, actor: Actor, file: FileName, upsert: boolean, checked: boolean) =>
      Effect.gen(function* () {
        withoutTimeLimit(request)
        const stored = withUpload(request, maxBytes, (described, bytes) =>
          files.upload(actor, { ...file, ...described, upsert }, bytes, checked)
        )
        const millis = 60_000 + (maxBytes / slowestRate) * 1000
        const inTime = Effect.timeoutOrElse(stored, { duration: millis, orElse: () => Effect.fail(tooSlow) })
        const { id } = yield* turns.take(yield* clientOf(actor), inTime)
        return HttpServerResponse.jsonUnsafe({ Id: id, Key: urlOf(file) })
      })

    const upload = (operation: string, upserts: (request: Request) => boolean) =>
      forCaller(operation, (request, actor) =>
        Effect.flatMap(fileOf(request, "/object"), (file) => uploaded(request, actor, file, upserts(request), false))
      )
    const asked = (request: Request) => headersOf(request)["x-upsert"] === "true"

    const download = (prefix: string) =>
      forCaller("get_authenticated", (request, actor) =>
        Effect.flatMap(fileOf(request, prefix), (file) =>
          Effect.flatMap(files.find(actor, file), (record) => fileResponse(request, record, files))
        )
      )

    const publicFile = Effect.fnUntraced(function* (prefix: string) {
      const request = yield* access.request
      const file = yield* fileOf(request, prefix)
      if (!(yield* buckets.find(file.bucket)).public) return yield* noBucket
      return { request, record: yield* files.find(serviceActor, file) }
    })

    const info = (record: FileRecord) =>
      HttpServerResponse.jsonUnsafe(infoOf(record), { headers: { etag: metadataText(record, "eTag", '""') } })

    const signed = (file: FileName, seconds: number, actor: Actor) =>
      Effect.map(
        urls.sign({ url: urlOf(file), scope: "download", sub: actor.sub, upsert: false }, seconds),
        (token) => `/object/sign/${urlOf(file)}?token=${token}`
      )

    const sign = forCaller("sign", (request, actor) =>
      Effect.gen(function* () {
        const file = yield* fileOf(request, "/object/sign")
        const { expiresIn, transform, versionId } = yield* signOf(request)
        yield* refuseVersion(versionId)
        if (transform != null) return yield* noTransformations
        yield* files.find(actor, file)
        return HttpServerResponse.jsonUnsafe({ signedURL: yield* signed(file, expiresIn, actor) })
      })
    )

    const signMany = forCaller("sign_many", (request, actor) =>
      Effect.gen(function* () {
        const bucket = yield* restOf(request, "/object/sign")
        const { expiresIn, paths } = yield* signManyOf(request)
        const visible = yield* files.visible(actor, bucket, paths)
        const all = yield* Effect.forEach(paths, (path): Effect.Effect<SignedPath, Unavailable> =>
          visible.has(path)
            ? Effect.map(signed({ bucket, name: path }, expiresIn, actor), (url) => ({
                error: null,
                path,
                signedURL: url
              }))
            : Effect.succeed({ error: unseen, path, signedURL: null })
        )
        return HttpServerResponse.jsonUnsafe(all)
      })
    )

    const bySignature = Effect.gen(function* () {
      const request = yield* access.request
      const file = yield* fileOf(request, "/object/sign")
      const { until } = yield* urls.verify(queryParameter(request, "token"), urlOf(file), "download")
      const expires = { expires: new Date(until).toUTCString() }
      return yield* fileResponse(request, yield* files.find(serviceActor, file), files, expires)
    })

    const signUpload = forCaller("sign_upload_url", (request, actor) =>
      Effect.gen(function* () {
        const file = yield* fileOf(request, "/object/upload/sign")
        yield* buckets.find(file.bucket)
        const upsert = asked(request)
        yield* files.mayWrite(actor, file, upsert)
        const url = urlOf(file)
        const token = yield* urls.sign({ url, scope: "upload", sub: actor.sub, upsert }, uploadSeconds)
        return HttpServerResponse.jsonUnsafe({ url: `/object/upload/sign/${url}?token=${token}`, token })
      })
    )

    const uploadBySignature = Effect.gen(function* () {
      const request = yield* access.request
      const file = yield* fileOf(request, "/object/upload/sign")
      const { sub, upsert } = yield* urls.verify(queryParameter(request, "token"), urlOf(file), "upload")
      return yield* uploaded(request, { ...serviceActor, sub, client: yield* access.address }, file, upsert, true)
    })

    const list = forCaller("list", (request, actor) =>
      Effect.gen(function* () {
        const bucket = yield* restOf(request, "/object/list")
        const { limit = 100, offset = 0, prefix, search, sortBy } = yield* listingOf(request)
        const { column = "name", order = "asc" } = sortBy ?? {}
        const listing = { prefix, search: search ?? "", limit, offset, column, descending: order === "desc" }
        return jsonAnswer(yield* files.list(actor, bucket, listing))
      })
    )

    const listV2 = forCaller("list_v2", (request, actor) =>
      Effect.gen(function* () {
        const bucket = yield* restOf(request, "/object/list-v2")
        const { cursor, limit = 1000, prefix, sortBy, with_delimiter: folders } = yield* listV2Of(request)
        const after = cursor ? decodeCursor(Buffer.from(cursor, "base64url").toString("utf8")) : Option.none()
        if (cursor && Option.isNone(after)) return yield* invalidCursor
        const text = yield* files.listV2(actor, bucket, {
          prefix: prefix ?? "",
          folders: folders === true,
          limit,
          column: sortBy?.column ?? "name",
          descending: sortBy?.order === "desc",
          after: Option.getOrUndefined(after)
        })
        return HttpServerResponse.jsonUnsafe(pageOf(JSON.parse(text) as ReadonlyArray<Entry>, limit))
      })
    )

    const moved = (moves: boolean) =>
      forCaller(moves ? "move" : "copy", (request, actor) =>
        Effect.gen(function* () {
          const given: Effect.Success<ReturnType<typeof copyOf>> = yield* moves ? moveOf(request) : copyOf(request)
          const { bucketId: bucket, destinationBucket, destinationKey, sourceKey, sourceVersionId } = given
          yield* refuseVersion(sourceVersionId)
          const to = { bucket: destinationBucket ?? bucket, name: destinationKey }
          const from = { bucket, name: sourceKey }
          const written = moves
            ? files.move(actor, from, to)
            : files.copy(actor, from, to, asked(request), yield* replacementOf(request, given))
          const { id } = yield* turns.take(yield* clientOf(actor), written)
          if (moves) return HttpServerResponse.jsonUnsafe({ message: "Successfully moved", Id: id, Key: urlOf(to) })
          const copied = yield* files.find(serviceActor, to)
          return HttpServerResponse.jsonUnsafe({ ...copied, Id: id, Key: urlOf(to) })
        })
      )

    const removeMany = forCaller("delete_many", (request, actor) =>
      Effect.gen(function* () {
        const { prefixes } = yield* removeOf(request)
        const names = yield* Effect.forEach(prefixes, (one) =>
          typeof one === "string" ? Effect.succeed(one) : Effect.as(refuseVersion(one.versionId), one.name)
        )
        return HttpServerResponse.jsonUnsafe(yield* files.remove(actor, yield* restOf(request, "/object"), names))
      })
    )

    const removeOne = forCaller("delete", (request, actor) =>
      Effect.gen(function* () {
        const { bucket, name } = yield* fileOf(request, "/object")
        const removed = yield* files.remove(actor, bucket, [name])
        if (removed.length === 0) return yield* noObject
        return HttpServerResponse.jsonUnsafe({ message: "Successfully deleted" })
      })
    )

    const at = "/storage/v1/object"
    const infoFor = (prefix: string) =>
      forCaller("get_authenticated_info", (request, actor) =>
        Effect.map(
          Effect.flatMap(fileOf(request, prefix), (file) => files.find(actor, file)),
          info
        )
      )
    // The router's wildcard includes the path without it.
    const byPath = <A, E, R>(prefix: string, bucket: Effect.Effect<A, E, R>, object: Effect.Effect<A, E, R>) =>
      Effect.flatMap(access.request, (request) =>
        Effect.flatMap(restOf(request, prefix), (path) => (path.includes("/") ? object : bucket))
      )
    // Probes ask it without credentials.
    yield* router.add("GET", "/storage/v1/status", Effect.succeed(HttpServerResponse.empty({ status: 200 })))
    yield* router.add("POST", `${at}/list/:bucket`, list)
    yield* router.add("POST", `${at}/list-v2/:bucket`, listV2)
    yield* router.add("POST", `${at}/move`, moved(true))
    yield* router.add("POST", `${at}/copy`, moved(false))
    yield* router.add("POST", `${at}/sign/:bucket/*`, byPath("/object/sign", signMany, sign))
    yield* router.add("GET", `${at}/sign/:bucket/*`, bySignature)
    yield* router.add("POST", `${at}/upload/sign/:bucket/*`, signUpload)
    yield* router.add("PUT", `${at}/upload/sign/:bucket/*`, uploadBySignature)
    yield* router.add("GET", `${at}/info/:bucket/*`, infoFor("/object/info"))
    yield* router.add("GET", `${at}/info/authenticated/:bucket/*`, infoFor("/object/info/authenticated"))
    yield* router.add(
      "GET",
      `${at}/info/public/:bucket/*`,
      Effect.map(publicFile("/object/info/public"), ({ record }) => info(record))
    )
    yield* router.add(
      "GET",
      `${at}/public/:bucket/*`,
      Effect.flatMap(publicFile("/object/public"), ({ record, request }) => fileResponse(request, record, files))
    )
    yield* router.add("GET", `${at}/authenticated/:bucket/*`, download("/object/authenticated"))
    yield* router.add("GET", `${at}/:bucket/*`, download("/object"))
    yield* router.add("POST", `${at}/:bucket/*`, upload("upload", asked))
    yield* router.add(
      "PUT",
      `${at}/:bucket/*`,
      upload("upload_update", () => true)
    )
    yield* router.add("DELETE", `${at}/:bucket/*`, byPath("/object", removeMany, removeOne))
  })
)
