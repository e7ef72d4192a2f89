import { Schema } from "effect"
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

/** SQL of a row as a `FileRecord`. */
export const recordSql = (row: string) =>
  `jsonb_build_object('id', ${row}.id, 'bucket_id', ${row}.bucket_id, 'name', ${row}.name, 'version', ${row}.version,
    'metadata', ${row}.metadata, 'user_metadata', ${row}.user_metadata, 'created_at', ${row}.created_at, 'updated_at', ${row}.updated_at)`

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
