import type { Wire } from "../wire/Wire.ts"

export type Report = Wire["GET /api/insights"]["success"]
export type Finding = Report["findings"][number]
export type Check = Report["checks"][number]
export type Kind = Finding["kind"]

/** Each kind of finding: its heading, and why it matters. */
export const kinds: Readonly<Record<Kind, readonly [title: string, why: string]>> = {
  table_without_row_security: [
    "Tables open to anon keys",
    "An anon key is public. Without row-level security, everyone who has it reads every row."
  ],
  view_without_security_invoker: [
    "Views past row-level security",
    "The policies of the tables below do not apply to those who read the view."
  ],
  immutable_function_unproven: [
    "IMMUTABLE functions not proven to be",
    "PostgreSQL keeps their results in plans. If one reads who is calling, the first caller's answer is kept for all."
  ],
  slow_statement: ["Slow statements", "Those that took the most time since the statistics began."],
  table_read_whole: ["Tables read as a whole", "PostgreSQL found no index for what was asked of them."],
  foreign_key_without_index: [
    "Foreign keys without an index",
    "Embeds, joins, and every delete in the table referred to read the whole table."
  ],
  invalid_index: ["Invalid indexes", "They are maintained with every write, and never used."],
  duplicate_index: ["Duplicate indexes", "One of two is enough."],
  unused_index: ["Unused indexes", "They slow writes down and take space. Drop them if no rare report needs them."],
  sequence_near_end: ["Sequences near their end", "After the last number, inserts fail."],
  dead_rows: ["Dead rows", "What was updated or deleted still takes space, and time in every read."],
  never_vacuumed: ["Tables never vacuumed", "Without VACUUM and ANALYZE, plans are guesses and space is lost."],
  low_cache_hit: ["Cache hits", "What is not in memory is read from the disk."],
  distributed_table: ["Tables of the cluster", "Their distribution column, and their size on each node."]
}

/** `shop.orders`, without the schema that needs no mention. */
export const nameOf = ({ name, schema, table }: Finding["object"]) =>
  [...(schema === null || schema === "public" ? [] : [schema]), ...(table === null ? [] : [table]), name].join(".")

/** Findings by kind: the kind with the most severe one first, as the service sorts them. */
export const byKind = (findings: ReadonlyArray<Finding>) => Map.groupBy(findings, ({ kind }) => kind)
