import { Schema } from "effect"
import { quoteName } from "../../sql/Names.ts"
import { type Candidate } from "./Candidates.ts"

/** Characters of a statement at most. */
const maxText = 20_000

export const AdviceRequest = Schema.Struct({
  /** One SELECT, UPDATE or DELETE, whose constants may be parameters. It is not executed. */
  statement: Schema.String.check(Schema.isBetweenLength(1, maxText))
})

/** How the cost with an index was found. */
const trials = ["hypothetical", "built", "estimate"] as const

export const Proposal = Schema.Struct({
  schema: Schema.String,
  table: Schema.String,
  columns: Schema.Array(Schema.String),
  /** Creates the index without stopping writes. It can't run in a transaction. */
  sql: Schema.String,
  /**
   * `hypothetical`: by the extension hypopg. `built`: the index was built in a transaction that was rolled back. `estimate`: by
   * the statistics of the columns, without a plan.
   */
  trial: Schema.Literals(trials),
  /** The planner's cost of the statement with the index. */
  cost: Schema.Finite,
  /** Of the index. */
  bytes: Schema.Finite,
  /** Of the table as it is, without indexes. */
  table_bytes: Schema.Finite,
  table_rows: Schema.Finite,
  /** Rows that are inserted, updated or deleted in a second, on average; each is a write of the index too. */
  writes_per_second: Schema.Finite
})
export type Proposal = typeof Proposal.Type

export const Advice = Schema.Struct({
  /** The planner's cost of the statement as it is. */
  cost: Schema.Finite,
  /** Indexes that would help, the most helpful first. */
  proposals: Schema.Array(Proposal),
  /** How many indexes were tried or estimated. */
  tried: Schema.Finite
})
export type Advice = typeof Advice.Type

/** What the service knows of a table that a statement names, as one row of `tableFactsSql` returns it in JSON. */
export const AdvisedTable = Schema.fromJsonString(
  Schema.Struct({
    asked: Schema.Struct({ schema: Schema.NullOr(Schema.String), name: Schema.String }),
    schema: Schema.String,
    name: Schema.String,
    /** Whether an index can be made without stopping writes. */
    plain: Schema.Boolean,
    rows: Schema.Finite,
    pages: Schema.Finite,
    bytes: Schema.Finite,
    writes_per_second: Schema.Finite,
    columns: Schema.Array(
      Schema.Struct({
        name: Schema.String,
        distinct: Schema.Finite,
        width: Schema.Finite,
        null_fraction: Schema.Finite
      })
    ),
    indexes: Schema.Array(Schema.Array(Schema.String))
  })
)
export type AdvisedTable = typeof AdvisedTable.Type

/** Describes the tables of `$1`, a JSON list of `{schema, name}`, of which a null schema is found by `$2`, a search path. */
export const tableFactsSql = `
  select pg_catalog.json_build_object(
    'asked', t.asked, 'schema', n.nspname, 'name', c.relname, 'plain', c.relkind = 'r',
    'rows', greatest(c.reltuples, 0), 'pages', greatest(c.relpages, 0),
    -- As of the last VACUUM or ANALYZE: measuring waits for a locked table.
    'bytes', greatest(c.relpages, 0)::bigint * pg_catalog.current_setting('block_size')::bigint,
    'writes_per_second', coalesce((s.n_tup_ins + s.n_tup_upd + s.n_tup_del)
      / greatest(1, extract(epoch from pg_catalog.clock_timestamp() - coalesce(d.stats_reset, pg_catalog.pg_postmaster_start_time())))::float8, 0),
    'columns', (
      select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('name', a.attname,
        -- Negative: a share of the rows.
        'distinct', case when p.n_distinct < 0 then -p.n_distinct * greatest(c.reltuples, 0) else coalesce(p.n_distinct, 0) end,
        'width', coalesce(p.avg_width, case when y.typlen > 0 then y.typlen else 32 end),
        'null_fraction', coalesce(p.null_frac, 0)) order by a.attnum), '[]')
      from pg_attribute a join pg_type y on y.oid = a.atttypid
        left join pg_stats p on p.schemaname = n.nspname and p.tablename = c.relname and p.attname = a.attname and not p.inherited
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        -- Types of users may have operators that are functions of theirs.
        and exists (select from pg_opclass o join pg_am m on m.oid = o.opcmethod
          where m.amname = 'btree' and o.opcdefault and o.opcnamespace = 'pg_catalog'::regnamespace
            and (o.opcintype = a.atttypid or y.typtype in ('b', 'e') and exists (
              select from pg_cast k where k.castsource = a.atttypid and k.casttarget = o.opcintype and k.castmethod = 'b' and k.castcontext = 'i')
              or y.typtype = 'e' and o.opcintype = 'anyenum'::regtype))),
    'indexes', (
      select coalesce(pg_catalog.json_agg((select pg_catalog.json_agg(a.attname order by u.at)
        from pg_catalog.unnest(x.indkey::int2[]) with ordinality u(number, at)
          join pg_attribute a on a.attrelid = x.indrelid and a.attnum = u.number where u.at <= x.indnkeyatts)), '[]')
      from pg_index x join pg_class i on i.oid = x.indexrelid join pg_am m on m.oid = i.relam
      where x.indrelid = c.oid and x.indisvalid and x.indpred is null and x.indexprs is null and m.amname = 'btree')
    )::text
  from pg_catalog.json_array_elements($1::json) t(asked)
    join pg_class c on c.relkind in ('r', 'p', 'm') and c.relname = t.asked ->> 'name'
    join pg_namespace n on n.oid = c.relnamespace
    left join pg_stat_user_tables s on s.relid = c.oid
    left join pg_stat_database d on d.datname = pg_catalog.current_database()
  where n.nspname = coalesce(t.asked ->> 'schema', (
      select x.schema from pg_catalog.unnest($2::text[]) with ordinality x(schema, at)
        join pg_namespace o on o.nspname = x.schema join pg_class r on r.relnamespace = o.oid and r.relname = t.asked ->> 'name'
      order by x.at limit 1))
    and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'svc', 'svc_ddl')`

