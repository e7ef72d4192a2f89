import { Schema } from "effect"
import { randomBytes } from "node:crypto"
import { isStorable } from "../text/StorableText.ts"

export const BranchId = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2_147_483_647 })).pipe(
  Schema.brand("BranchId")
)
export type BranchId = typeof BranchId.Type

/** Longest life of a branch in hours: a year. */
const longestTtl = 8760

/** What may be asked for (spec: Branch). `ttlHours` 0: it does not expire. */
export const NewBranch = Schema.Struct({
  label: Schema.NonEmptyString.check(Schema.isMaxLength(60), isStorable),
  ttlHours: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: longestTtl })))
})
export type NewBranch = typeof NewBranch.Type

/** A branch as it is shown. Timestamps are ISO 8601 in UTC with milliseconds. */
export const Branch = Schema.Struct({
  id: BranchId,
  label: Schema.String,
  database_name: Schema.String,
  /** As of a minute ago at most. */
  size_bytes: Schema.Int,
  created_at: Schema.String,
  /** 0: it does not expire. */
  ttl_hours: Schema.Int,
  expires_at: Schema.NullOr(Schema.String),
  /** `restoring`: it is being filled and can't be used yet. */
  status: Schema.Literals(["active", "restoring"]),
  /** Backup that it was restored from; null for a copy of the main database. */
  source_backup_id: Schema.NullOr(Schema.Int),
  /** `postgres://…` of the branch's own login; the password is shown in the answer that made it and never again. */
  connection: Schema.String
}).annotate({ identifier: "Branch" })
export type Branch = typeof Branch.Type

/** The database of a branch and the roles that are its own, all named after it. */
export interface BranchNames {
  readonly database: string
  /** Owns what is in the branch, and is the login that its maker is given. */
  readonly role: string
  /** Login of the service for service keys; may become `role`. */
  readonly keysLogin: string
  /** Login of the service for everybody else; may become anon and authenticated. */
  readonly rowsLogin: string
}

export const branchNames = (database: string): BranchNames => ({
  database,
  role: database,
  keysLogin: `${database}_keys`,
  rowsLogin: `${database}_rows`
})

/** A name that no other branch on any server has. */
export const newBranchDatabase = () => `svc_branch_${randomBytes(6).toString("hex")}`

export const newBranchPassword = () => randomBytes(24).toString("base64url")

/** Where a database server is, for people. */
export interface ServerPlace {
  readonly host: string
  readonly port: number
  /** libpq's word for how the connection is encrypted; undefined when it is not. */
  readonly sslmode: "require" | "verify-full" | undefined
}

/** libpq URI of a branch; without a password it is masked. */
export const connectionString = (
  { host, port, sslmode }: ServerPlace,
  { database, role }: BranchNames,
  password = "****"
) => {
  const at = host.includes(":") ? `[${host}]` : host
  return `postgres://${role}:${password}@${at}:${port}/${database}${sslmode === undefined ? "" : `?sslmode=${sslmode}`}`
}

/** The branch that a request names in its header; undefined when it is no branch id. */
export const parseBranchId = (text: string): BranchId | undefined => {
  const id = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : Number.NaN
  return id <= 2_147_483_647 ? (id as BranchId) : undefined
}
