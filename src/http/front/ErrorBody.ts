import { Schema } from "effect"

/** The body of every failed answer, whoever made it (docs/errors.md). */
export const ErrorBody = Schema.Struct({
  error: Schema.String,
  code: Schema.String,
  message: Schema.String,
  details: Schema.NullOr(Schema.Json),
  hint: Schema.NullOr(Schema.String),
  request_id: Schema.String,
  position: Schema.optionalKey(Schema.Int),
  statement_index: Schema.optionalKey(Schema.Int),
  redirect_to: Schema.optionalKey(Schema.NullOr(Schema.String))
}).annotate({ identifier: "Error" })
