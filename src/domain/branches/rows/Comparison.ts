import { Schema } from "effect"
import { isStorable } from "../../text/StorableText.ts"

/** How a row of a branch differs from the main database's with the same key. */
export const differenceKinds = ["only_in_branch", "changed", "only_in_main"] as const
const DifferenceKind = Schema.Literals(differenceKinds)
export type DifferenceKind = typeof DifferenceKind.Type

/** Rows of a page. */
export const defaultPage = 100
const maxPage = 500
/** Rows that one request copies. */
export const maxCopied = 10_000
/** Tables that one request copies from. */
const maxTables = 50

const Name = Schema.NonEmptyString.check(Schema.isMaxLength(256), isStorable)

/** A table that both databases have. `key`: the name of a unique index of the main database; default: its primary key. */
const TableFields = {
  schema: Schema.optionalKey(Name),
  table: Name,
  key: Schema.optionalKey(Name)
}

const kindList = /^(?:only_in_branch|changed|only_in_main)(?:,(?:only_in_branch|changed|only_in_main))*$/
const Cursor = Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(16_384)))

export const CountQuery = Schema.Struct({ ...TableFields, cursor: Cursor })
export const DifferencesQuery = Schema.Struct({
  ...CountQuery.fields,
  kinds: Schema.optionalKey(Schema.String.check(Schema.isPattern(kindList))),
  limit: Schema.optionalKey(
    Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: maxPage }))
  )
})
export type DifferencesQuery = typeof DifferencesQuery.Type

export interface TableChoice {
  readonly schema?: string | undefined
  readonly table: string
  readonly key?: string | undefined
}

const TableKey = Schema.Struct({
  name: Schema.String,
  columns: Schema.Array(Schema.String),
  primary: Schema.Boolean
})

/** A table that the branch or the main database has. */
export const ComparableTable = Schema.Struct({
  schema: Schema.String,
  table: Schema.String,
  /** The unique keys of columns that can't be null, which both databases have; the default first. */
  keys: Schema.Array(TableKey),
  /** Estimates of PostgreSQL; null: it has none, or no such table. */
  branch_rows: Schema.NullOr(Schema.Int),
  main_rows: Schema.NullOr(Schema.Int),
  /** Why it can't be compared. */
  refusal: Schema.NullOr(Schema.Struct({ code: Schema.String, error: Schema.String }))
})
export type ComparableTable = typeof ComparableTable.Type

const compared = {
  schema: Schema.String,
  table: Schema.String,
  key: TableKey,
  /** Those that are compared and copied. */
  columns: Schema.Array(Schema.String),
  not_compared: Schema.Array(
    Schema.Struct({
      column: Schema.String,
      reason: Schema.Literals(["only_in_branch", "only_in_main", "type", "generated"])
    })
  )
}

/** Values are PostgreSQL's texts, of at most 2,048 characters; longer ones end there and are listed in `cut`. */
const Values = Schema.NullOr(Schema.Record(Schema.String, Schema.NullOr(Schema.String)))
export const Difference = Schema.Struct({
  kind: DifferenceKind,
  key: Schema.Array(Schema.String),
  /** What was compared; a copy needs it. */
  token: Schema.String,
  /** The columns whose values differ, of a `changed` row. */
  differs: Schema.Array(Schema.String),
  branch: Values,
  main: Values,
  cut: Schema.Array(Schema.String)
})
export type Difference = typeof Difference.Type

export const DifferencePage = Schema.Struct({
  ...compared,
  rows: Schema.Array(Difference),
  /** Where the next page begins; null after the last row. A page may be short, even empty, when the time is over. */
  cursor: Schema.NullOr(Schema.String)
})
export type DifferencePage = typeof DifferencePage.Type

const Counted = Schema.Struct({
  count: Schema.Int,
  /** Names all rows of this kind, for a copy of all. */
  digest: Schema.String
})
export const DifferenceCounts = Schema.Struct({
  ...compared,
  only_in_branch: Counted,
  changed: Counted,
  only_in_main: Counted,
  same: Schema.Int,
  /** Null: everything was counted. Else these are the counts up to here, and the next request continues. */
  cursor: Schema.NullOr(Schema.String)
})
export type DifferenceCounts = typeof DifferenceCounts.Type

const Digest = Schema.optionalKey(Schema.String.check(Schema.isMaxLength(64)))
const CopiedTable = Schema.Struct({
  ...TableFields,
  rows: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        key: Schema.Array(Schema.String.check(isStorable)).check(Schema.isMinLength(1), Schema.isMaxLength(32)),
        token: Schema.String.check(Schema.isPattern(/^(?:0|[\w-]{22})\.(?:0|[\w-]{22})$/))
      })
    )
  ),
  /** All rows of a kind, by the digest of a complete count. */
  all: Schema.optionalKey(Schema.Struct({ only_in_branch: Digest, changed: Digest, only_in_main: Digest })),
  delete: Schema.optionalKey(Schema.Boolean)
})
export type CopiedTable = typeof CopiedTable.Type

export const RowCopy = Schema.Struct({
  tables: Schema.Array(CopiedTable).check(Schema.isMinLength(1), Schema.isMaxLength(maxTables)),
  dry_run: Schema.optionalKey(Schema.Boolean)
})
export type RowCopy = typeof RowCopy.Type

const CopyCounts = {
  inserted: Schema.Int,
  updated: Schema.Int,
  deleted: Schema.Int,
  /** Rows that a trigger of the main database refused silently. */
  skipped: Schema.Int
}
export const RowCopyResult = Schema.Struct({
  dry_run: Schema.Boolean,
  tables: Schema.Array(Schema.Struct({ schema: Schema.String, table: Schema.String, ...CopyCounts }))
})
export type RowCopyResult = typeof RowCopyResult.Type
