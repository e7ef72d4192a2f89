import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { hash } from "node:crypto"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { headersOf } from "./Headers.ts"

const compress = promisify(gzip)

/** RFC 9110, 12.5.3. */
const acceptsGzip = (header: string | undefined) =>
  /(?:^|,)\s*gzip\s*(?:,|$|;\s*q=(?!0(?:\.0*)?\s*(?:,|$)))/i.test(header ?? "")

/**
 * Responses with a large text that is the same for every client: its bytes are made once, and shared by all responses,
 * so that many clients take no more memory than one. Compressed for those that accept gzip; 304 for those that have it.
 */
export const staticText = (
  text: Effect.Effect<string>,
  contentType: string,
  further: Readonly<Record<string, string>> = {}
): Effect.Effect<Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest>> =>
  Effect.map(
    Effect.cached(
      Effect.gen(function* () {
        const plain = Buffer.from(yield* text)
        const zipped = yield* Effect.promise(() => compress(plain))
        return { plain, zipped, etag: `W/"${hash("sha256", plain, "base64url").slice(0, 22)}"` }
      })
    ),
    (made) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const { etag, plain, zipped } = yield* made
        const headers = headersOf(request)
        const common = { ...further, etag, vary: "Accept-Encoding", "cache-control": "no-cache" }
        if (headers["if-none-match"]?.includes(etag.slice(2)) === true) {
          return HttpServerResponse.empty({ status: 304, headers: common })
        }
        return acceptsGzip(headers["accept-encoding"])
          ? HttpServerResponse.uint8Array(zipped, {
              contentType,
              headers: { ...common, "content-encoding": "gzip" }
            })
          : HttpServerResponse.uint8Array(plain, { contentType, headers: common })
      })
  )
