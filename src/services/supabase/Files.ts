import { Clock, Context, Effect, Layer, Schema, Stream } from "effect"
import { randomUUID } from "node:crypto"
import { type ClientError, Conflict, NotFound, PayloadTooLarge, UnsupportedMediaType } from "../../domain/errors.ts"
import { integer } from "../../domain/Settings.ts"
import { acceptsType, invalidKey, isObjectName } from "../../domain/supabase/FileNames.ts"
import { type Actor, Db, serviceActor } from "../ports/Db.ts"
import { asStorageError, FileBuckets, FileOperation } from "./FileBuckets.ts"
import { FileBytes, type FileVersion } from "./FileBytes.ts"
import {
  type FileListing,
  FileRecord,
  type ListingV2,
  listSql,
  listV2Sql,
  moveSql,
  putSql,
  recordSql,
  removeSql,
  trySql
} from "./FileSql.ts"

/** SVC_STORAGE_MAX_FILE_MIB, in bytes: the most that one object may have. */
export const maxFileBytes = Effect.map(
  integer("SVC_STORAGE_MAX_FILE_MIB", 50, 1, 5 * 1024 * 1024),
  (mib) => mib * 1024 * 1024
)

export interface FileName {
  readonly bucket: string
  readonly name: string
}

/** An upload's attributes, without its bytes. */
export interface Upload extends FileName {
  readonly contentType: string
  /** `max-age=3600` or the like. */
  readonly cacheControl: string
  readonly userMetadata: Readonly<Record<string, unknown>> | undefined
  readonly upsert: boolean
}

/** The user's metadata are replaced in any case; undefined others stay. */
interface Replacement extends Pick<Upload, "userMetadata"> {
  readonly contentType: string | undefined
  readonly cacheControl: string | undefined
}

export interface StoredFile {
  readonly id: string
  readonly name: string
}

const noObject = new NotFound({ error: "Object not found", code: "NoSuchKey" })
const exists = new Conflict({ error: "The resource already exists", code: "KeyAlreadyExists" })
const tooLarge = new PayloadTooLarge({ error: "The object exceeded the maximum allowed size", code: "EntityTooLarge" })

type Answer<A> = Effect.Effect<A, ClientError>

/** Objects of `/storage/v1`, under the policies of storage.objects. */
export class Files extends Context.Service<
  Files,
  {
    /** 404 NoSuchKey, also if policies hide it. */
    readonly find: (actor: Actor, file: FileName) => Answer<FileRecord>
    /** The names of a bucket's objects that the actor may read, among `names`. */
    readonly visible: (actor: Actor, bucket: string, names: ReadonlyArray<string>) => Answer<ReadonlySet<string>>
    /** Whether the actor may write an object there, as far as policies decide. */
    readonly mayWrite: (actor: Actor, file: FileName, upsert: boolean) => Answer<void>
    /** Fails if an upload of so many bytes would. */
    readonly prepare: (actor: Actor, upload: Upload, size: number, checked: boolean) => Answer<void>
    /** Checks the rights, writes the bytes, then the row. `checked`: they were checked when a URL was signed. */
    readonly upload: <E extends ClientError>(
      actor: Actor,
      upload: Upload,
      bytes: Stream.Stream<Uint8Array, E>,
      checked: boolean
    ) => Answer<StoredFile>
    readonly bytes: (
      record: FileRecord,
      range?: { readonly first: number; readonly last: number }
    ) => Stream.Stream<Uint8Array, ClientError>
    readonly list: (actor: Actor, bucket: string, listing: FileListing) => Answer<string>
    readonly listV2: (actor: Actor, bucket: string, listing: ListingV2) => Answer<string>
    /** `replacement`: attributes of the copy in place of those of the source. */
    readonly copy: (
      actor: Actor,
      from: FileName,
      to: FileName,
      upsert: boolean,
      replacement: Replacement | undefined
    ) => Answer<StoredFile>
    readonly move: (actor: Actor, from: FileName, to: FileName) => Answer<StoredFile>
    /** Removes the objects that the actor may delete; returns their records. */
    readonly remove: (actor: Actor, bucket: string, names: ReadonlyArray<string>) => Answer<ReadonlyArray<FileRecord>>
    /** All objects of a bucket that the actor may delete. */
    readonly empty: (actor: Actor, bucket: string) => Answer<void>
  }
