import { Schema } from "effect"
import { type PromisedFunction, promisedFix, promisedMessage } from "../catalogue/Catalogue.ts"

/** The kinds of findings, in the order of the list. A kind keeps its name and meaning. */
export const kinds = [
  "table_without_row_security",
  "view_without_security_invoker",
  "immutable_function_unproven",
  "slow_statement",
  "table_read_whole",
  "foreign_key_without_index",
  "invalid_index",
  "duplicate_index",
  "unused_index",
  "sequence_near_end",
  "dead_rows",
  "never_vacuumed",
  "low_cache_hit",
  "distributed_table"
] as const
export type Kind = (typeof kinds)[number]

/** The severities, the most urgent first. */
export const severities = ["critical", "warning", "info"] as const

const ObjectType = Schema.Literals([
  "table",
  "foreign table",
  "view",
  "materialized view",
  "foreign key",
  "index",
  "sequence",
  "function",
  "statement",
  "database"
])

const shape = {
  severity: Schema.Literals(severities),
  object: Schema.Struct({
    type: ObjectType,
    schema: Schema.NullOr(Schema.String),
    name: Schema.String,
    /** The table that an index or a foreign key belongs to. */
    table: Schema.NullOr(Schema.String)
  }),
  explanation: Schema.String,
  /** SQL that resolves it; null if there is none that fits every case. */
  fix: Schema.NullOr(Schema.String),
  /** The facts behind the explanation: numbers, names, and the text of a statement without its constants. */
  details: Schema.Record(Schema.String, Schema.NullOr(Schema.Union([Schema.String, Schema.Finite])))
}

/** A finding as a query returns it, in JSON. */
export const Found = Schema.fromJsonString(Schema.Struct(shape))

export const Finding = Schema.Struct({ kind: Schema.Literals(kinds), ...shape })
export type Finding = typeof Finding.Type

export const Check = Schema.Struct({
  kind: Schema.Literals(kinds),
  /** Whether it was possible; no finding of another kind follows from one that was not. */
  status: Schema.Literals(["done", "unavailable"]),
  /** There are more findings than the list has. */
  truncated: Schema.Boolean,
  reason: Schema.NullOr(Schema.String),
  /** SQL that makes the check possible. */
  fix: Schema.NullOr(Schema.String)
})
export type Check = typeof Check.Type

export const InsightReport = Schema.Struct({
  checked_at: Schema.String,
  database: Schema.Struct({
    name: Schema.String,
    /** The share of the blocks read by statements that PostgreSQL had in memory: 0 to 1; null before any. */
    cache_hit_ratio: Schema.NullOr(Schema.Finite),
    /** The start of PostgreSQL's statistics; null if they have never been reset. */
    statistics_since: Schema.NullOr(Schema.String)
  }),
  checks: Schema.Array(Check),
  findings: Schema.Array(Finding)
})
export type InsightReport = typeof InsightReport.Type

export const promisedFinding = (fn: PromisedFunction): Finding => ({
  kind: "immutable_function_unproven",
  severity: "warning",
  object: { type: "function", schema: fn.schema, name: fn.name, table: null },
  explanation: `${promisedMessage(fn)}.`,
  fix: promisedFix(fn),
  details: { signature: fn.signature }
})

/** Blocks that statements of the database have read: found in PostgreSQL's memory, and not. */
export interface BlockReads {
  readonly hit: number
  readonly read: number
}

/** Blocks from which a ratio means something: 1 GiB. */
const enoughBlocks = 131_072
const [goodRatio, poorRatio] = [0.95, 0.8]

export const hitRatio = ({ hit, read }: BlockReads): number | null =>
  hit + read === 0 ? null : Math.round((10_000 * hit) / (hit + read)) / 10_000

export const cacheFinding = (name: string, blocks: BlockReads): Finding | undefined => {
  const ratio = hitRatio(blocks)
  if (ratio === null || blocks.hit + blocks.read < enoughBlocks || ratio >= goodRatio) return undefined
  return {
    kind: "low_cache_hit",
    severity: ratio < poorRatio ? "warning" : "info",
    object: { type: "database", schema: null, name, table: null },
    explanation: `PostgreSQL had ${Math.floor(100 * ratio)}% of the blocks in memory that statements read; 99% is usual. Tables that are read as a whole are the first cause, a small shared_buffers (a quarter of the memory is usual) the second.`,
    fix: null,
    details: { cache_hit_ratio: ratio, blocks_hit: blocks.hit, blocks_read: blocks.read }
  }
}
