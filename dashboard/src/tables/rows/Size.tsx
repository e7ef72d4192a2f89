import { useQuery } from "@tanstack/react-query"
import { bytes } from "../../ui/format.ts"
import { call } from "../../wire/call.ts"

/** Measuring waits for the lock of a table: one that is locked now is not measured, and the rest may take 3 s. */
const sizeSql = `select sum(pg_total_relation_size(t.relid))::text as bytes
from pg_class c join pg_namespace n on n.oid = c.relnamespace
  cross join lateral (select relid from pg_partition_tree(c.oid) union select c.oid) t
where n.nspname = $1 and c.relname = $2
  and not exists (select from pg_locks l where l.relation = t.relid and l.mode = 'AccessExclusiveLock')`

interface SizeProps {
  readonly schema: string
  readonly name: string
}

/** What the table takes on the disk, with indexes and long values, as it is now. */
export const Size = ({ name, schema }: SizeProps) => {
  const { data } = useQuery({
    queryKey: ["catalogue", "size", schema, name],
    queryFn: async ({ signal }) => {
      const payload = { sql: sizeSql, params: [schema, name], read_only: true, timeout: 3000 }
      const { rows } = await call("POST /v1/sql", { payload, signal })
      return (rows[0]?.["bytes"] ?? null) as string | null
    },
    staleTime: 30_000,
    retry: false
  })
  return data == null ? null : <span className="only-wide">{bytes(Number(data))}</span>
}
