import { Schema } from "effect"
import { byteLength } from "./Object.ts"

const reservedStarts = ["xn--", "sthree-"]
const reservedEnds = ["-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3"]

/** The rule of S3's for general purpose buckets that a name breaks, as a message. */
export const bucketNameFault = (name: string): string | undefined => {
  if (name.length < 3 || name.length > 63) return "Expected a bucket name of 3 to 63 characters"
  if (!/^[a-z0-9.-]+$/.test(name)) return "Expected only lowercase letters, digits, dots and hyphens"
  if (!/^[a-z0-9].*[a-z0-9]$/.test(name)) return "Expected a letter or digit at both ends"
  if (name.includes("..")) return "Expected no consecutive dots"
  if (/^\d+\.\d+\.\d+\.\d+$/.test(name)) return "Expected a name that does not look like an IP address"
  const start = reservedStarts.find((reserved) => name.startsWith(reserved))
  if (start !== undefined) return `Expected a name that does not start with ${start}, which S3 reserves`
  const end = reservedEnds.find((reserved) => name.endsWith(reserved))
  return end === undefined ? undefined : `Expected a name that does not end with ${end}, which S3 reserves`
}

/** S3's rules for general purpose buckets. */
export const BucketName = Schema.String.check(Schema.makeFilter((name: string) => bucketNameFault(name) ?? true))

/** A bucket; `created_at` in ISO 8601. */
export const Bucket = Schema.Struct({ name: Schema.String, created_at: Schema.String })
export type Bucket = typeof Bucket.Type

const Header = Schema.NonEmptyString.check(
  Schema.makeFilter((text: string) => /^[\x21-\x7e]+$/.test(text) || "Expected a header name")
)
const oneStar = Schema.makeFilter((text: string) => text.split("*").length <= 2 || "Expected at most one *")
const Origin = Schema.NonEmptyString.check(
  Schema.makeFilter((text: string) => /^[\x21-\x7e]+$/.test(text) || "Expected an origin such as https://example.com"),
  oneStar
)

/**
 * The web pages that may use a bucket, in S3's names. `MaxAgeSeconds`: how long browsers cache the preflight response.
 */
export const CorsRule = Schema.Struct({
  ID: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(255))),
  AllowedOrigins: Schema.Array(Origin).check(Schema.isMinLength(1)),
  AllowedMethods: Schema.Array(Schema.Literals(["GET", "PUT", "POST", "DELETE", "HEAD"])).check(Schema.isMinLength(1)),
  AllowedHeaders: Schema.optionalKey(Schema.Array(Header.check(oneStar))),
  ExposeHeaders: Schema.optionalKey(Schema.Array(Header)),
  MaxAgeSeconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_147_483_647 })))
})
export type CorsRule = typeof CorsRule.Type

/** At most 100 rules, as in S3. Without rules, pages of other origins have no access. */
export const CorsRules = Schema.Array(CorsRule).check(Schema.isMaxLength(100))

/** The maximum size of a policy in bytes, as in S3. */
export const maxPolicyBytes = 20 * 1024

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

/** S3's policy document. Only its structure is checked here; the store checks actions, resources and conditions. */
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
      byteLength(JSON.stringify(policy)) <= maxPolicyBytes ||
      `Expected a policy of at most ${maxPolicyBytes / 1024} KiB as JSON`
  )
)
export type BucketPolicy = typeof BucketPolicy.Type
