import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { type ClientError, InvalidRequest, NotImplemented } from "../../../domain/errors.ts"
import { byteString } from "../../../domain/text/Utf8.ts"
import { type FileRecord } from "../../../services/supabase/FileSql.ts"
import { type Files } from "../../../services/supabase/Files.ts"
import { headersOf } from "../../wire/Headers.ts"
import { withChosenStatus } from "../../wire/ErrorBodies.ts"
import { parseRange } from "../../wire/ByteRange.ts"
import { queryOf } from "../../wire/Paths.ts"

const outside = new InvalidRequest({ error: "invalid range provided", code: "InvalidRange" })
export const noTransformations = new NotImplemented({
  error: "Image transformations are not supported by this server",
  code: "FeatureNotEnabled"
})

export const metadataText = (record: FileRecord, field: string, otherwise: string) => {
  const value = record.metadata?.[field]
  // Rows may have been written by SQL, and headers hold no control characters.
  return typeof value === "string" ? value.replaceAll(/[^\x20-\x7e]/g, "").slice(0, 1000) : otherwise
}

export const sizeOf = ({ metadata }: FileRecord) => Number(metadata?.["size"] ?? 0)

/** A page would run in this origin, with the sessions of its users. */
const shownType = (type: string) => (/^text\/html/i.test(type) ? "text/plain" : type)

const encoded = (name: string) =>
  encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)

/** `download` in the query, with a name or without. */
const disposition = (query: URLSearchParams, { name }: FileRecord) => {
  const wanted = query.get("download")
  if (wanted === null) return {}
  const file = (wanted === "" || wanted === "true" ? (name.split("/").at(-1) ?? name) : wanted).slice(0, 200)
  const plain = file.replaceAll(/[^\x20-\x7e]|["\\]/g, "_")
  const wide = file.isWellFormed() ? `; filename*=UTF-8''${encoded(file)}` : ""
  return { "content-disposition": byteString(`attachment; filename="${plain}"${wide}`) }
}

/** The bytes of an object, or of the range that is asked for; 304 for those who have them. */
export const fileResponse = (
  request: HttpServerRequest.HttpServerRequest,
  record: FileRecord,
  files: Files["Service"],
  further: Readonly<Record<string, string>> = {}
): Effect.Effect<HttpServerResponse.HttpServerResponse, ClientError> =>
  Effect.suspend(() => {
    const query = new URLSearchParams(queryOf(request.url))
    const headers = headersOf(request)
    const size = sizeOf(record)
    const range = request.method === "GET" ? parseRange(headers["range"], size) : undefined
    if (range === "outside") return Effect.fail(outside)
    const etag = metadataText(record, "eTag", `"${record.version}"`)
    const modified = new Date(metadataText(record, "lastModified", record.updated_at ?? ""))
    const given = {
      etag,
      ...(Number.isNaN(modified.getTime()) ? {} : { "last-modified": modified.toUTCString() }),
      "cache-control": metadataText(record, "cacheControl", "no-cache"),
      "accept-ranges": "bytes",
      "x-robots-tag": "none",
      "content-security-policy": "sandbox; default-src 'none'",
      ...disposition(query, record),
      ...further
    }
    const known = headers["if-none-match"]?.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag) === true
    if (known) return Effect.succeed(HttpServerResponse.empty({ status: 304, headers: given }))
    const contentType = shownType(metadataText(record, "mimetype", "application/octet-stream"))
    const length = range === undefined ? size : range.last - range.first + 1
    const all = {
      ...given,
      "content-length": String(length),
      ...(range === undefined ? {} : { "content-range": `bytes ${range.first}-${range.last}/${size}` })
    }
    if (request.method === "HEAD" || length === 0) {
      return Effect.succeed(HttpServerResponse.empty({ status: 200, headers: { ...all, "content-type": contentType } }))
    }
    return Effect.succeed(
      withChosenStatus(
        HttpServerResponse.stream(files.bytes(record, range), {
          status: range === undefined ? 200 : 206,
          contentType,
          headers: all
        })
      )
    )
  })
