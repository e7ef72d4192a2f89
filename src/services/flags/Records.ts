import { Effect, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { type StoredFlag } from "../../domain/flags/Edits.ts"
import { type FlagEnvironment, flagEnvironments } from "../../domain/flags/Environment.ts"
import { FlagConfiguration, FlagType, keyPattern } from "../../domain/flags/Flag.ts"
import { type JsonRecord } from "../../domain/Revision.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { JsonObjectSchema } from "../../domain/text/JsonObjectSchema.ts"
import { yieldEvery } from "../LoopTurn.ts"
import { type OwnTablesFailure } from "../OwnTables.ts"

/** A flag as `flagJsonSql` selects it; `last_…` is the time of the last evaluation in that environment. */
interface FlagJsonRow extends Readonly<Record<FlagEnvironment, string>> {
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

const flagJsonSql = (where: string) =>
  `select f.key, f.type, f.description, f.variants::text as variants, f.revision::text as revision, ${timestamps("f")},
     ${flagEnvironments.map((name) => `f.${name}::text as ${name}, u.last_${name}`).join(", ")}
   from svc.flags f
   left join (select key, ${flagEnvironments.map(lastOf).join(", ")} from svc.flag_usage group by key) u on u.key = f.key
   where ${where} order by f.key`

/**
 * A flag as JSON text (domain/flags/Flag.ts). Stored documents are copied into it without parsing, because a list may
 * have ten thousand. The column of an environment is an object of state, targeting and defaultVariant.
 */
const flagJson = (row: FlagJsonRow, selected: FlagEnvironment): string => {
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

const usersSql = (table: string) =>
  `(select coalesce(json_agg(key order by key), '[]') from svc.${table} where uses @> array[s.key])`

/** SQL of one JSON object. `row_to_json` writes it as JSON.stringify would, and keeps the text of stored documents. */
const object = (columns: string) => `(select row_to_json(o) from (select ${columns}) o)`

/** Segments as JSON text (domain/flags/Segment.ts). */
const segmentJsonSql = (where: string) =>
  `select s.revision::text as revision, ${object(
    `s.key, s.key as "segmentKey", s.name, s.description, s.rules,
     ${object(`${usersSql("flags")} as flags, ${usersSql("flag_segments")} as segments`)} as used_by,
     s.revision, ${timestamps("s")}`
  )}::text as json
   from svc.flag_segments s where ${where} order by s.key`

/** A bigint that PostgreSQL wrote as text. */
const Revision = Schema.FiniteFromString
const Configuration = Schema.fromJsonString(FlagConfiguration)
const Document = Schema.fromJsonString(JsonObjectSchema)

const FlagRow = Schema.Struct({
  key: Schema.String,
  type: FlagType,
  description: Schema.NullOr(Schema.String),
  variants: Document,
  dev: Configuration,
  staging: Configuration,
  production: Configuration,
  revision: Revision
})
const decodeFlag = Schema.decodeUnknownSync(FlagRow)

const flagColumns = `key, type, description, variants::text as variants, dev::text as dev, staging::text as staging,
  production::text as production, revision::text as revision`

const flagOf = (row: typeof FlagRow.Type): StoredFlag => {
  const { description, dev, key, production, staging, type, variants } = row
  return { key, type, description, variants, environments: { dev, staging, production } }
}

/** Decodes each flag only when the caller reaches it: there may be thousands. */
function* flagsOf(rows: ReadonlyArray<unknown>) {
  for (const row of rows) yield flagOf(decodeFlag(row))
}

type Read<A> = Effect.Effect<A, OwnTablesFailure>

/** Reads stored flags and segments, in the transaction of the caller if there is one. */
export const makeFlagRecords = (sql: SqlClient.SqlClient) => {
  /** A text that can't be a key is not looked up, because PostgreSQL rejects some of them, such as those with NUL. */
  const ifKey = <A>(key: string | undefined, read: Read<A>, otherwise: A): Read<A> =>
    key === undefined || keyPattern.test(key) ? read : Effect.succeed(otherwise)

  const byKey = <A, I>(Result: Schema.Codec<A, I>, text: string) =>
    SqlSchema.findAll({ Request: Schema.String, Result, execute: (key) => sql.unsafe(text, [key]) })

  /** JSON for the API, in order of the keys; all flags, or the one of the key. */
  const flagsJson = Effect.fnUntraced(function* (selected: FlagEnvironment, key?: string) {
    const read = sql.unsafe<FlagJsonRow>(
      flagJsonSql(key === undefined ? "true" : "f.key = $1"),
      key === undefined ? [] : [key]
    )
    const rows = yield* ifKey(key, read, [])
    const pause = yield* yieldEvery()
    const flags: Array<JsonRecord> = []
    for (const row of rows) {
      flags.push({ json: flagJson(row, selected), revision: Number(row.revision) })
      yield* pause
    }
    return flags
  })

  const SegmentJson = Schema.Struct({ revision: Revision, json: Schema.String })
  const allSegmentsJson = SqlSchema.findAll({
    Request: Schema.Void,
    Result: SegmentJson,
    execute: () => sql.unsafe(segmentJsonSql("true"))
  })(undefined)
  const segmentJson = byKey(SegmentJson, segmentJsonSql("s.key = $1"))
  /** Segments, in the forms of `flagsJson`. */
  const segmentsJson = (key?: string): Read<ReadonlyArray<JsonRecord>> =>
    key === undefined ? allSegmentsJson : ifKey(key, segmentJson(key), [])

  const flagRow = byKey(FlagRow, `select ${flagColumns} from svc.flags where key = $1`)
  const flag = (key: string) =>
    ifKey(
      key,
      Effect.map(flagRow(key), ([row]) => row && { revision: row.revision, record: flagOf(row) }),
      undefined
    )

  const segmentRow = byKey(
    Schema.Struct({
      key: Schema.String,
      name: Schema.String,
      description: Schema.NullOr(Schema.String),
      rules: Document,
      revision: Revision
    }),
    `select key, name, description, rules::text as rules, revision::text as revision
     from svc.flag_segments where key = $1`
  )
  const segment = (key: string) =>
    ifKey(
      key,
      Effect.map(segmentRow(key), ([row]) => {
        if (row === undefined) return undefined
        const { revision, ...record } = row
        return { revision, record }
      }),
      undefined
    )

  /** The rules of all segments, by key. */
  const rules: Read<ReadonlyMap<string, JsonObjectSchema>> = Effect.map(
    SqlSchema.findAll({
      Request: Schema.Void,
      Result: Schema.Struct({ key: Schema.String, rules: Document }),
      execute: () => sql.unsafe("select key, rules::text as rules from svc.flag_segments")
    })(undefined),
    (rows) => new Map(rows.map(({ key, rules }) => [key, rules]))
  )

  /** The flags with a rule that refers to one of these segments directly. */
  const flagsUsing = (segments: Iterable<string>) =>
    Effect.map(
      sql.unsafe(`select ${flagColumns} from svc.flags where uses && $1::text[] order by key`, [[...segments]]),
      flagsOf
    )

  const Users = Schema.Struct({ flags: Schema.Array(Schema.String), segments: Schema.Array(Schema.String) })
  const usersRow = byKey(
    Users,
    `select array(select key from svc.flags where uses @> array[$1::text] order by key) as flags,
       array(select key from svc.flag_segments where uses @> array[$1::text] order by key) as segments`
  )
  /** Keys of the flags and segments that refer to the segment directly. */
  const usersOf = (key: string) => Effect.map(usersRow(key), ([users]) => users ?? { flags: [], segments: [] })

  return { flagsJson, segmentsJson, flag, segment, rules, flagsUsing, usersOf }
}
