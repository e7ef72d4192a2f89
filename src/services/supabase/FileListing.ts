/** Objects of one folder. */
export interface FileListing {
  /** The folder's path; "" for the bucket itself. */
  readonly prefix: string
  /** What names in the folder begin with, in any case. */
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
      select coalesce(jsonb_agg(jsonb_build_object('name', name, 'id', id, 'updated_at', updated_at, 'created_at', created_at,
        'last_accessed_at', last_accessed_at, 'metadata', metadata) order by n), '[]')::text from page`,
    params: [bucket, folder, search, String(limit), String(offset)]
  }
}
