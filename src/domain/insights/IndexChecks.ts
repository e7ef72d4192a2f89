import { type CheckSql, finding, notOfExtension, ofUsers, severity } from "./FindingSql.ts"

/** Blocks below which an index costs nothing worth a finding. */
const smallBlocks = 128

/** Rows from which reading a whole table is felt. */
const manyRows = 10_000

/** Whether the leading columns of the index `x` are those of the foreign key `k`, in any order. */
const supports = `x.indrelid = k.conrelid and x.indisvalid and x.indnkeyatts >= cardinality(k.conkey)
  and (x.indkey::int2[])[0:cardinality(k.conkey) - 1] @> k.conkey`

const bytesOf = (relation: string) => `${relation}.relpages::bigint * current_setting('block_size')::int`

const prettySize = (relation: string) => `pg_size_pretty(${bytesOf(relation)})`

export const indexChecks: ReadonlyArray<CheckSql> = [
  {
    kind: "foreign_key_without_index",
    sql: `
      select ${finding({
        severity: severity([`c.reltuples >= ${manyRows}`, "warning"]),
        type: "'foreign key'",
        schema: "n.nspname",
        name: "k.conname",
        table: "c.relname",
        explanation: `format('No index begins with %s: to delete or change a row of %s, PostgreSQL reads all of %I.%I, and so do embeds and joins.',
          u.columns, k.confrelid::regclass, n.nspname, c.relname)`,
        fix: `format('create index%s on %I.%I (%s);', case c.relkind when 'p' then '' else ' concurrently' end, n.nspname, c.relname, u.columns)`,
        details: { columns: "u.columns", rows_estimated: "greatest(c.reltuples::bigint, 0)" }
      })}
      from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
        cross join lateral (
          select string_agg(quote_ident(a.attname), ', ' order by u.position) as columns, min(quote_ident(a.attname)) as first
          from unnest(k.conkey) with ordinality u(num, position)
            join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.num) u
      where k.contype = 'f' and k.conparentid = 0 and ${ofUsers} and ${notOfExtension("c.oid")}
        and not exists (
          select from pg_index x where ${supports}
            and (x.indpred is null
              or cardinality(k.conkey) = 1 and pg_get_expr(x.indpred, x.indrelid) = format('(%s IS NOT NULL)', u.first)))
      order by c.reltuples desc, n.nspname, c.relname, k.conname`
  },
  {
    kind: "invalid_index",
    sql: `
      select ${finding({
        severity: severity(["true", "warning"]),
        type: "'index'",
        schema: "n.nspname",
        name: "i.relname",
        table: "t.relname",
        explanation: `format('No statement uses it, and every write maintains it: CREATE or REINDEX INDEX CONCURRENTLY on %I.%I has failed.', n.nspname, t.relname)`,
        fix: "format('reindex index concurrently %I.%I;', n.nspname, i.relname)"
      })}
      from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
        join pg_namespace n on n.oid = i.relnamespace
      where not x.indisvalid and i.relkind = 'i' and ${ofUsers}
        and not exists (select from pg_stat_progress_create_index p where p.index_relid = x.indexrelid)
      order by n.nspname, i.relname`
  },
  {
    kind: "duplicate_index",
    sql: `
      with candidates as (
        select x.*, i.relname, i.relam, i.relpages, t.relname as table_name, n.nspname,
          exists (select from pg_constraint k where k.conindid = x.indexrelid and k.contype <> 'f')
            or x.indisreplident or x.indisclustered as needed
        from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
          join pg_namespace n on n.oid = i.relnamespace
        where x.indisvalid and i.relkind = 'i' and not i.relispartition and ${ofUsers} and ${notOfExtension("i.oid")}
      )
      select ${finding({
        severity: severity([`d.relpages >= ${smallBlocks}`, "warning"]),
        type: "'index'",
        schema: "d.nspname",
        name: "d.relname",
        table: "d.table_name",
        explanation: `format('%I indexes the same as %I and takes %s; every write maintains both.', d.relname, min(o.relname), ${prettySize("d")})`,
        fix: "format('drop index concurrently %I.%I;', d.nspname, d.relname)",
        details: { same_as: "min(o.relname)", bytes_estimated: bytesOf("d") }
      })}
      from candidates d join candidates o on o.indrelid = d.indrelid and o.indexrelid <> d.indexrelid
        and o.relam = d.relam and o.indkey = d.indkey and o.indnkeyatts = d.indnkeyatts and o.indclass = d.indclass
        and o.indcollation = d.indcollation and o.indoption = d.indoption
        and pg_get_expr(o.indexprs, o.indrelid) is not distinct from pg_get_expr(d.indexprs, d.indrelid)
        and pg_get_expr(o.indpred, o.indrelid) is not distinct from pg_get_expr(d.indpred, d.indrelid)
        -- Of two, the one stays that something needs, then the unique one, then the older one.
        and (o.needed, o.indisunique, -o.indexrelid::bigint) > (d.needed, d.indisunique, -d.indexrelid::bigint)
      where not d.needed and (o.indisunique or not d.indisunique)
      group by d.indexrelid, d.nspname, d.relname, d.table_name, d.relpages
      order by d.relpages desc, d.nspname, d.relname`
  },
  {
    kind: "unused_index",
    sql: `
      select ${finding({
        severity: "'info'",
        type: "'index'",
        schema: "s.schemaname",
        name: "s.indexrelname",
        table: "s.relname",
        explanation: `format('No statement on this server has used it since the statistics began%s; it takes %s, and every write maintains it. Standbys count for themselves.',
          (select coalesce(' at ' || to_char(stats_reset at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'), '') from pg_stat_database where datname = current_database()),
          ${prettySize("i")})`,
        fix: "format('drop index concurrently %I.%I;', s.schemaname, s.indexrelname)",
        details: { bytes_estimated: bytesOf("i") }
      })}
      from pg_stat_user_indexes s join pg_index x on x.indexrelid = s.indexrelid join pg_class i on i.oid = s.indexrelid
        join pg_namespace n on n.oid = i.relnamespace join pg_stat_user_tables t on t.relid = s.relid
      where s.idx_scan = 0 and coalesce(t.seq_scan, 0) + coalesce(t.idx_scan, 0) > 0 and i.relpages >= ${smallBlocks}
        and x.indisvalid and not (x.indisunique or x.indisexclusion or x.indisreplident or x.indisclustered)
        and not i.relispartition and ${ofUsers} and ${notOfExtension("i.oid")}
        -- Without it, the foreign key would have none.
        and not exists (select from pg_constraint k where k.contype = 'f' and ${supports})
      order by i.relpages desc, s.schemaname, s.indexrelname`
  },
  {
    kind: "table_read_whole",
    sql: `
      select ${finding({
        severity: "'info'",
        type: "'table'",
        schema: "t.schemaname",
        name: "t.relname",
        explanation: `format('Statements have read it as a whole %s times, %s rows each, without an index: filters on it may need one.', t.seq_scan, t.seq_tup_read / t.seq_scan)`,
        details: { times: "t.seq_scan", rows_read: "t.seq_tup_read", rows_estimated: "t.n_live_tup" }
      })}
      from pg_stat_user_tables t join pg_namespace n on n.nspname = t.schemaname
      where t.n_live_tup >= ${manyRows} and t.seq_scan >= 100 and t.seq_tup_read / t.seq_scan >= t.n_live_tup / 2
        and t.seq_scan > coalesce(t.idx_scan, 0) and ${ofUsers} and ${notOfExtension("t.relid")}
      order by t.seq_tup_read desc, t.schemaname, t.relname`
  }
]
