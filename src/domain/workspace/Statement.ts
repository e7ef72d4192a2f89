import { Schema } from "effect"
import { isStorable } from "../text/StorableText.ts"
import { keptSql, ParameterValues } from "./Item.ts"

/** Statements of an owner that are kept, and days. */
export const [mostStatements, statementDays] = [200, 30]

const Text = Schema.String.check(Schema.isMaxCodePoints(200), isStorable)

/** A statement that has run in the workbench. */
export const NewRanStatement = Schema.Struct({
  sql: keptSql(16_384),
  values: Schema.optionalKey(
    ParameterValues.check(
      Schema.makeFilter(
        (values: object) => JSON.stringify(values).length <= 16_384 || "Expected at most 16384 characters of JSON"
      )
    )
  ),
  /** The id of the branch on which it ran; absent for the main database. */
  branch: Schema.optionalKey(Text),
  /** The time at which it ended; default now. */
  at: Schema.optionalKey(Schema.DateTimeUtcFromString),
  milliseconds: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1e9 }))),
  /** Rows that it returned or changed. */
  rows: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))),
  /** The code of its error; absent if it succeeded. */
  code: Schema.optionalKey(Text)
})
export type NewRanStatement = typeof NewRanStatement.Type

export const RanStatement = Schema.Struct({
  sql: Schema.String,
  values: Schema.NullOr(ParameterValues),
  branch: Schema.NullOr(Schema.String),
  at: Schema.String,
  milliseconds: Schema.NullOr(Schema.Finite),
  rows: Schema.NullOr(Schema.Int),
  code: Schema.NullOr(Schema.String)
})
export type RanStatement = typeof RanStatement.Type

/** Whether a statement may be kept: PostgreSQL's statements have secrets after this word. */
export const isKept = ({ sql }: Pick<NewRanStatement, "sql">) => !/\bpassword\b/i.test(sql)
