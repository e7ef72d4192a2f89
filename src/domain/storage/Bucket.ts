import { Schema } from "effect"

const reservedStarts = ["xn--", "sthree-"]
const reservedEnds = ["-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3"]

/** What S3's rules for general purpose buckets have against a name. */
export const bucketNameFault = (name: string): string | undefined => {
  if (name.length < 3 || name.length > 63) return "Expected a bucket name of 3 to 63 characters"
  if (!/^[a-z0-9.-]+$/.test(name)) return "Expected only lower-case letters, digits, dots and hyphens"
  if (!/^[a-z0-9].*[a-z0-9]$/.test(name)) return "Expected a letter or digit at both ends"
  if (name.includes("..")) return "Expected no two dots side by side"
  if (/^\d+\.\d+\.\d+\.\d+$/.test(name)) return "Expected a name that is not formed like an IP address"
  const start = reservedStarts.find((reserved) => name.startsWith(reserved))
  if (start !== undefined) return `Expected a name that does not begin with ${start}, which S3 keeps for itself`
  const end = reservedEnds.find((reserved) => name.endsWith(reserved))
  return end === undefined ? undefined : `Expected a name that does not end with ${end}, which S3 keeps for itself`
}

/** S3's rules for general purpose buckets. */
export const BucketName = Schema.String.check(Schema.makeFilter((name: string) => bucketNameFault(name) ?? true))

/** A bucket; `created_at` is when, ISO 8601. */
export const Bucket = Schema.Struct({ name: Schema.String, created_at: Schema.String })
export type Bucket = typeof Bucket.Type
