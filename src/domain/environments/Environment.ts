import { Schema } from "effect"
import { jsonProblems } from "../flags/Json.ts"
import { JsonObjectSchema } from "../text/JsonObjectSchema.ts"
import { isStorable } from "../text/StorableText.ts"
import { bucketNameFault } from "../storage/Bucket.ts"

export const EnvironmentId = Schema.Int.pipe(Schema.brand("EnvironmentId"))
export type EnvironmentId = typeof EnvironmentId.Type

/** 1–100 characters. */
const Name = Schema.NonEmptyString.check(Schema.isMaxCodePoints(100), isStorable)

/** A suffix that is valid for a schema and a bucket; its maximum length depends on the prefixes. */
const Slug = Schema.String.check(
  Schema.makeFilter(
    (slug: string) =>
      /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(slug) ||
      "Expected lower-case letters, digits and hyphens, with a letter or a digit at both ends"
  )
)

/** A JSON object of at most 32 levels and 10,000 values. The table limits its size. */
const Config = JsonObjectSchema.check(
  Schema.makeFilter((config: JsonObjectSchema) =>
    jsonProblems(config, { depth: 32, nodes: 10_000, stored: true })
      .slice(0, 50)
      .map(({ path, problem }) => ({ path, issue: problem }))
  )
)

/** The payload that creates an environment (spec: Environment). Keys of `config` that are null are ignored. */
export const NewEnvironment = Schema.Struct({ name: Name, slug: Slug, config: Schema.optionalKey(Config) })
export type NewEnvironment = typeof NewEnvironment.Type

/**
 * The payload of a PATCH. `config`: sets the keys it contains, removes those that are null, and keeps the others. `slug`
 * can't be changed; it may be repeated.
 */
export const EnvironmentChange = Schema.Struct({
  name: Schema.optionalKey(Name),
  slug: Schema.optionalKey(Schema.String),
  is_default: Schema.optionalKey(Schema.Boolean),
  config: Schema.optionalKey(Config)
})
export type EnvironmentChange = typeof EnvironmentChange.Type

/** An environment in responses. Timestamps are ISO 8601 in UTC with milliseconds. */
export const Environment = Schema.Struct({
  id: EnvironmentId,
  project_id: Schema.String,
  name: Schema.String,
  slug: Schema.String,
  /** True for exactly one of the project's environments. */
  is_default: Schema.Boolean,
  schema_name: Schema.String,
  bucket_name: Schema.String,
  config: JsonObjectSchema,
  created_at: Schema.String,
  updated_at: Schema.String,
  deleted_at: Schema.NullOr(Schema.String)
})
export type Environment = typeof Environment.Type

/** A project: its id, and the prefixes of its schemas and buckets. */
export interface Project {
  readonly id: string
  readonly schema: string
  readonly bucket: string
}

export const schemaNameOf = ({ schema }: Project, slug: string) => `${schema}_${slug}`
export const bucketNameOf = ({ bucket }: Project, slug: string) => `${bucket}-${slug}`

/** Maximum length of a name in PostgreSQL and of a bucket's name in S3. */
const maxName = 63
/** Leaves 22 characters for a slug. */
const maxPrefix = 40

const systemSchema = /^pg_|^information_schema$|^svc$/

/** The fault of a well-formed slug in this project; undefined if there is none. */
export const slugFault = (project: Project, slug: string): string | undefined => {
  const room = maxName - Math.max(project.schema.length, project.bucket.length) - 1
  if (slug.length > room) return `Expected at most ${room} characters`
  if (systemSchema.test(schemaNameOf(project, slug))) return "Expected another slug: its schema name is reserved"
  return bucketNameFault(bucketNameOf(project, slug))
}

/** Unreserved characters of a URL, and not `.` or `..`. */
export const isProjectId = (id: string) => /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(id)

/** A prefix for schema names, which need no quotes in SQL unless the slug has a hyphen. */
export const isSchemaPrefix = (text: string) =>
  /^[a-z_][a-z0-9_]*$/.test(text) && text.length <= maxPrefix && !systemSchema.test(`${text}_`)

/** A prefix for bucket names. */
export const isBucketPrefix = (text: string) => text.length <= maxPrefix && bucketNameFault(`${text}-x`) === undefined