>()("svc/services/Files") {
  static readonly layer = Layer.effect(
    Files,
    Effect.gen(function* () {
      const { main } = yield* Db
      const buckets = yield* FileBuckets
      const store = yield* FileBytes
      const clock = yield* Clock.Clock
      const maxBytes = yield* maxFileBytes
      const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(FileRecord))
      const decodeAll = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Array(FileRecord)))

      const run = (
        actor: Actor,
        access: "read" | "write",
        text: string,
        params: ReadonlyArray<string | null>,
        rollback = false
      ) =>
        FileOperation.pipe(
          Effect.flatMap((operation) =>
            main.run(actor, { text, params, access, rollback, operation, prepare: false, freshPlans: true })
          ),
          Effect.mapError(asStorageError(exists))
        )

      const versionOf = ({ bucket_id, name, version }: FileRecord): FileVersion => ({
        bucket: bucket_id,
        name,
        version: version ?? ""
      })

      const find = (actor: Actor, { bucket, name }: FileName) =>
        Effect.flatMap(
          run(
            actor,
            "read",
            `select (select ${recordSql("o")}::text from storage.objects o where bucket_id = $1 and name = $2)`,
            [bucket, name]
          ),
          ([text]) => (typeof text === "string" ? Effect.orDie(decode(text)) : Effect.fail(noObject))
        )

      const mayWrite = (actor: Actor, { bucket, name }: FileName, upsert: boolean) =>
        Effect.asVoid(run(actor, "write", trySql(upsert), [bucket, name, actor.sub, randomUUID()], true))

      const limitOf = Effect.fnUntraced(function* ({
        bucket,
        contentType,
        name
      }: Pick<Upload, "bucket" | "name" | "contentType">) {
        if (!isObjectName(name)) return yield* invalidKey(name)
        const { allowed_mime_types, file_size_limit } = yield* buckets.find(bucket)
        if (!acceptsType(allowed_mime_types, contentType)) {
          return yield* new UnsupportedMediaType({
            error: `mime type ${contentType.slice(0, 100)} is not supported`,
            code: "InvalidMimeType"
          })
        }
        return Math.min(maxBytes, file_size_limit ?? maxBytes)
      })

      /** Writes bytes as a new version, then the row as the owner, and removes the bytes of the version before. */
      const put = <E extends ClientError>(
        actor: Actor,
        upload: Upload,
        bytes: Stream.Stream<Uint8Array, E>,
        limit: number
      ) =>
        Effect.gen(function* () {
          const place = { bucket: upload.bucket, name: upload.name, version: randomUUID() }
          const { etag, size } = yield* store.write(place, upload.contentType, atMost(bytes, limit), limit)
          const metadata = {
            eTag: etag.startsWith('"') ? etag : `"${etag}"`,
            size,
            mimetype: upload.contentType,
            cacheControl: upload.cacheControl,
            lastModified: new Date(clock.currentTimeMillisUnsafe()).toISOString(),
            contentLength: size,
            httpStatusCode: 200
          }
          const written = run(serviceActor, "write", putSql(upload.upsert), [
            upload.bucket,
            upload.name,
            actor.sub,
            place.version,
            JSON.stringify(metadata),
            upload.userMetadata === undefined ? null : JSON.stringify(upload.userMetadata)
          ])
          const [id, before] = yield* Effect.tapError(written, () => store.remove([place]))
          if (typeof before === "string") yield* store.remove([{ ...place, version: before }])
          return { id: String(id), name: upload.name }
        })

      const copy = Effect.fn("Files.copy")(function* (
        actor: Actor,
        from: FileName,
        to: FileName,
        upsert: boolean,
        replacement: Replacement | undefined
      ) {
        const source = yield* find(actor, from)
        const { metadata, user_metadata } = source
        const contentType = replacement?.contentType ?? String(metadata?.["mimetype"] ?? "application/octet-stream")
        const limit = yield* limitOf({ ...to, contentType })
        yield* mayWrite(actor, to, upsert)
        const cacheControl = replacement?.cacheControl ?? String(metadata?.["cacheControl"] ?? "no-cache")
        const userMetadata = replacement === undefined ? (user_metadata ?? undefined) : replacement.userMetadata
        const upload = { ...to, contentType, cacheControl, userMetadata, upsert }
        return yield* put(actor, upload, store.read(versionOf(source)), limit)
      })

      const remove = Effect.fnUntraced(function* (actor: Actor, bucket: string, names: ReadonlyArray<string>) {
        const [text] = yield* run(actor, "write", removeSql, [bucket, JSON.stringify(names)])
        const removed = yield* Effect.orDie(decodeAll(text))
        yield* store.remove(removed.map(versionOf))
        return removed
      })

      const visibleSql = `select coalesce(jsonb_agg(name), '[]')::text from storage.objects
        where bucket_id = $1 and name in (select value from jsonb_array_elements_text($2::jsonb))`

      return Files.of({
        find,
        visible: (actor, bucket, names) =>
          Effect.map(
            run(actor, "read", visibleSql, [bucket, JSON.stringify(names)]),
            ([found]) => new Set(JSON.parse(String(found)) as ReadonlyArray<string>)
          ),
        mayWrite,
        upload: Effect.fn("Files.upload")(function* (actor, upload, bytes, checked) {
          const limit = yield* limitOf(upload)
          if (!checked) yield* mayWrite(actor, upload, upload.upsert)
          return yield* put(actor, upload, bytes, limit)
        }),
        prepare: Effect.fn("Files.prepare")(function* (actor, upload, size, checked) {
          if (size > (yield* limitOf(upload))) return yield* tooLarge
          if (!checked) yield* mayWrite(actor, upload, upload.upsert)
        }),
        bytes: (found, range) => store.read(versionOf(found), range),
        list: Effect.fn("Files.list")(function* (actor, bucket, listing) {
          yield* buckets.find(bucket)
          const { params, text } = listSql(bucket, listing)
          const [rows] = yield* run(actor, "read", text, params)
          return String(rows)
        }),
        listV2: Effect.fn("Files.listV2")(function* (actor, bucket, listing) {
          yield* buckets.find(bucket)
          const { params, text } = listV2Sql(bucket, listing)
          const [rows] = yield* run(actor, "read", text, params)
          return String(rows)
        }),
        copy,
        move: Effect.fn("Files.move")(function* (actor, from, to) {
          const params = [from.bucket, from.name, to.bucket, to.name]
          const found = yield* find(actor, from)
          const contentType = String(found.metadata?.["mimetype"] ?? "application/octet-stream")
          const limit = yield* limitOf({ ...to, contentType })
          // Undone until the bytes are in their new place.
          const [may] = yield* run(actor, "write", moveSql(false), params, true)
          if (typeof may !== "string") return yield* noObject
          const place = { ...to, version: randomUUID() }
          yield* store.write(place, contentType, store.read(versionOf(found)), limit)
          const moved = run(serviceActor, "write", moveSql(true), [...params, found.version, place.version])
          const [id] = yield* Effect.tapError(moved, () => store.remove([place]))
          // It was replaced or removed meanwhile.
          yield* store.remove([typeof id === "string" ? versionOf(found) : place])
          return typeof id === "string" ? { id, name: to.name } : yield* noObject
        }),
        remove: Effect.fn("Files.remove")(function* (actor, bucket, names) {
          yield* buckets.find(bucket)
          return yield* remove(actor, bucket, names)
        }),
        empty: Effect.fn("Files.empty")(function* (actor, bucket) {
          yield* buckets.get(actor, bucket)
          const text = `select coalesce(jsonb_agg(name), '[]')::text from (select name from storage.objects where bucket_id = $1 limit 1000) o`
          for (;;) {
            const [names] = yield* run(actor, "read", text, [bucket])
            const some = JSON.parse(String(names)) as ReadonlyArray<string>
            const removed = some.length === 0 ? [] : yield* remove(actor, bucket, some)
            // Policies may let a caller see what it can't delete.
            if (removed.length === 0) return
          }
        })
      })
    })
  )
}

/** Fails once the stream has more bytes. */
export const atMost = <E>(
  bytes: Stream.Stream<Uint8Array, E>,
  limit: number
): Stream.Stream<Uint8Array, E | PayloadTooLarge> =>
  Stream.suspend(() => {
    let length = 0
    return Stream.mapEffect(bytes, (chunk) => {
      length += chunk.length
      return length > limit ? Effect.fail(tooLarge) : Effect.succeed(chunk)
    })
  })
