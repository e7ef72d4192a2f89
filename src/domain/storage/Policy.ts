import { Schema } from "effect"
import { byteLength } from "./Object.ts"

const maxBytes = 20 * 1024

const Names = Schema.Union([Schema.NonEmptyString, Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(1))])
const Principal = Schema.Union([Schema.Literal("*"), Schema.Record(Schema.String, Names)])

const pairs = [
  ["Principal", "NotPrincipal"],
  ["Action", "NotAction"],
  ["Resource", "NotResource"]
] as const

const Statement = Schema.StructWithRest(
  Schema.Struct({
    Sid: Schema.optionalKey(Schema.String),
    Effect: Schema.Literals(["Allow", "Deny"]),
    Principal: Schema.optionalKey(Principal),
    NotPrincipal: Schema.optionalKey(Principal),
    Action: Schema.optionalKey(Names),
    NotAction: Schema.optionalKey(Names),
    Resource: Schema.optionalKey(Names),
    NotResource: Schema.optionalKey(Names),
    Condition: Schema.optionalKey(Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Json)))
  }),
  [Schema.Record(Schema.String, Schema.Json)]
).check(
  Schema.makeFilter((statement: object) => {
    const wrong = pairs.find(([name, not]) => name in statement === not in statement)
    return wrong === undefined || { path: [wrong[0]], issue: `Expected either ${wrong[0]} or ${wrong[1]}` }
  })
)

/** S3's policy document. What stands in it beyond its form (actions, resources, conditions) is the store's to judge. */
export const BucketPolicy = Schema.StructWithRest(
  Schema.Struct({
    Version: Schema.Literals(["2012-10-17", "2008-10-17"]),
    Id: Schema.optionalKey(Schema.String),
    Statement: Schema.Union([Schema.Array(Statement).check(Schema.isMinLength(1)), Statement])
  }),
  [Schema.Record(Schema.String, Schema.Json)]
).check(
  Schema.makeFilter(
    (policy: object) =>
      byteLength(JSON.stringify(policy)) <= maxBytes || `Expected a policy of at most ${maxBytes / 1024} KiB as JSON`
  )
)
export type BucketPolicy = typeof BucketPolicy.Type
