import { Schema } from "effect"
import { randomBytes } from "node:crypto"
import { isStorable } from "../text/StorableText.ts"

export const BranchId = Schema.Int.pipe(Schema.brand("BranchId"))
export type BranchId = typeof BranchId.Type

/** Maximum length of a label, in characters. */
export const maxBranchLabel = 60

/** Maximum TTL of a branch in hours: a year. */
const maxTtl = 8760

/**
 * The callers that a branch serves. `service_role`: service keys alone, because its data may be older than the policies
 * that protect it, and its policies may be an experiment. `clients`: anon keys too, with and without a JWT.
 */
const BranchAccess = Schema.Literals(["service_role", "clients"])
export type BranchAccess = typeof BranchAccess.Type

/** The payload that creates a branch (spec: Branch). `ttlHours` 0: it does not expire. `access`: default `service_role`. */
export const NewBranch = Schema.Struct({
  label: Schema.NonEmptyString.check(Schema.isMaxCodePoints(maxBranchLabel), isStorable),
  ttlHours: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxTtl }))),
  access: Schema.optionalKey(BranchAccess)
})
export type NewBranch = typeof NewBranch.Type

/** The payload that restores a backup into a branch. `label`: by default made of the backup's. */
export const RestoreOptions = NewBranch.mapFields(({ label, ...rest }) => ({
  label: Schema.optionalKey(label),
  ...rest
}))
export type RestoreOptions = typeof RestoreOptions.Type

/** The payload that changes a branch, by one field at least. `ttlHours` counts from the change. */
export const BranchChanges = Schema.Struct({
  label: Schema.optionalKey(NewBranch.fields.label),
  ttlHours: NewBranch.fields.ttlHours,
  access: NewBranch.fields.access
}).check(
  Schema.makeFilter(
    ({ access, label, ttlHours }) =>
      access !== undefined || label !== undefined || ttlHours !== undefined || "Expected label, ttlHours or access"
  )
)
export type BranchChanges = typeof BranchChanges.Type

/** A branch in responses. Timestamps are ISO 8601 in UTC with milliseconds. */
export const Branch = Schema.Struct({
  id: BranchId,
  label: Schema.String,
  database_name: Schema.String,
  /** The size, at most a minute old. */
  size_bytes: Schema.Int,
  created_at: Schema.String,
  /** 0: it does not expire. */
  ttl_hours: Schema.Int,
  expires_at: Schema.NullOr(Schema.String),
  /** `restoring`: it is being filled and can't be used yet. */
  status: Schema.Literals(["active", "restoring"]),
  /** Per cent, for a branch that is being filled from a dump or backup; null otherwise. */
  progress: Schema.NullOr(Schema.Int),
  access: BranchAccess,
  /** The backup that it was restored from; null for a copy of the main database. */
  source_backup_id: Schema.NullOr(Schema.Int),
  /** The time whose objects storage shows with the branch; null: those of now. */
  objects_at: Schema.NullOr(Schema.String),
  /** `postgres://…` of the branch's own login; the password is only shown in the response that creates the branch. */
  connection: Schema.String
}).annotate({ identifier: "Branch" })
export type Branch = typeof Branch.Type

/** The database of a branch and its roles, all named after it. */
export interface BranchNames {
  readonly database: string
  /** Owns everything in the branch, and is the login of `connection`. */
  readonly role: string
  /** Login of the service for service keys; may become `role`. */
  readonly keysLogin: string
  /** Login of the service for all other requests; may become anon and authenticated. */
  readonly rowsLogin: string
}

export const branchNames = (database: string): BranchNames => ({
  database,
  role: database,
  keysLogin: `${database}_keys`,
  rowsLogin: `${database}_rows`
})

/** A unique name, also across servers. */
export const newBranchDatabase = () => `svc_branch_${randomBytes(6).toString("hex")}`

/** Name of the dump from which a branch is filled, in the directory of backups. */
export const branchDumpFile = (database: string) => `${database}.dump`

export const newBranchPassword = () => randomBytes(24).toString("base64url")

/** Address of a database server, for users. */
export interface ServerPlace {
  readonly host: string
  readonly port: number
  /** libpq's mode of encryption; undefined without encryption. */
  readonly sslmode: "require" | "verify-full" | undefined
}

/** libpq URI of a branch; the password is masked by default. */
export const connectionString = (
  { host, port, sslmode }: ServerPlace,
  { database, role }: BranchNames,
  password = "****"
) => {
  const at = host.includes(":") ? `[${host}]` : host
  return `postgres://${role}:${password}@${at}:${port}/${database}${sslmode === undefined ? "" : `?sslmode=${sslmode}`}`
}

/** The branch id in a request's header; undefined when it is invalid. */
export const parseBranchId = (text: string): BranchId | undefined => {
  const id = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : Number.NaN
  return id <= 2_147_483_647 ? (id as BranchId) : undefined
}
