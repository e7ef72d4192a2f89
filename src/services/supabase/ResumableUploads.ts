import { Context, Effect, Layer, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { type ClientError, Conflict, Forbidden, InvalidRequest, NotFound } from "../../domain/errors.ts"
import { onOwnTables, queryRows } from "../OwnTables.ts"
import { type Actor, serviceActor } from "../ports/Db.ts"
import { FileBytes } from "./FileBytes.ts"
import { atMost, type FileName, Files, maxFileBytes, type Upload } from "./Files.ts"

const Row = Schema.Struct({
  id: Schema.String,
  bucket: Schema.String,
  name: Schema.String,
  sub: Schema.String,
  content_type: Schema.String,
  cache_control: Schema.String,
  user_metadata: Schema.NullOr(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json))),
  upsert: Schema.Boolean,
  /** Null until the client has sent it. */
  length: Schema.NullOr(Schema.FiniteFromString),
  received: Schema.FiniteFromString,
  parts: Schema.Array(Schema.FiniteFromString),
  expires_at: Schema.String
})
/** An upload that has begun. Sizes in bytes, `expires_at` as an HTTP date. */
export type ResumableUpload = typeof Row.Type

const columns = `id::text, bucket, name, sub, content_type, cache_control, user_metadata, upsert, length::text, received::text,
  parts::text[] as parts, to_char(expires_at at time zone 'UTC', 'Dy, DD Mon YYYY HH24:MI:SS "GMT"') as expires_at`

const gone = new NotFound({ error: "The upload does not exist, has expired or is complete", code: "NoSuchUpload" })
const notYours = new Forbidden({ error: "The upload was begun by another caller", code: "AccessDenied" })
const wrongOffset = new Conflict({
  error: "Upload-Offset conflict",
  code: "InvalidUploadOffset"
})

const wrongLength = new InvalidRequest({
  error: "Upload-Length is not the length of the upload, or less than what has arrived",
  code: "InvalidRequest"
})

/** Expired uploads that are removed when one begins. */
const sweepSize = 20

const isUuid = (text: string) => /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/.test(text)

type Answer<A> = Effect.Effect<A, ClientError>

/** Whether the object has all bytes: its pieces are joined. */
const isFinished = ({ length, parts, received }: ResumableUpload) => received === length && parts.length === 0

/** Uploads in pieces, which a client continues after a broken connection. Pieces are objects of the store until all are there. */
export class ResumableUploads extends Context.Service<
  ResumableUploads,
  {
    /** `length` is undefined if a later piece has it. `checked`: the rights were checked when a URL was signed. */
    readonly begin: (
      actor: Actor,
      upload: Upload,
      length: number | undefined,
      checked: boolean
    ) => Answer<ResumableUpload>
    /** 404 NoSuchUpload; 403 for another user than the one who began it. */
    readonly find: (actor: Actor, id: string) => Answer<ResumableUpload>
    /** The object that an upload is for, for any caller. */
    readonly named: (id: string) => Answer<FileName>
    /** Adds a piece. 409 if it does not begin where the last one ended. Returns the new offset. */
    readonly append: <E extends ClientError>(
      actor: Actor,
      upload: ResumableUpload,
      at: { readonly offset: number; readonly length: number | undefined },
      bytes: Stream.Stream<Uint8Array, E>,
      checked: boolean
    ) => Answer<number>
    readonly abort: (upload: ResumableUpload) => Answer<void>
  }
