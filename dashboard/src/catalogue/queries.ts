import { queryOptions, useQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

export type Catalogue = Wire["GET /v1/database/schema"]["success"]
export type Table = Catalogue["tables"][number]
export type Column = Table["columns"][number]
export type ForeignKey = Table["foreign_keys"][number]

export const catalogueQuery = queryOptions({
  queryKey: ["catalogue"],
  queryFn: ({ signal }) => call("GET /v1/database/schema", { signal }),
  staleTime: 30_000
})

export const useCatalogue = () => useQuery(catalogueQuery)

export const tableOf = (catalogue: Catalogue, schema: string, name: string): Table | undefined =>
  catalogue.tables.find((table) => table.schema === schema && table.name === name)

/** Tables whose changes can be sent to receivers and clients: always those of the main database. */
export const useWatchable = () =>
  useQuery({
    queryKey: ["realtime", "tables"],
    queryFn: ({ signal }) => call("GET /api/realtime/tables", { signal })
  })

/** What `/v1/database/schema` does not have. */
export interface Facts {
  /** Labels of enum types, by name. */
  readonly enums: Readonly<Record<string, ReadonlyArray<string>>>
  /** By `schema.table`. Rows and bytes, with indexes, as of the last VACUUM or ANALYZE; -1 rows before the first. */
  readonly sizes: Readonly<Record<string, { readonly rows: number; readonly bytes: number }>>
}

/** Blocks of a relation's indexes, as of the last VACUUM or ANALYZE. */
const indexBlocks = (oid: string) =>
  `(select coalesce(sum(i.relpages), 0) from pg_index x join pg_class i on i.oid = x.indexrelid where x.indrelid = ${oid})`

/** Takes no lock of a table: measuring the files of one that is locked would wait for it. */
const factsSql = `select
  (select coalesce(json_object_agg(name, labels), '{}')
   from (select format_type(t.oid, null) as name, json_agg(e.enumlabel order by e.enumsortorder) as labels
         from pg_enum e join pg_type t on t.oid = e.enumtypid group by t.oid) x) as enums,
  (select coalesce(json_object_agg(n.nspname || '.' || c.relname,
     json_build_object('rows', c.reltuples::bigint, 'bytes', current_setting('block_size')::bigint
       * (greatest(c.relpages, 0) + ${indexBlocks("c.oid")} + coalesce(t.relpages, 0) + ${indexBlocks("t.oid")}))), '{}')
   from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_class t on t.oid = c.reltoastrelid
   where c.relkind in ('r', 'p', 'm') and n.nspname not in ('pg_catalog', 'information_schema', 'svc', 'pg_toast')) as sizes`

export const useFacts = () =>
  useQuery({
    queryKey: ["facts"],
    queryFn: async ({ signal }) => {
      const { rows } = await call("POST /v1/sql", { payload: { sql: factsSql, read_only: true }, signal })
      return rows[0] as unknown as Facts
    },
    staleTime: 30_000
  })

/** Columns by which people recognise a row, the best first. */
const labels = ["name", "title", "label", "full_name", "email", "username", "slug", "sku", "code"]

/** The column that is shown beside references to a table: one of the usual names, else the first text that is no key. */
export const labelColumn = ({ columns, primary_key }: Table): string | undefined =>
  labels.find((name) => columns.some((column) => column.name === name)) ??
  columns.find(({ name, type }) => /^(?:text|character varying)/.test(type) && !primary_key.includes(name))?.name
