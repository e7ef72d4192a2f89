import { firstOid } from "./CleanFunctions.ts"

/**
 * How the proof judges a column of PostgreSQL's catalogue that names a function or holds an expression, for statements
 * that read and that write. `tree`: SELECT of the kind and oid (see `cleanSql`) of what evaluates the expression, and the
 * expression. `judged`: the part of `cleanSql` or of the catalogue query that looks at it. `administrators`: only they can
 * set it, and only to functions in C.
 */
type Way = { readonly tree: string } | { readonly judged: string } | { readonly administrators: true }

const administrators: Way = { administrators: true }
const aggregates: Way = { judged: "own, of built-in aggregates; not callable, of the user's" }

/** Every way in which PostgreSQL runs a function that a statement does not name; `schema.table` is `pg_catalog.…`. */
export const ways: Readonly<Record<string, Way>> = {
  "pg_aggregate.aggcombinefn": aggregates,
  "pg_aggregate.aggdeserialfn": aggregates,
  "pg_aggregate.aggfinalfn": aggregates,
  "pg_aggregate.aggfnoid": aggregates,
  "pg_aggregate.aggmfinalfn": aggregates,
  "pg_aggregate.aggminvtransfn": aggregates,
  "pg_aggregate.aggmtransfn": aggregates,
  "pg_aggregate.aggserialfn": aggregates,
  "pg_aggregate.aggtransfn": aggregates,
  "pg_am.amhandler": administrators,
  "pg_amproc.amproc": { judged: "own, for operator classes of built-in types and enums; other types are not plain" },
  // Virtual generated columns are evaluated when they are read, others when a row is written.
  "pg_attrdef.adbin": {
    tree: `select case a.attgenerated when 'v' then 'r' else 'w' end, d.adrelid, d.adbin::text
    from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum`
  },
  "pg_cast.castfunc": { judged: "own, between plain types; plain_types, readable and bodies, of enums and rows" },
  "pg_class.relpartbound": { judged: "readable and writable, which exclude partitions" },
  "pg_constraint.conbin": {
    tree: `select 'c', conrelid, conbin::text from pg_constraint where conbin is not null and conrelid >= ${firstOid}`
  },
  "pg_conversion.conproc": administrators,
  "pg_event_trigger.evtfoid": { judged: "of DDL, which no statement is; of logins, before any caller is known" },
  "pg_foreign_data_wrapper.fdwhandler": administrators,
  "pg_foreign_data_wrapper.fdwvalidator": administrators,
  // The planner reads the expressions of indexes for every statement, and evaluates their constant parts.
  "pg_index.indexprs": {
    tree: `select 'i', indrelid, indexprs::text from pg_index where indexprs is not null`
  },
  "pg_index.indpred": {
    tree: `select 'i', indrelid, indpred::text from pg_index where indpred is not null`
  },
  "pg_language.laninline": administrators,
  "pg_language.lanplcallfoid": administrators,
  "pg_language.lanvalidator": administrators,
  "pg_operator.oprcode": {
    judged: "clean_operators, in trees; named_operators, in bodies; own, for those that we or PostgreSQL choose"
  },
  "pg_operator.oprjoin": administrators,
  "pg_operator.oprrest": administrators,
  "pg_partitioned_table.partexprs": { judged: "readable and writable, which exclude partitions and their tables" },
  "pg_policy.polqual": {
    tree: `select 'r', p.polrelid, p.polqual::text
    from pg_policy p join readable r on r.oid = p.polrelid and r.relrowsecurity where p.polqual is not null`
  },
  // A table that can be written can be read, too, so these count for both.
  "pg_policy.polwithcheck": {
    tree: `select 'r', p.polrelid, p.polwithcheck::text
    from pg_policy p join readable r on r.oid = p.polrelid and r.relrowsecurity where p.polwithcheck is not null`
  },
  // Defaults of functions that read (kind f) and that write (kind p).
  "pg_proc.proargdefaults": {
    tree: `select c.kind, p.oid, p.proargdefaults::text
    from pg_proc p join known_bodies c on c.oid = p.oid where p.proargdefaults is not null`
  },
  "pg_proc.prosqlbody": {
    tree: `select c.kind, p.oid, p.prosqlbody::text
    from pg_proc p join known_bodies c on c.oid = p.oid where p.prosqlbody is not null`
  },
  "pg_proc.prosupport": administrators,
  "pg_publication_rel.prqual": { judged: "evaluated by the sender of the log, not by the caller's session" },
  "pg_range.rngcanonical": { judged: "plain_types, which has no ranges but the built-in ones" },
  "pg_range.rngsubdiff": { judged: "plain_types, which has no ranges but the built-in ones" },
  "pg_rewrite.ev_action": {
    tree: `select 'r', ev_class, ev_action::text from pg_rewrite where rulename = '_RETURN' and ev_class >= ${firstOid}
    and ev_class in (select oid from pg_class where relkind = 'v')`
  },
  "pg_rewrite.ev_qual": {
    judged: "writable, which excludes tables with rules; reading has no rule but that of a view"
  },
  "pg_statistic_ext.stxexprs": {
    tree: `select 'i', stxrelid, stxexprs::text from pg_statistic_ext where stxexprs is not null`
  },
  "pg_transform.trffromsql": administrators,
  "pg_transform.trftosql": administrators,
  "pg_trigger.tgfoid": {
    judged: "writable, which excludes tables with triggers, and own_keys, for those of foreign keys"
  },
  "pg_trigger.tgqual": { judged: "writable, which excludes tables with triggers" },
  "pg_ts_parser.prsend": administrators,
  "pg_ts_parser.prsheadline": administrators,
  "pg_ts_parser.prslextype": administrators,
  "pg_ts_parser.prsstart": administrators,
  "pg_ts_parser.prstoken": administrators,
  "pg_ts_template.tmplinit": administrators,
  "pg_ts_template.tmpllexize": administrators,
  "pg_type.typanalyze": administrators,
  "pg_type.typdefaultbin": { judged: "plain_types, which has no domains" },
  "pg_type.typinput": administrators,
  "pg_type.typmodin": administrators,
  "pg_type.typmodout": administrators,
  "pg_type.typoutput": administrators,
  "pg_type.typreceive": administrators,
  "pg_type.typsend": administrators,
  "pg_type.typsubscript": administrators
}

/** All expressions that the proof reads: SELECT of `kind`, `oid` and `tree`. */
export const treesSql = Object.values(ways)
  .flatMap((way) => ("tree" in way ? [way.tree] : []))
  .join("\n  union all ")
