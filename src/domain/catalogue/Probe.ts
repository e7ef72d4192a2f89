/**
 * A relation that each database has, and whose rows each role may read: for reads of the service's own. Clients cannot name
 * its schema, because it is never exposed.
 */
export const probed = { schema: "pg_catalog", table: "pg_namespace" } as const

const column = { generated: false, domain: false, casts: null, kind: "other" } as const

const columns = [
  { ...column, name: "oid", type: "oid", type_oid: 26 },
  { ...column, name: "nspname", type: "name", type_oid: 19 }
]

export const probedRelation = {
  schema: probed.schema,
  name: probed.table,
  stamp: "",
  columns,
  byName: new Map(columns.map((one) => [one.name, one])),
  primary_key: ["oid"],
  formatted: false,
  clean_read: true,
  clean_insert: false,
  clean_change: false,
  all_rows: true,
  kind: "table",
  computed: []
} as const