/** A node of EXPLAIN (VERBOSE, FORMAT JSON), as far as it is used. */
interface PlanNode {
  readonly "Node Type": string
  readonly "Total Cost": number
  readonly "Relation Name"?: string
  readonly Schema?: string
  readonly Plans?: ReadonlyArray<PlanNode>
}
const PlanNode: Schema.Codec<PlanNode> = Schema.Struct({
  "Node Type": Schema.String,
  "Total Cost": Schema.Finite,
  "Relation Name": Schema.optionalKey(Schema.String),
  Schema: Schema.optionalKey(Schema.String),
  Plans: Schema.optionalKey(Schema.Array(Schema.suspend((): Schema.Codec<PlanNode> => PlanNode)))
})
export const Explained = Schema.fromJsonString(Schema.Tuple([Schema.Struct({ Plan: PlanNode })]))

/** What reading a table as a whole costs in a plan; undefined if none of its nodes does. */
export const wholeReadCost = (
  plan: PlanNode,
  { name, schema }: Pick<AdvisedTable, "name" | "schema">
): number | undefined => {
  const left: Array<PlanNode> = [plan]
  let cost: number | undefined
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    left.push(...(node.Plans ?? []))
    if (node["Node Type"] !== "Seq Scan" || node["Relation Name"] !== name || node.Schema !== schema) continue
    cost = Math.max(cost ?? 0, node["Total Cost"])
  }
  return cost
}

const indexed = ({ columns, descending, equal, schema, table }: Candidate) =>
  `on ${quoteName(schema)}.${quoteName(table)} (${columns
    .map((name) => `${quoteName(name)}${descending && !equal.includes(name) ? " desc" : ""}`)
    .join(", ")})`

/** The name of an index that is built for a trial, and never committed. */
export const trialName = "svc_advice_trial"

/** The statement that makes an index as a trial. */
export const trialSql = (candidate: Candidate) => `create index ${trialName} ${indexed(candidate)}`

/** The statement that makes it for good. `plain`: it is a table, not one with partitions. */
export const indexSql = (candidate: Candidate, plain: boolean) =>
  `create index${plain ? " concurrently" : ""} ${indexed(candidate)}`

/** Bytes of an entry of a B-tree beside its values, and the share of a page that is filled. */
const [entryBytes, filled] = [20, 0.9]

/** The size of an index by the statistics of its columns. */
export const estimatedBytes = (candidate: Candidate, { columns, rows }: AdvisedTable) => {
  const width = candidate.columns.reduce(
    (sum, name) => sum + (columns.find((column) => column.name === name)?.width ?? 8),
    entryBytes
  )
  return Math.round((rows * width) / filled)
}

/** The planner's default costs of a page that is read anywhere, and of a row. */
const [randomPage, perRow] = [4, 0.015]

/** What reading a table by an index costs, by the statistics of the columns that are compared for equality. */
export const estimatedCost = (candidate: Candidate, { columns, pages, rows }: AdvisedTable): number | undefined => {
  const share = candidate.equal.reduce((part, name) => {
    const column = columns.find((one) => one.name === name)
    return column === undefined || column.distinct < 1 ? part : (part * (1 - column.null_fraction)) / column.distinct
  }, 1)
  // A range or an order says nothing of how much is read.
  if (share === 1) return undefined
  const read = rows * share
  return Math.round((2 * randomPage + Math.min(pages, read) * randomPage + read * perRow) * 100) / 100
}
