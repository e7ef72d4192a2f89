import { Schema } from "effect"
import { jsonProblems } from "../flags/Json.ts"
import { JsonObject } from "../text/JsonObject.ts"
import { isStorable } from "../text/StorableText.ts"
import { bucketNameFault } from "../storage/Bucket.ts"

export const EnvironmentId = Schema.Int.pipe(Schema.brand("EnvironmentId"))
export type EnvironmentId = typeof EnvironmentId.Type

/** 1–100 characters. */
const Name = Schema.NonEmptyString.check(Schema.isMaxLength(100), isStorable)

/** What a schema's and a bucket's name can both end with; how long it may be depends on what they begin with. */
const Slug = Schema.String.check(
  Schema.makeFilter(
    (slug: string) =>
      /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(slug) ||
      "Expected lower-case letters, digits and hyphens, with a letter or a digit at both ends"
  )
)

/** Any JSON object of at most 32 levels and 10,000 values; how large it is as a whole is the table's to check. */
const Config = JsonObject.check(
  Schema.makeFilter((config: JsonObject) =>
    jsonProblems(config, { depth: 32, nodes: 10_000, stored: true })
      .slice(0, 50)
      .map(({ path, problem }) => ({ path, issue: problem }))
  )
)

/** A new environment (spec: Environment). Keys of `config` that are null are left out. */
export const NewEnvironment = Schema.Struct({ name: Name, slug: Slug, config: Schema.optionalKey(Config) })
export type NewEnvironment = typeof NewEnvironment.Type

/**
 * What a PATCH carries. `config`: keys that are given are set, null takes one away, the others stay. `slug` never
 * changes, it may only be what it is.
 */
export const EnvironmentChange = Schema.Struct({
  name: Schema.optionalKey(Name),
  slug: Schema.optionalKey(Schema.String),
  is_default: Schema.optionalKey(Schema.Boolean),
  config: Schema.optionalKey(Config)
})
export type EnvironmentChange = typeof EnvironmentChange.Type

/** An environment as it is shown. Timestamps are ISO 8601 in UTC with milliseconds. */
export const Environment = Schema.Struct({
  id: EnvironmentId,
  project_id: Schema.String,
  name: Schema.String,
  slug: Schema.String,
  /** One of the project's environments is, as long as it has any. */
  is_default: Schema.Boolean,
  schema_name: Schema.String,
  bucket_name: Schema.String,
  config: JsonObject,
  created_at: Schema.String,
  updated_at: Schema.String,
  deleted_at: Schema.NullOr(Schema.String)
})
export type Environment = typeof Environment.Type

/** What the names of a project's schemas and buckets begin with. */
export interface Project {
  readonly id: string
  readonly schema: string
  readonly bucket: string
}

export const schemaNameOf = ({ schema }: Project, slug: string) => `${schema}_${slug}`
export const bucketNameOf = ({ bucket }: Project, slug: string) => `${bucket}-${slug}`

/** Bytes of a name in PostgreSQL, characters of a bucket's in S3. */
const longest = 63
/** So that 22 are left for a slug. */
const longestStart = 40

const systemSchema = /^pg_|^information_schema$|^svc$/

/** What is wrong with a slug in this project, beside its form. */
export const slugFault = (project: Project, slug: string): string | undefined => {
  const room = longest - Math.max(project.schema.length, project.bucket.length) - 1
  if (slug.length > room) return `Expected at most ${room} characters`
  if (systemSchema.test(schemaNameOf(project, slug))) return "Expected another slug: this schema is the system's"
  return bucketNameFault(bucketNameOf(project, slug))
}

/** Unreserved in a URL, and no `.` or `..`. */
export const isProjectId = (id: string) => /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(id)

/** What can begin the names of schemas, unquoted in SQL while the slug has no hyphen. */
export const isSchemaStart = (text: string) =>
  /^[a-z_][a-z0-9_]*$/.test(text) && text.length <= longestStart && !systemSchema.test(`${text}_`)

/** What can begin the names of buckets. */
export const isBucketStart = (text: string) => text.length <= longestStart && bucketNameFault(`${text}-x`) === undefined
