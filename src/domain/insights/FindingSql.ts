import { type Finding, type Kind } from "./Insight.ts"

/** A query for one kind of finding. Each of its rows is one JSON text, a `Found`. */
export interface CheckSql {
  readonly kind: Kind
  readonly sql: string
  /** Whether `$1` is the list of the exposed schemas. */
  readonly exposed?: boolean
}

/** Schemas of users: neither PostgreSQL's own nor the service's. `n` is pg_namespace. */
export const ofUsers = "n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'svc', 'svc_ddl')"

/** Whether a relation is not part of an extension, whose objects users do not change. */
export const notOfExtension = (oid: string) =>
  `not exists (select from pg_depend e where e.classid = 'pg_class'::regclass and e.objid = ${oid} and e.deptype = 'e')`

/** Severity by conditions of SQL, the first of which holds. */
export const severity = (...cases: ReadonlyArray<readonly [when: string, then: Finding["severity"]]>) =>
  `case ${cases.map(([when, then]) => `when ${when} then '${then}'`).join(" ")} else 'info' end`

/** The columns of a finding, each an expression of SQL. */
interface Columns {
  readonly severity: string
  readonly type: string
  readonly schema: string
  readonly name: string
  readonly table?: string
  readonly explanation: string
  readonly fix?: string
  readonly details?: Readonly<Record<string, string>>
}

export const finding = ({ details = {}, explanation, fix, name, schema, severity, table, type }: Columns) =>
  `json_build_object('severity', ${severity},
    'object', json_build_object('type', ${type}, 'schema', ${schema}, 'name', ${name}, 'table', ${table ?? "null"}),
    'explanation', ${explanation}, 'fix', ${fix ?? "null"},
    'details', json_build_object(${Object.entries(details)
      .map(([key, value]) => `'${key}', ${value}`)
      .join(", ")}))::text`
