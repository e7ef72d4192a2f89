import { hash } from "node:crypto"
import { Effect, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { InvalidRequest } from "../../domain/errors.ts"
import { type Expected } from "../../domain/Revision.ts"

/** Headers of writes that must fail if the record has changed in the meantime. */
export const IfMatch = Schema.Struct({ "if-match": Schema.optionalKey(Schema.String) })
/** Headers of reads by clients that already have the record. */
export const IfNoneMatch = Schema.Struct({ "if-none-match": Schema.optionalKey(Schema.String) })
/** The headers of every response that is one record. */
export const Tagged = Schema.Struct({ etag: Schema.String })

const form = /^(?:W\/)?"[!#-~\u0080-\u00ff]*"$/

/** The entity tags of a header (RFC 9110, 8.8.3); `*` for any, undefined if the header is invalid. */
const tagsOf = (header: string): ReadonlyArray<string> | "*" | undefined => {
  if (header.trim() === "*") return "*"
  const tags = header.split(",").map((tag) => tag.trim())
  return tags.every((tag) => form.test(tag)) ? tags : undefined
}

const malformed = (name: string) =>
  new InvalidRequest({ error: `${name} must be * or a list of ETags from earlier responses, such as "42"` })

/** The revisions of If-Match; a weak tag matches nothing (13.1.1). */
export const expectedOf = (headers: typeof IfMatch.Type): Effect.Effect<Expected, InvalidRequest> => {
  const header = headers["if-match"]
  if (header === undefined) return Effect.undefined
  const tags = tagsOf(header)
  if (tags === undefined) return Effect.fail(malformed("If-Match"))
  return Effect.succeed(
    tags === "*" ? tags : tags.map((tag) => (/^"\d{1,15}"$/.test(tag) ? Number(tag.slice(1, -1)) : -1))
  )
}

type Response = HttpServerResponse.HttpServerResponse

const opaque = (tag: string) => tag.replace(/^W\//, "")

const unlessTagged = (
  headers: Readonly<Record<string, string | undefined>>,
  etag: string,
  answer: () => Response
): Effect.Effect<Response, InvalidRequest> => {
  const header = headers["if-none-match"]
  if (header === undefined) return Effect.sync(answer)
  const tags = tagsOf(header)
  if (tags === undefined) return Effect.fail(malformed("If-None-Match"))
  const known = tags === "*" || tags.some((tag) => opaque(tag) === opaque(etag))
  return known ? Effect.succeed(HttpServerResponse.empty({ status: 304, headers: { etag } })) : Effect.sync(answer)
}

/** The record, or 304 if the client has this revision. */
export const unlessKnown = (
  headers: typeof IfNoneMatch.Type,
  revision: number,
  answer: () => Response
): Effect.Effect<Response, InvalidRequest> => unlessTagged(headers, etagOf(revision), answer)

/**
 * A text that many requests get, or 304 if the client has it. The tag is weak: the text may be compressed. `answer` makes the
 * response with these headers.
 */
export const unlessSame = (
  headers: Readonly<Record<string, string | undefined>>,
  text: string | Uint8Array,
  answer: (headers: Record<string, string>) => Response
): Effect.Effect<Response, InvalidRequest> => {
  const etag = `W/"${hash("sha256", text, "base64url").slice(0, 22)}"`
  return unlessTagged(headers, etag, () => answer({ etag }))
}

export const etagOf = (revision: number) => `"${revision}"`