>()("svc/services/ResumableUploads") {
  static readonly layer = Layer.effect(
    ResumableUploads,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const files = yield* Files
      const store = yield* FileBytes
      const maxBytes = yield* maxFileBytes
      const rows = (text: string, params: ReadonlyArray<unknown>) => onOwnTables(queryRows(sql, Row)(text, params))

      /** No bucket has this character in its name. */
      const placeOf = (id: string, offset: number) => ({ bucket: "~uploads", name: id, version: String(offset) })
      const piecesOf = ({ id, parts }: ResumableUpload) => parts.map((offset) => placeOf(id, offset))

      const removed = (condition: string, params: ReadonlyArray<unknown>) =>
        Effect.flatMap(
          rows(`delete from svc.supabase_uploads where ${condition} returning ${columns}`, params),
          (all) => store.remove(all.flatMap(piecesOf))
        )

      const uploadOf = (row: ResumableUpload): Upload => ({
        bucket: row.bucket,
        name: row.name,
        contentType: row.content_type,
        cacheControl: row.cache_control,
        userMetadata: row.user_metadata ?? undefined,
        upsert: row.upsert
      })

      /**
       * Joins the pieces to the object. The row stays until it expires, because the last response may be lost: a client then
       * asks how much has arrived.
       */
      const finish = Effect.fn("ResumableUploads.finish")(function* (row: ResumableUpload) {
        const bytes = Stream.flatMap(Stream.fromIterable(piecesOf(row)), (place) => store.read(place))
        yield* files.upload({ ...serviceActor, sub: row.sub }, uploadOf(row), bytes, true)
        yield* rows(`update svc.supabase_uploads set parts = '{}' where id = $1::text::uuid returning ${columns}`, [
          row.id
        ])
        yield* store.remove(piecesOf(row))
        return { ...row, parts: [] }
      })

      const named = Effect.fn("ResumableUploads.named")(function* (id: string) {
        const [row] = isUuid(id)
          ? yield* rows(
              `select ${columns} from svc.supabase_uploads where id = $1::text::uuid and expires_at > now()`,
              [id]
            )
          : []
        return row ?? (yield* gone)
      })

      const find = Effect.fn("ResumableUploads.find")(function* (actor: Actor, id: string) {
        const row = yield* named(id)
        if (row.sub !== actor.sub) return yield* notYours
        if (isFinished(row)) return row
        // Its address is all that callers without a user have in common with who began it.
        if (row.sub === "") yield* files.mayWrite(actor, row, row.upsert)
        if (row.length === null || row.received < row.length) return row
        // The process ended while it joined the pieces.
        return yield* finish(row)
      })

      return ResumableUploads.of({
        find,
        named,
        begin: Effect.fn("ResumableUploads.begin")(function* (actor, upload, length, checked) {
          yield* files.prepare(actor, upload, length ?? 0, checked)
          yield* removed(
            `id in (select id from svc.supabase_uploads where expires_at <= now() limit ${sweepSize} for update skip locked)`,
            []
          )
          const { bucket, cacheControl, contentType, name, upsert, userMetadata } = upload
          const metadata = userMetadata === undefined ? null : JSON.stringify(userMetadata)
          const [row] = yield* rows(
            `insert into svc.supabase_uploads (bucket, name, sub, content_type, cache_control, user_metadata, upsert, length)
             values ($1, $2, $3, $4, $5, $6, $7::text::boolean, $8::text::bigint) returning ${columns}`,
            [
              bucket,
              name,
              actor.sub,
              contentType,
              cacheControl,
              metadata,
              String(upsert),
              length === undefined ? null : String(length)
            ]
          )
          if (row === undefined) return yield* gone
          if (length === 0) yield* finish(row)
          return row
        }),
        append: Effect.fn("ResumableUploads.append")(function* (
          actor,
          upload,
          { length: declared, offset },
          bytes,
          checked
        ) {
          if (offset !== upload.received) return yield* wrongOffset
          if (isFinished(upload)) return upload.received
          if (declared !== undefined && (declared !== (upload.length ?? declared) || declared < offset))
            return yield* wrongLength
          if (declared !== undefined) yield* files.prepare(actor, uploadOf(upload), declared, true)
          if (!checked) yield* files.mayWrite(actor, upload, upload.upsert)
          const length = upload.length ?? declared
          const left = (length ?? maxBytes) - offset
          const place = placeOf(upload.id, offset)
          const written = atMost(bytes, left)
          const { size } =
            left === 0 ? { size: 0 } : yield* store.write(place, "application/octet-stream", written, left)
          const [row] =
            size === 0 && left > 0 && declared === undefined
              ? yield* Effect.as(store.remove([place]), [upload])
              : yield* rows(
                  `update svc.supabase_uploads set received = received + $3::text::bigint, length = coalesce(length, $4::text::bigint),
                   parts = case when $3 = '0' then parts else parts || $2::text::bigint end
                   where id = $1::text::uuid and received = $2::text::bigint returning ${columns}`,
                  [upload.id, String(offset), String(size), declared === undefined ? null : String(declared)]
                )
          // Another request has added one there at the same time.
          if (row === undefined) return yield* Effect.andThen(store.remove([place]), wrongOffset)
          if (row.received === row.length) yield* finish(row)
          return row.received
        }),
        abort: ({ id }) => removed("id = $1::text::uuid", [id])
      })
    })
  )
}
