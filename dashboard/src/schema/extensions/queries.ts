import { useQuery } from "@tanstack/react-query"
import { call } from "../../wire/call.ts"

export interface Extension {
  readonly name: string
  readonly comment: string | null
  /** Undefined: it is not created in this database. */
  readonly installed: string | null
  readonly schema: string | null
  /** Null: its files are no longer on the server. */
  readonly offered: string | null
  readonly versions: ReadonlyArray<string>
  /** Versions to which the installed one can be updated. */
  readonly updates: ReadonlyArray<string>
  /** Only a superuser may create it. */
  readonly superuser: boolean
  /** The schema that it prescribes. */
  readonly fixed_schema: string | null
  readonly requires: ReadonlyArray<string>
}

interface Extensions {
  readonly superuser: boolean
  readonly preloaded: ReadonlyArray<string>
  readonly schemas: ReadonlyArray<string>
  readonly list: ReadonlyArray<Extension>
}

const listSql = `select
  (select rolsuper from pg_roles where rolname = current_user) as superuser,
  (select coalesce(json_agg(btrim(x, ' "')), '[]')
   from string_to_table(current_setting('shared_preload_libraries'), ',') x where btrim(x) <> '') as preloaded,
  (select json_agg(n.nspname order by n.nspname) from pg_namespace n
   where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'svc', 'svc_ddl')) as schemas,
  (select coalesce(json_agg(json_build_object(
     'name', coalesce(e.extname, a.name), 'comment', coalesce(obj_description(e.oid, 'pg_extension'), a.comment),
     'installed', e.extversion, 'schema', n.nspname, 'offered', a.default_version,
     'versions', (select coalesce(json_agg(v.version order by v.version = a.default_version desc, v.version desc), '[]')
       from pg_available_extension_versions v where v.name = a.name),
     'updates', case when e.oid is null or a.name is null then '[]' else (
       select coalesce(json_agg(u.target order by u.target = a.default_version desc, u.target desc), '[]')
       from pg_extension_update_paths(a.name) u where u.source = e.extversion and u.path is not null) end,
     'superuser', coalesce(d.superuser and not d.trusted, false),
     'fixed_schema', d.schema, 'requires', coalesce(to_json(d.requires), '[]')) order by coalesce(e.extname, a.name)), '[]')
   from pg_available_extensions a full join pg_extension e on e.extname = a.name
     left join pg_namespace n on n.oid = e.extnamespace
     left join pg_available_extension_versions d on d.name = a.name and d.version = a.default_version) as list`

export const useExtensions = () =>
  useQuery({
    queryKey: ["catalogue", "extensions"],
    queryFn: async ({ signal }) => {
      const { rows } = await call("POST /v1/sql", { payload: { sql: listSql, read_only: true }, signal })
      return rows[0] as unknown as Extensions
    },
    staleTime: 30_000
  })

/** Extensions that do nothing, or refuse to be created, unless the server loads their library when it starts. */
export const needsPreload: ReadonlySet<string> = new Set([
  "citus",
  "pg_cron",
  "pg_stat_statements",
  "pgaudit",
  "timescaledb"
])

/** Extensions that are often asked for and that PostgreSQL does not bring along, with their documentation. */
export const wellKnown: ReadonlyArray<readonly [name: string, what: string, docs: string]> = [
  ["vector", "Vectors, and searches for those that are near", "https://github.com/pgvector/pgvector"],
  ["postgis", "Places, lines and areas", "https://postgis.net/documentation/"],
  ["timescaledb", "Time series", "https://github.com/timescale/timescaledb"],
  ["pg_cron", "Jobs at given times", "https://github.com/citusdata/pg_cron"],
  ["pgmq", "Queues", "https://github.com/pgmq/pgmq"],
  ["hypopg", "Indexes that are tried without being built", "https://github.com/HypoPG/hypopg"],
  ["pg_partman", "Partitions by time or number", "https://github.com/pgpartman/pg_partman"],
  ["pgaudit", "A log of who read and wrote what", "https://github.com/pgaudit/pgaudit"],
  ["pg_repack", "Tables without the space of dead rows", "https://github.com/reorg/pg_repack"]
]

/** PostgreSQL's page on how extensions get onto a server. */
export const extensionDocs = "https://www.postgresql.org/docs/current/external-extensions.html"
