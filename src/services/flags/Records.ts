import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type FlagConfiguration, type FlagType, keyPattern } from "../../domain/flags/Flag.ts"
import { type StoredFlag } from "../../domain/flags/Edits.ts"
import { type FlagEnvironment } from "../../domain/flags/Environment.ts"
import { flagRecordJson, type FlagRecordRow, flagRecordsSql, segmentRecordsSql } from "../../domain/flags/Record.ts"
import { storedRules, type StoredSegment } from "../../domain/flags/SegmentEdits.ts"
import { type JsonObject } from "../../domain/text/JsonObject.ts"
import { type Shown } from "../../domain/Revision.ts"
import { yieldEvery } from "../YieldEvery.ts"

type Asked<A> = Effect.Effect<A, SqlError.SqlError>

/** At which revision it is stored. */
export interface Stored<A> {
  readonly revision: number
  readonly record: A
}

interface FlagRow extends Readonly<Record<FlagEnvironment, string>> {
  readonly key: string
  readonly type: FlagType
  readonly description: string | null
  readonly variants: string
  readonly revision: string
}

const flagColumns = `key, type, description, variants::text as variants, dev::text as dev, staging::text as staging,
  production::text as production, revision::text as revision`

const flagOf = ({ description, key, type, variants, ...row }: FlagRow): StoredFlag => {
  const configured = (environment: FlagEnvironment) => JSON.parse(row[environment]) as FlagConfiguration
  const environments = { dev: configured("dev"), staging: configured("staging"), production: configured("production") }
  return { key, type, description, variants: JSON.parse(variants) as JsonObject, environments }
}

/** Each is parsed when it is its turn: they may be many. */
function* flagsOf(rows: ReadonlyArray<FlagRow>) {
  for (const row of rows) yield flagOf(row)
}

/** What is stored of flags and segments, read in the caller's transaction if there is one. Keys may be any text. */
export class FlagRecords extends Context.Service<
  FlagRecords,
  {
    /** For callers; all of them, or the one with that key. In order of the keys. */
    readonly showFlags: (selected: FlagEnvironment, key?: string) => Asked<ReadonlyArray<Shown>>
    readonly showSegments: (key?: string) => Asked<ReadonlyArray<Shown>>
    readonly flag: (key: string) => Asked<Stored<StoredFlag> | undefined>
    readonly segment: (key: string) => Asked<Stored<StoredSegment> | undefined>
    /** Of all segments, by key. */
    readonly rules: Asked<ReadonlyMap<string, JsonObject>>
    /** Flags with a rule that refers to one of these segments itself; each is parsed when it is its turn. */
    readonly flagsUsing: (segments: Iterable<string>) => Asked<Iterable<StoredFlag>>
    /** Keys of what refers to the segment itself. */
    readonly usersOf: (
      segment: string
    ) => Asked<{ readonly flags: ReadonlyArray<string>; readonly segments: ReadonlyArray<string> }>
  }
>()("svc/services/FlagRecords") {
  static readonly layer = Layer.effect(
    FlagRecords,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      /** PostgreSQL does not take every text. */
      const ifKey = <A>(key: string | undefined, ask: Asked<A>, otherwise: A): Asked<A> =>
        key === undefined || keyPattern.test(key) ? ask : Effect.succeed(otherwise)

      const showFlags = Effect.fnUntraced(function* (selected: FlagEnvironment, key?: string) {
        const rows = yield* ifKey(
          key,
          key === undefined
            ? sql.unsafe<FlagRecordRow>(flagRecordsSql())
            : sql.unsafe<FlagRecordRow>(flagRecordsSql("f.key = $1"), [key]),
          []
        )
        const pause = yield* yieldEvery()
        const flags: Array<Shown> = []
        for (const row of rows) {
          flags.push({ json: flagRecordJson(row, selected), revision: Number(row.revision) })
          yield* pause
        }
        return flags
      })

      const showSegments = (key?: string) =>
        ifKey(
          key,
          Effect.map(
            key === undefined
              ? sql.unsafe<{ revision: string; json: string }>(segmentRecordsSql())
              : sql.unsafe<{ revision: string; json: string }>(segmentRecordsSql("s.key = $1"), [key]),
            (rows) => rows.map(({ json, revision }): Shown => ({ json, revision: Number(revision) }))
          ),
          []
        )

      const flag = (key: string) =>
        ifKey<Stored<StoredFlag> | undefined>(
          key,
          Effect.map(
            sql.unsafe<FlagRow>(`select ${flagColumns} from svc.flags where key = $1`, [key]),
            ([row]) => row && { revision: Number(row.revision), record: flagOf(row) }
          ),
          undefined
        )

      const segment = (key: string) =>
        ifKey<Stored<StoredSegment> | undefined>(
          key,
          Effect.map(
            sql.unsafe<Omit<StoredSegment, "rules"> & { readonly rules: string; readonly revision: string }>(
              `select key, name, description, rules::text as rules, revision::text as revision
               from svc.flag_segments where key = $1`,
              [key]
            ),
            ([row]) => {
              if (row === undefined) return undefined
              const { description, key, name, revision, rules } = row
              const record = { key, name, description, rules: JSON.parse(rules) as JsonObject }
              return { revision: Number(revision), record }
            }
          ),
          undefined
        )

      const rules = Effect.map(
        sql.unsafe<{ key: string; rules: string }>("select key, rules::text as rules from svc.flag_segments"),
        storedRules
      )

      const flagsUsing = (segments: Iterable<string>) =>
        Effect.map(
          sql.unsafe<FlagRow>(`select ${flagColumns} from svc.flags where uses && $1::text[] order by key`, [
            [...segments]
          ]),
          flagsOf
        )

      const usersOf = (key: string) =>
        Effect.map(
          sql.unsafe<{ flags: Array<string>; segments: Array<string> }>(
            `select array(select key from svc.flags where uses @> array[$1::text] order by key) as flags,
               array(select key from svc.flag_segments where uses @> array[$1::text] order by key) as segments`,
            [key]
          ),
          ([users]) => users ?? { flags: [], segments: [] }
        )

      return FlagRecords.of({ showFlags, showSegments, flag, segment, rules, flagsUsing, usersOf })
    })
  )
}
