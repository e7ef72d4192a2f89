import { Schema } from "effect"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { JsonObjectSchema } from "../../domain/text/JsonObjectSchema.ts"
import { ownerSql } from "./FileBuckets.ts"

/** A row of storage.objects. */
export const FileRecord = Schema.Struct({
  id: Schema.String,
  bucket_id: Schema.String,
  name: Schema.String,
  version: Schema.NullOr(Schema.String),
  metadata: Schema.NullOr(JsonObjectSchema),
  user_metadata: Schema.NullOr(JsonObjectSchema),
  created_at: Schema.NullOr(Schema.String),
  updated_at: Schema.NullOr(Schema.String)
})
export type FileRecord = typeof FileRecord.Type

/** Times of an entry of a list, with three digits of a second. */
const timesSql = ["updated_at", "created_at", "last_accessed_at"].map((name) => `'${name}', ${isoSql(name)}`).join(", ")

/** SQL of a row as a `FileRecord`. */
export const recordSql = (row: string) =>
  `jsonb_build_object('id', ${row}.id, 'bucket_id', ${row}.bucket_id, 'name', ${row}.name, 'version', ${row}.version,
    'metadata', ${row}.metadata, 'user_metadata', ${row}.user_metadata, 'created_at', ${isoSql(`${row}.created_at`)},
    'updated_at', ${isoSql(`${row}.updated_at`)})`

/** Inserts or replaces an object's row. The version before is read first, and its row locked. */
export const putSql = (
  upsert: boolean
) => `with o as materialized (select version from storage.objects where bucket_id = $1 and name = $2 for update),
  w as (insert into storage.objects (bucket_id, name, owner, owner_id, version, metadata, user_metadata)
    select $1, $2, ${ownerSql("$3::text")}, $4, $5::jsonb, $6::jsonb from (select count(*) from o) c
    ${
      upsert
        ? `on conflict (bucket_id, name) do update set version = excluded.version, metadata = excluded.metadata,
      user_metadata = excluded.user_metadata, owner = excluded.owner, owner_id = excluded.owner_id,
      updated_at = now(), last_accessed_at = now()`
        : ""
    }
    returning id::text)
  select (select id from w), (select version from o)`

/** UPDATE is the right to move an object. With $5, only if its bytes are still of that version. */
export const moveSql = (
  bytes: boolean
) => `with u as (update storage.objects set bucket_id = $3, name = $4, updated_at = now()
    ${bytes ? ", version = $6" : ""}
  where bucket_id = $1 and name = $2 ${bytes ? "and version is not distinct from $5" : ""} returning id)
  select (select id::text from u)`

/** Tries the caller's write, which is rolled back: the row is written once the bytes are. */
export const trySql = (upsert: boolean) => `with w as (
  insert into storage.objects (bucket_id, name, owner, owner_id, version, metadata)
  values ($1, $2, ${ownerSql("$3::text")}, $4, '{}')
  ${upsert ? "on conflict (bucket_id, name) do update set version = excluded.version" : ""}
  returning id) select (select id::text from w)`

export const removeSql = `with d as (delete from storage.objects where bucket_id = $1 and name in (select value from jsonb_array_elements_text($2::jsonb))
  returning *) select coalesce(jsonb_agg(${recordSql("d")}), '[]')::text from d`

/** Objects of one folder. */
export interface FileListing {
  /** The folder's path; "" for the bucket itself. */
  readonly prefix: string
  /** A prefix of names in the folder; case is ignored. */
  readonly search: string
  readonly limit: number
  readonly offset: number
  readonly column: "name" | "created_at" | "updated_at" | "last_accessed_at"
  readonly descending: boolean
}

/**
 * The objects and folders in a folder, as JSON text of one array. Names are relative to the folder; folders have no id. By
 * name, folders stand among the objects, else before them.
 */
export const listSql = (bucket: string, { column, descending, limit, offset, prefix, search }: FileListing) => {
  const folder = prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`
  const direction = descending ? "desc" : "asc"
  const order =
    column === "name" ? `lower(name) ${direction}, name ${direction}` : `${column} ${direction} nulls first, name`
  return {
    text: `with o as (
        select substr(name, length($2) + 1) as rest, id, updated_at, created_at, last_accessed_at, metadata from storage.objects
        where bucket_id = $1 and starts_with(name, $2) and starts_with(lower(substr(name, length($2) + 1)), lower($3))),
      entries as (
        select rest as name, id, updated_at, created_at, last_accessed_at, metadata from o where position('/' in rest) = 0
        union all
        select distinct split_part(rest, '/', 1), null::uuid, null::timestamptz, null::timestamptz, null::timestamptz, null::jsonb
        from o where position('/' in rest) > 0),
      page as (select *, row_number() over (order by ${order}) as n from entries order by n limit $4::int offset $5::int)
      select coalesce(jsonb_agg(jsonb_build_object('name', name, 'id', id, ${timesSql}, 'metadata', metadata) order by n), '[]')::text from page`,
    params: [bucket, folder, search, String(limit), String(offset)]
  }
}

/** The start of a page of `ListingV2`: after an entry, by its time, if that is the order, and its name. */
interface ListingCursor {
  readonly at: string
  readonly name: string
}

/** Objects whose names begin with a prefix; with `folders`, names end at the next slash. */
export interface ListingV2 {
  readonly prefix: string
  readonly folders: boolean
  readonly limit: number
  readonly column: "name" | "created_at" | "updated_at"
  readonly descending: boolean
  readonly after: ListingCursor | undefined
}

/**
 * Lists entries as JSON text: one array of at most `limit + 1` entries, of which folders have no id; `at` is for the
 * cursor.
 */
export const listV2Sql = (bucket: string, { after, column, descending, folders, limit, prefix }: ListingV2) => {
  const [direction, behind] = descending ? ["desc", "<"] : ["asc", ">"]
  const at = column === "name" ? "'-infinity'::timestamptz" : `coalesce(${column}, '-infinity')`
  const isFolder = folders ? "position('/' in substr(name, length($2) + 1)) > 0" : "false"
  return {
    text: `with o as (select *, ${isFolder} as inside from storage.objects where bucket_id = $1 and starts_with(name, $2)),
      entries as (
        select ${at} as at, name collate "C" as name, id, updated_at, created_at, last_accessed_at, metadata from o where not inside
        union all
        select distinct '-infinity'::timestamptz, ($2 || split_part(substr(name, length($2) + 1), '/', 1) || '/') collate "C",
          null::uuid, null::timestamptz, null::timestamptz, null::timestamptz, null::jsonb from o where inside),
      page as (select * from entries where $4::text is null or (at, name) ${behind} ($4::timestamptz, $5::text)
        order by at ${direction}, name ${direction} limit $3::int + 1)
      select coalesce(jsonb_agg(jsonb_build_object('at', at::text, 'name', name, 'id', id, ${timesSql}, 'metadata', metadata)
        order by at ${direction}, name ${direction}), '[]')::text from page`,
    params: [bucket, prefix, String(limit), after?.at ?? null, after?.name ?? null]
  }
}
