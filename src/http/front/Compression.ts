import { promisify } from "node:util"
import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from "node:zlib"
import { Effect } from "effect"
import { HttpBody, HttpServerResponse } from "effect/http"
import { flag } from "../../domain/Settings.ts"
import { type ServedRequest } from "../access/ServedRequest.ts"
import { preferredEncoding } from "../wire/Encoding.ts"
import { headersOf } from "../wire/Headers.ts"
import { routeName } from "./RouteNames.ts"

type Response = HttpServerResponse.HttpServerResponse

/**
 * The routes whose responses may be compressed; all others are sent as they are. The length of a compressed text discloses
 * its repetitions to an observer of the connection, so that a caller who chooses a part of a response can guess a secret in
 * another part (BREACH). None of these returns a secret of the service: no key, token, password, code or signed URL. Rows are what
 * the database returns; docs/operations.md says when to turn compression off for them.
 */
export const compressedRoutes: ReadonlySet<string> = new Set([
  "GET /v1/db",
  "GET /v1/db/",
  "GET /v1/db/{table}",
  "POST /v1/db/{table}",
  "PUT /v1/db/{table}",
  "PATCH /v1/db/{table}",
  "DELETE /v1/db/{table}",
  "GET /v1/db/rpc/{function}",
  "POST /v1/db/rpc/{function}",
  "POST /v1/sql",
  "POST /v1/sql/transaction",
  "GET /v1/database/schema",
  "GET /v1/database/types.ts",
  "GET /v1/storage/buckets",
  "GET /api/storage/buckets",
  "GET /api/storage/buckets/{bucket}/objects",
  "GET /api/insights",
  "GET /api/requests/minutes",
  "GET /api/realtime/subscriptions",
  "GET /api/realtime/tables",
  "GET /api/flags",
  "GET /api/flags/{key}/history",
  "GET /api/flags/segments",
  "GET /api/flags/segments/{key}/history",
  "GET /api/migrations/idempotent/status",
  "GET /api/migrations/preview/{migration_name}",
  "GET /api/backups",
  "GET /api/branches/{id}/tables"
])

/** Texts; a function of the database may choose another type, which may be compressed already. */
const textType = /^(?:application\/(?:[\w.+-]+\+)?json|text\/(?:csv|plain))\b/

/** Bytes of the smallest and of the largest body that is compressed. */
const [smallest, largest] = [1024, 16 * 1024 * 1024]
/** Bytes of a body that the event loop compresses itself, in less time than a thread takes to be asked. */
const immediate = 16 * 1024
/** Bodies that threads compress at a time. Files and passwords need the same threads, so that further ones are sent as they are. */
const maxThreads = 2

const encodings = ["br", "gzip"] as const
type Encoding = (typeof encodings)[number]

/** Measured in bench/README.md: slower settings save little more of JSON. */
const gzipOptions = { level: 4 }
const brotliOptions = (size: number) => ({
  params: {
    [constants.BROTLI_PARAM_QUALITY]: 3,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: size
  }
})

const compressNow = (encoding: Encoding, bytes: Uint8Array) =>
  encoding === "br" ? brotliCompressSync(bytes, brotliOptions(bytes.length)) : gzipSync(bytes, gzipOptions)

const [brotliLater, gzipLater] = [promisify(brotliCompress), promisify(gzip)]
const compressLater = (encoding: Encoding, bytes: Uint8Array) =>
  Effect.promise(() =>
    encoding === "br" ? brotliLater(bytes, brotliOptions(bytes.length)) : gzipLater(bytes, gzipOptions)
  )

const withBody = (response: Response, encoding: Encoding, bytes: Uint8Array): Response =>
  HttpServerResponse.setHeader(
    HttpServerResponse.setBody(response, HttpBody.uint8Array(bytes, response.headers["content-type"])),
    "content-encoding",
    encoding
  )

/**
 * Compresses responses of more than a kilobyte for clients that accept it. Undefined: the response is sent as it is, which
 * most are after one comparison.
 */
export const makeCompression = Effect.map(flag("SVC_COMPRESSION", true), (enabled) => {
  let threads = 0

  return (request: ServedRequest, response: Response): Effect.Effect<Response> | undefined => {
    const { body } = response
    if (body._tag !== "Uint8Array" || body.contentLength < smallest || !enabled) return undefined
    const { headers } = response
    const encoding = preferredEncoding(headersOf(request.http)["accept-encoding"], encodings)
    if (encoding === undefined || body.contentLength > largest) return undefined
    // A strong ETag names bytes, and clients send it back in If-Match.
    if (headers["content-encoding"] !== undefined || headers["etag"]?.startsWith('"') === true) return undefined
    if (!textType.test(headers["content-type"] ?? "") || request.http.method === "HEAD") return undefined
    if (!compressedRoutes.has(`${request.http.method} ${routeName(request.path)}`)) return undefined
    if (body.contentLength <= immediate) {
      return Effect.sync(() => withBody(response, encoding, compressNow(encoding, body.body)))
    }
    if (threads >= maxThreads) return undefined
    return Effect.suspend(() => {
      threads++
      return Effect.map(compressLater(encoding, body.body), (bytes) => withBody(response, encoding, bytes))
    }).pipe(
      Effect.ensuring(Effect.sync(() => void threads--)),
      // A thread can't be stopped, and counts until it is done.
      Effect.uninterruptible
    )
  }
})
