import { Effect, Result, Schema } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import {
  type ClientError,
  InvalidRequest,
  isClientError,
  PayloadTooLarge,
  PreconditionFailed,
  UnsupportedMediaType
} from "../../../domain/errors.ts"
import { JsonObjectSchema } from "../../../domain/text/JsonObjectSchema.ts"
import { makeTurns } from "../../../services/access/Turns.ts"
import { IdentitySettings } from "../../../services/identity/Settings.ts"
import { type Actor, serviceActor } from "../../../services/ports/Db.ts"
import { FileOperation } from "../../../services/supabase/FileBuckets.ts"
import { maxFileBytes } from "../../../services/supabase/Files.ts"
import { type ResumableUpload, ResumableUploads } from "../../../services/supabase/ResumableUploads.ts"
import { SignedUrls } from "../../../services/supabase/SignedUrls.ts"
import { SupabaseSettings } from "../../../services/supabase/Settings.ts"
import { headersOf } from "../../wire/Headers.ts"
import { baseUrlOf } from "../../access/Origins.ts"
import { withoutTimeLimit } from "../../wire/Body.ts"
import { withChosenStatus } from "../../wire/ErrorBodies.ts"
import { type Request, makeAccess, restOf } from "./Requests.ts"
import { rawBytes, safeText, storedCacheControl } from "./Uploads.ts"

const version = { "tus-resumable": "1.0.0" }
const mount = "/upload/resumable"
const pieceType = "application/offset+octet-stream"

const invalid = (error: string) => new InvalidRequest({ error, code: "InvalidRequest" })
/** The text is that of tus. */
const tooLarge = new PayloadTooLarge({ error: "Maximum size exceeded", code: "EntityTooLarge" })
const wrongVersion = new PreconditionFailed({ error: "Tus-Resumable must be 1.0.0", code: "InvalidRequest" })
const wrongType = new UnsupportedMediaType({ error: `The body must be ${pieceType}`, code: "InvalidRequest" })

/** The values of Upload-Metadata, decoded; undefined if it is malformed. */
const metadataOf = (header: string): ReadonlyMap<string, string> | undefined => {
  const all = new Map<string, string>()
  for (const pair of header.split(",").map((one) => one.trim())) {
    const match = /^([^ ]{1,100})(?: ([A-Za-z\d+/]*={0,2}))?$/.exec(pair)
    if (match === null) return undefined
    all.set(match[1] ?? "", Buffer.from(match[2] ?? "", "base64").toString("utf8"))
  }
  return all
}

const lengthOf = (text: string | undefined) =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
const decodeMetadata = Schema.decodeUnknownEffect(Schema.fromJsonString(JsonObjectSchema))

/** Clients of tus read the status, which other answers of storage have in the body only. */
const withStatus = (given: ClientError) => {
  const error = given.code === "EntityTooLarge" ? tooLarge : given
  return withChosenStatus(
    HttpServerResponse.jsonUnsafe(
      { statusCode: String(error.status), error: error.code, message: error.error, code: error.code },
      { status: error.status, headers: version }
    )
  )
}

