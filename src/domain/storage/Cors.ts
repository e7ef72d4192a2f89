import { Schema } from "effect"

const Header = Schema.NonEmptyString.check(
  Schema.makeFilter((text: string) => /^[\x21-\x7e]+$/.test(text) || "Expected a header name")
)
const oneStar = Schema.makeFilter((text: string) => text.split("*").length <= 2 || "Expected at most one * in it")
const Origin = Schema.NonEmptyString.check(
  Schema.makeFilter((text: string) => /^[\x21-\x7e]+$/.test(text) || "Expected an origin such as https://example.com"),
  oneStar
)

/** Who may use a bucket from a web page; S3's own names. `MaxAgeSeconds`: how long a browser remembers the answer. */
export const CorsRule = Schema.Struct({
  ID: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(255))),
  AllowedOrigins: Schema.Array(Origin).check(Schema.isMinLength(1)),
  AllowedMethods: Schema.Array(Schema.Literals(["GET", "PUT", "POST", "DELETE", "HEAD"])).check(Schema.isMinLength(1)),
  AllowedHeaders: Schema.optionalKey(Schema.Array(Header.check(oneStar))),
  ExposeHeaders: Schema.optionalKey(Schema.Array(Header)),
  MaxAgeSeconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_147_483_647 })))
})
export type CorsRule = typeof CorsRule.Type

/** At most 100, as in S3; none: no page of another origin may. */
export const CorsRules = Schema.Array(CorsRule).check(Schema.isMaxLength(100))
