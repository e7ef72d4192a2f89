import { useQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"

export interface Index {
  readonly name: string
  readonly definition: string
}
type Privilege = "SELECT" | "INSERT" | "UPDATE" | "DELETE"

/** What the schema of the API does not have of a table. */
export interface TableDetails {
  readonly indexes: ReadonlyArray<Index>
  readonly triggers: ReadonlyArray<Index>
  readonly checks: ReadonlyArray<Index>
  readonly grants: Readonly<Record<"anon" | "authenticated", ReadonlyArray<Privilege>>>
}

const grantsOf = (role: string) => `(select coalesce(json_agg(p), '[]')
  from unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p
  where exists (select from pg_roles where rolname = '${role}') and has_table_privilege('${role}', c.oid, p))`

const listOf = (rows: string) => `(select coalesce(json_agg(x order by x.name), '[]') from (${rows}) x)`

const detailsSql = `select coalesce(json_object_agg(n.nspname || '.' || c.relname, json_build_object(
  'indexes', ${listOf("select i.relname as name, pg_get_indexdef(i.oid) as definition from pg_index x join pg_class i on i.oid = x.indexrelid where x.indrelid = c.oid")},
  'triggers', ${listOf("select tgname as name, pg_get_triggerdef(t.oid) as definition from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal")},
  'checks', ${listOf("select conname as name, pg_get_constraintdef(k.oid) as definition from pg_constraint k where k.conrelid = c.oid and k.contype = 'c'")},
  'grants', json_build_object('anon', ${grantsOf("anon")}, 'authenticated', ${grantsOf("authenticated")})
)), '{}') as details
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'f') and n.nspname = any ($1)`

/** By `schema.table`. */
export const useDetails = (schemas: ReadonlyArray<string> | undefined) =>
  useQuery({
    queryKey: ["catalogue", "details", schemas],
    enabled: schemas !== undefined,
    queryFn: async ({ signal }) => {
      const payload = { sql: detailsSql, params: [schemas ?? []], read_only: true }
      const { rows } = await call("POST /v1/sql", { payload, signal })
      return rows[0]?.["details"] as unknown as Readonly<Record<string, TableDetails>>
    },
    staleTime: 30_000
  })

/** A name in SQL. */
export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`
