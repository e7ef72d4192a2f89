import { type CheckSql, finding, ofUsers, severity } from "./FindingSql.ts"

/** Bytes of a node below which an uneven distribution does not matter: 1 GiB. */
const muchOfNode = 1_073_741_824

const kindSql = `case when p.partmethod <> 'n' then 'distributed' when p.repmodel = 't' then 'reference'
  when p.colocationid <> 0 then 'schema' else 'local' end`

/** Where a Citus cluster keeps its tables. */
export const distributedTables: CheckSql = {
  kind: "distributed_table",
  sql: `
    select ${finding({
      severity: severity([`most >= ${muchOfNode} and most > 2 * size / nodes`, "warning"]),
      type: "'table'",
      schema: "nspname",
      name: "relname",
      explanation: `case kind
        when 'distributed' then format('Citus distributes its rows by the column %I: %s.%s', distribution_column, places,
          case when most > 2 * size / nodes and most >= ${muchOfNode}
            then ' One node has more than twice its share: move shards (select citus_rebalance_start()), unless few values have most rows' else '' end)
        when 'reference' then format('Each node of the Citus cluster has all its rows: %s.', places)
        when 'schema' then format('Citus keeps it whole, with its schema, on one node: %s.', places)
        else format('Citus keeps it on the coordinator: %s.', places) end`,
      details: { distribution_column: "distribution_column", shards: "shards", bytes: "size", nodes: "places" }
    })}
    from (
      select n.nspname, c.relname, ${kindSql} as kind,
        case when p.partmethod <> 'n' then column_to_column_name(p.logicalrelid, p.partkey) end as distribution_column,
        sum(s.shards)::int8 as shards, sum(s.size)::int8 as size, max(s.size)::int8 as most, count(*) as nodes,
        string_agg(format('%s on %s:%s', pg_size_pretty(s.size), s.nodename, s.nodeport), ', ' order by s.nodename, s.nodeport) as places
      from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid join pg_namespace n on n.oid = c.relnamespace
        join (select table_name, nodename, nodeport, count(*) as shards, sum(shard_size)::int8 as size
          from citus_shards group by table_name, nodename, nodeport) s on s.table_name = p.logicalrelid
      where ${ofUsers} group by n.nspname, c.relname, p.partmethod, p.repmodel, p.colocationid, p.logicalrelid, p.partkey
    ) t order by size desc, nspname, relname`
}
