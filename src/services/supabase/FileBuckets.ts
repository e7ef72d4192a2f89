import { Context, Effect, Layer, Schema } from "effect"
import { type ClientError, Conflict, DatabaseError, Forbidden, NotFound } from "../../domain/errors.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { type Actor, Db, serviceActor } from "../ports/Db.ts"

/** A row of storage.buckets, as clients get it. */
export const FileBucket = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  owner: Schema.NullOr(Schema.String),
  public: Schema.Boolean,
  file_size_limit: Schema.NullOr(Schema.Int),
  allowed_mime_types: Schema.NullOr(Schema.Array(Schema.String)),
  created_at: Schema.String,
  updated_at: Schema.String
})
export type FileBucket = typeof FileBucket.Type

/** The settings of a bucket; absent ones stay, or get their default. */
export interface BucketChange {
  readonly public?: boolean | undefined
  readonly file_size_limit?: number | null | undefined
  readonly allowed_mime_types?: ReadonlyArray<string> | null | undefined
}

export interface BucketPage {
  readonly limit: number
  readonly offset: number
  readonly search: string
  readonly column: "id" | "name" | "created_at" | "updated_at"
  readonly descending: boolean
}

const json = (row: string) =>
  `jsonb_build_object('id', ${row}.id, 'name', ${row}.name, 'owner', coalesce(${row}.owner_id, ${row}.owner::text),
    'public', coalesce(${row}.public, false), 'file_size_limit', ${row}.file_size_limit, 'allowed_mime_types', ${row}.allowed_mime_types,
    'created_at', ${isoSql(`${row}.created_at`)}, 'updated_at', ${isoSql(`${row}.updated_at`)})`

export const noBucket = new NotFound({ error: "Bucket not found", code: "NoSuchBucket" })
const taken = new Conflict({ error: "The resource already exists", code: "BucketAlreadyExists" })

/** Errors of statements that run as the caller, with the codes of storage. `23505`: what the caller wrote exists. */
export const asStorageError =
  (exists: Conflict) =>
  <E>(error: E): E | Forbidden | Conflict => {
    if (!(error instanceof DatabaseError)) return error
    if (error.code === "42501") return new Forbidden({ error: error.error, code: "AccessDenied" })
    return error.code === "23505" ? exists : error
  }

/** Supabase's name of the caller's operation, which policies can read: `storage.object.upload`. */
export const FileOperation = Context.Reference<string | undefined>("svc/services/FileOperation", {
  defaultValue: () => undefined
})

const uuid = "^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"

/** SQL of the columns owner and owner_id for a parameter with the caller's `sub`. */
export const ownerSql = (param: string) =>
  `case when ${param} ~ '${uuid}' then ${param}::uuid end, nullif(${param}, '')`

type Answer<A> = Effect.Effect<A, ClientError>

/** Buckets of `/storage/v1`, under the policies of storage.buckets. */
export class FileBuckets extends Context.Service<
  FileBuckets,
  {
    /** JSON text of an array. */
    readonly list: (actor: Actor, page: BucketPage) => Answer<string>
    readonly get: (actor: Actor, id: string) => Answer<FileBucket>
    /** Finds a bucket as the owner, whatever the policies are. */
    readonly find: (id: string) => Answer<FileBucket>
    readonly create: (actor: Actor, id: string, change: BucketChange) => Answer<void>
    readonly update: (actor: Actor, id: string, change: BucketChange) => Answer<void>
    /** Conflict ResourceNotEmpty if it has objects. */
    readonly remove: (actor: Actor, id: string) => Answer<void>
  }
>()("svc/services/FileBuckets") {
  static readonly layer = Layer.effect(
    FileBuckets,
    Effect.gen(function* () {
      const { main } = yield* Db
      const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(FileBucket))

      const one = (actor: Actor, access: "read" | "write", text: string, params: ReadonlyArray<string | null>) =>
        FileOperation.pipe(
          Effect.flatMap((operation) =>
            main.run(actor, { text, params, access, operation, prepare: false, freshPlans: true })
          ),
          Effect.mapError(asStorageError(taken)),
          Effect.map(([value]) => (typeof value === "string" ? value : undefined))
        )
      const existing = <A>(found: A | undefined) =>
        found === undefined ? Effect.fail(noBucket) : Effect.succeed(found)

      const read = (actor: Actor, id: string) =>
        one(actor, "read", `select (select ${json("b")}::text from storage.buckets b where id = $1)`, [id]).pipe(
          Effect.flatMap(existing),
          Effect.flatMap((text) => Effect.orDie(decode(text)))
        )

      const types = ({ allowed_mime_types: all }: BucketChange) => (all == null ? null : JSON.stringify(all))
      const given = (value: unknown) => String(value !== undefined)

      return FileBuckets.of({
        list: (actor, { column, descending, limit, offset, search }) =>
          Effect.map(
            one(
              actor,
              "read",
              `select coalesce(jsonb_agg(t.j order by t.n), '[]')::text from (
                 select ${json("b")} as j, row_number() over (order by ${column} ${descending ? "desc" : "asc"}) as n
                 from storage.buckets b where position(lower($3) in lower(b.name)) > 0 or $3 = ''
                 order by n limit $1::int offset $2::int) t`,
              [String(limit), String(offset), search]
            ),
            (text) => text ?? "[]"
          ),
        get: read,
        find: (id) => read(serviceActor, id),
        create: (actor, id, change) =>
          Effect.asVoid(
            one(
              actor,
              "write",
              `insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types, owner, owner_id)
               values ($1, $1, coalesce($2::boolean, false), $3::bigint,
                 (select array_agg(value) from jsonb_array_elements_text($4::jsonb)), ${ownerSql("$5::text")}) returning id`,
              [
                id,
                String(change.public ?? false),
                change.file_size_limit == null ? null : String(change.file_size_limit),
                types(change),
                actor.sub
              ]
            )
          ),
        update: (actor, id, change) =>
          one(
            actor,
            "write",
            `with u as (update storage.buckets set updated_at = now(), public = case when $2::boolean then $3::boolean else public end,
               file_size_limit = case when $4::boolean then $5::bigint else file_size_limit end,
               allowed_mime_types = case when $6::boolean
                 then (select array_agg(value) from jsonb_array_elements_text($7::jsonb)) else allowed_mime_types end
               where id = $1 returning id) select (select id from u)`,
            [
              id,
              given(change.public),
              change.public === undefined ? null : String(change.public),
              given(change.file_size_limit),
              change.file_size_limit == null ? null : String(change.file_size_limit),
              given(change.allowed_mime_types),
              types(change)
            ]
          ).pipe(Effect.flatMap(existing), Effect.asVoid),
        remove: Effect.fn("FileBuckets.remove")(function* (actor, id) {
          yield* read(actor, id)
          const text = "select exists (select from storage.objects where bucket_id = $1)::text"
          if ((yield* one(serviceActor, "read", text, [id])) === "true") {
            return yield* new Conflict({
              error: "The bucket you tried to delete is not empty",
              code: "ResourceNotEmpty"
            })
          }
          const removed = "with d as (delete from storage.buckets where id = $1 returning id) select (select id from d)"
          yield* Effect.flatMap(one(actor, "write", removed, [id]), existing)
        })
      })
    })
  )
}
