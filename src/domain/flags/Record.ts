import { type FlagEnvironment, flagEnvironments } from "./Environment.ts"
import { isoSql } from "../sql/IsoTimestamp.ts"

/** A flag as `flagRecordsSql` gives it; `last_…`: when each environment's was evaluated last. */
export interface FlagRecordRow extends Readonly<Record<FlagEnvironment, string>> {
  readonly key: string
  readonly type: string
  readonly description: string | null
  readonly variants: string
  readonly revision: string
  readonly created_at: string
  readonly updated_at: string
  readonly last_dev: string | null
  readonly last_staging: string | null
  readonly last_production: string | null
}

const timestamps = (table: string) =>
  `${isoSql(`${table}.created_at`)} as created_at, ${isoSql(`${table}.updated_at`)} as updated_at`

const lastOf = (name: string) =>
  `${isoSql(`max(last_evaluated_at) filter (where environment = '${name}')`)} as last_${name}`

/** `which` narrows the flags down, over `f`. */
export const flagRecordsSql = (which = "true") =>
  `select f.key, f.type, f.description, f.variants::text as variants, f.revision::text as revision, ${timestamps("f")},
     ${flagEnvironments.map((name) => `f.${name}::text as ${name}, u.last_${name}`).join(", ")}
   from svc.flags f
   left join (select key, ${flagEnvironments.map(lastOf).join(", ")} from svc.flag_usage group by key) u on u.key = f.key
   where ${which} order by f.key`

/**
 * A flag as JSON text (domain/Flag.ts). Documents are put into it as they were stored, unread: a list may have ten
 * thousand. What is stored of an environment is an object of state, targeting and defaultVariant.
 */
export const flagRecordJson = (row: FlagRecordRow, selected: FlagEnvironment): string => {
  const configured = (name: FlagEnvironment) =>
    `${row[name].trim().slice(1, -1)},"last_evaluated_at":${JSON.stringify(row[`last_${name}`])}`
  const environments = flagEnvironments.map((name) => `"${name}":{${configured(name)}}`)
  return (
    `{"key":${JSON.stringify(row.key)},"type":"${row.type}","description":${JSON.stringify(row.description)},` +
    `"variants":${row.variants},"environment":"${selected}",${configured(selected)},` +
    `"environments":{${environments.join(",")}},"revision":${row.revision},` +
    `"created_at":"${row.created_at}","updated_at":"${row.updated_at}"}`
  )
}

const usersOf = (table: string) =>
  `(select coalesce(json_agg(key order by key), '[]') from svc.${table} where uses @> array[s.key])`

/** SQL of one JSON object. `row_to_json` writes it as JSON.stringify would, and documents in it as they were stored. */
const object = (columns: string) => `(select row_to_json(o) from (select ${columns}) o)`

/** Segments as JSON texts (domain/FlagSegment.ts); `which` narrows them down, over `s`. */
export const segmentRecordsSql = (which = "true") =>
  `select s.revision::text as revision, ${object(
    `s.key, s.key as "segmentKey", s.name, s.description, s.rules,
     ${object(`${usersOf("flags")} as flags, ${usersOf("flag_segments")} as segments`)} as used_by,
     s.revision, ${timestamps("s")}`
  )}::text as json
   from svc.flag_segments s where ${which} order by s.key`