/** `/storage/v1/upload/resumable`: tus 1.0.0. */
export const ResumableRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    if (!(yield* SupabaseSettings).enabled) return
    const uploads = yield* ResumableUploads
    const urls = yield* SignedUrls
    const settings = yield* IdentitySettings
    const maxBytes = yield* Effect.orDie(maxFileBytes)
    const access = yield* makeAccess
    const turns = makeTurns({ ofClient: 4, ofAll: 32 })

    /** The uploader: the caller, or the holder of a signed URL, whose rights were checked when it was signed. */
    const byWhom = Effect.fnUntraced(function* (request: Request, url: string | undefined) {
      const signature = headersOf(request)["x-signature"]
      if (signature === undefined || url === undefined) {
        return {
          actor: yield* access.enter,
          checked: false,
          upsert: headersOf(request)["x-upsert"] === "true"
        }
      }
      const { sub, upsert } = yield* urls.verify(signature, url, "upload")
      const actor: Actor = { ...serviceActor, sub, client: yield* access.address }
      return { actor, checked: true, upsert }
    })

    const append = (
      request: Request,
      actor: Actor,
      upload: ResumableUpload,
      at: { readonly offset: number; readonly length: number | undefined },
      checked: boolean
    ) =>
      Effect.gen(function* () {
        withoutTimeLimit(request)
        const client = actor.client ?? (yield* access.address)
        return yield* turns.take(client, uploads.append(actor, upload, at, rawBytes(request), checked))
      })

    const create = Effect.fnUntraced(function* (request: Request, signed: boolean) {
      const headers = headersOf(request)
      const length = lengthOf(headers["upload-length"])
      const deferred = headers["upload-length"] === undefined && headers["upload-defer-length"] === "1"
      if (length === undefined && !deferred) {
        return yield* invalid("Upload-Length must be a number of bytes, or Upload-Defer-Length 1")
      }
      const given = metadataOf(headers["upload-metadata"] ?? "")
      const [bucket, name] = [given?.get("bucketName"), given?.get("objectName")]
      if (given === undefined || !bucket || !name) {
        return yield* invalid("Upload-Metadata must have bucketName and objectName, in base64")
      }
      const text = given.get("metadata")
      const userMetadata = text
        ? yield* Effect.mapError(decodeMetadata(text), () => invalid("metadata is not a JSON object"))
        : undefined
      const { actor, checked, upsert } = yield* byWhom(request, signed ? `${bucket}/${name}` : undefined)
      const described = {
        contentType: safeText(given.get("contentType") || "application/octet-stream"),
        cacheControl: safeText(storedCacheControl(given.get("cacheControl"))),
        userMetadata
      }
      const upload = yield* uploads.begin(actor, { bucket, name, upsert, ...described }, length, checked)
      const withBytes = headers["content-type"] === pieceType && length !== 0
      const from = { offset: 0, length: undefined }
      const offset = withBytes ? yield* append(request, actor, upload, from, checked) : 0
      const base = yield* baseUrlOf(request, settings)
      return HttpServerResponse.empty({
        status: 201,
        headers: {
          ...version,
          location: `${base}/storage/v1${mount}/${signed ? "sign/" : ""}${upload.id}`,
          "upload-offset": String(offset),
          "upload-expires": upload.expires_at
        }
      })
    })

    /** The upload at a path, if the caller may continue it. */
    const found = Effect.fnUntraced(function* (request: Request, path: string) {
      const [id = "", more] = path.replace(/^sign\//, "").split("/", 2)
      // The row names the upload's owner, so the signed URL can only be checked after it is read.
      const trusted = path.startsWith("sign/") && headersOf(request)["x-signature"] !== undefined
      if (!trusted || more !== undefined) {
        const { actor } = yield* byWhom(request, undefined)
        return { actor, checked: false, upload: yield* uploads.find(actor, id) }
      }
      const { bucket, name } = yield* uploads.named(id)
      const { actor } = yield* byWhom(request, `${bucket}/${name}`)
      return { actor, checked: true, upload: yield* uploads.find(actor, id) }
    })

    const patch = Effect.fnUntraced(function* (request: Request, path: string) {
      const headers = headersOf(request)
      const offset = lengthOf(headers["upload-offset"])
      if (headers["content-type"] !== pieceType) return yield* wrongType
      if (offset === undefined) return yield* invalid("Upload-Offset must be a number of bytes")
      const length = lengthOf(headers["upload-length"])
      if (length === undefined && headers["upload-length"] !== undefined) {
        return yield* invalid("Upload-Length must be a number of bytes")
      }
      const { actor, checked, upload } = yield* found(request, path)
      const now = yield* append(request, actor, upload, { offset, length }, checked)
      return HttpServerResponse.empty({
        status: 204,
        headers: { ...version, "upload-offset": String(now), "upload-expires": upload.expires_at }
      })
    })

    const head = Effect.fnUntraced(function* (request: Request, path: string) {
      const { upload } = yield* found(request, path)
      return HttpServerResponse.empty({
        status: 200,
        headers: {
          ...version,
          "upload-offset": String(upload.received),
          ...(upload.length === null ? { "upload-defer-length": "1" } : { "upload-length": String(upload.length) }),
          "upload-expires": upload.expires_at,
          "cache-control": "no-store"
        }
      })
    })

    const remove = Effect.fnUntraced(function* (request: Request, path: string) {
      const { upload } = yield* found(request, path)
      yield* uploads.abort(upload)
      return HttpServerResponse.empty({ status: 204, headers: version })
    })

    const options = HttpServerResponse.empty({
      status: 204,
      headers: {
        ...version,
        "tus-version": "1.0.0",
        "tus-extension": "creation,creation-with-upload,creation-defer-length,termination,expiration",
        "tus-max-size": String(maxBytes)
      }
    })

    const answer = Effect.gen(function* () {
      const request = yield* access.request
      const { method } = request
      if (method === "OPTIONS") return options
      if (headersOf(request)["tus-resumable"] !== "1.0.0") return yield* wrongVersion
      const path = yield* restOf(request, mount)
      const creates = path === "" || path === "sign"
      if (method === "POST" && creates) return yield* create(request, path === "sign")
      if (creates || method === "POST") return yield* invalid("POST begins an upload, other methods continue one")
      return method === "PATCH"
        ? yield* patch(request, path)
        : method === "HEAD" || method === "GET"
          ? yield* head(request, path)
          : yield* remove(request, path)
    })

    const as = (operation: string) => Effect.provideService(answer, FileOperation, `storage.tus.upload.${operation}`)
    const answered = (operation: string) =>
      Effect.flatMap(Effect.result(as(operation)), (result) =>
        Result.isSuccess(result)
          ? Effect.succeed(result.success)
          : isClientError(result.failure)
            ? Effect.succeed(withStatus(result.failure))
            : Effect.fail(result.failure)
      )
    // The router serves HEAD by GET. Policies can read the operations by these names.
    const operations = { OPTIONS: "options", POST: "create", GET: "get", PATCH: "part", DELETE: "delete" } as const
    for (const [method, operation] of Object.entries(operations)) {
      yield* router.add(method as keyof typeof operations, `/storage/v1${mount}/*`, answered(operation))
    }
  })
)
