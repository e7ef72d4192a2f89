import { Schema } from "effect"
import { isStorable } from "../text/StorableText.ts"
import { csvLine } from "../text/csv/Cell.ts"

const AuditOutcome = Schema.Literals(["done", "failed", "refused"])

const ActorType = Schema.Literals(["key", "identity", "service", "unknown"])

export const AuditActor = Schema.Struct({
  type: ActorType,
  /** The id of the key or identity; empty for other actors. */
  id: Schema.String,
  /** The key's label, or the identity's e-mail address, at that time. */
  label: Schema.String
})
export type AuditActor = typeof AuditActor.Type

const Document = Schema.NullOr(Schema.Json)

/** An entry of the audit. */
export const AuditEntry = Schema.Struct({
  id: Schema.Int,
  at: Schema.String,
  actor: AuditActor,
  /** Whether a session of the dashboard acted for the key or identity. */
  dashboard: Schema.Boolean,
  /** Such as `key.create`. */
  action: Schema.String,
  /** The changed object, such as `key:3`. */
  subject: Schema.String,
  /** `failed`: an error ended the request. `refused`: the caller may not do this. */
  outcome: AuditOutcome,
  /** The status of the response; null if the change was done. */
  status: Schema.NullOr(Schema.Int),
  code: Schema.NullOr(Schema.String),
  /** The object before and after, without secrets; null before a creation and after a deletion. */
  before: Document,
  after: Document,
  request_id: Schema.NullOr(Schema.String),
  /** The client's IP address. */
  address: Schema.NullOr(Schema.String)
})
export type AuditEntry = typeof AuditEntry.Type

/** The columns of the CSV, in order. */
const auditColumns = [
  "id",
  "at",
  "actor_type",
  "actor_id",
  "actor_label",
  "dashboard",
  "action",
  "subject",
  "outcome",
  "status",
  "code",
  "before",
  "after",
  "request_id",
  "address"
] as const

/** A time as ISO 8601 with its offset; a date alone is its midnight in UTC. */
export const Time = Schema.String.check(
  Schema.isPattern(/^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d))?$/, {
    expected: "a time such as 2026-01-31 or 2026-01-31T12:00:00Z"
  }),
  Schema.makeFilter((text: string) => !Number.isNaN(Date.parse(text)) || "Expected a time that exists")
)
const Text = Schema.NonEmptyString.check(Schema.isMaxCodePoints(500), isStorable)

export const AuditQuery = Schema.Struct({
  /** `key:3`, `identity:<id>`, or a type alone: `key`, `identity`, `service`, `unknown`. */
  actor: Schema.optionalKey(
    Text.check(
      Schema.isPattern(/^(?:(?:key|identity):.+|key|identity|service|unknown)$/, {
        expected: "key:<id>, identity:<id>, key, identity, service or unknown"
      })
    )
  ),
  /** An action, or its first part: `key` has those that begin with `key.`. */
  action: Schema.optionalKey(Text),
  /** Exactly, such as `key:3`; a type alone such as `key:` has all of its subjects. */
  subject: Schema.optionalKey(Text),
  /** The time from which on, and the one before which. */
  from: Schema.optionalKey(Time),
  to: Schema.optionalKey(Time),
  request_id: Schema.optionalKey(Text),
  outcome: Schema.optionalKey(AuditOutcome),
  /** Entries that are older than the one with this id: `next` of the page before. */
  before: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))),
  limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 })))
})
export type AuditQuery = typeof AuditQuery.Type

export const AuditList = Schema.Struct({
  /** The newest first. */
  entries: Schema.Array(AuditEntry),
  /** The parameter `before` of the next page; null on the last one. */
  next: Schema.NullOr(Schema.Int)
})
export type AuditList = typeof AuditList.Type

/** A spreadsheet would run what begins so as a formula; labels and names are chosen by callers. */
const formula = /^[=+\-@\t\r]/

const shown = (value: unknown): string | null => {
  if (value === null || value === undefined) return null
  const text = typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value)
  return typeof value === "string" && formula.test(text) ? `'${text}` : text
}

/** Entries as CSV (RFC 4180), with a line of column names. */
export const auditCsv = (entries: ReadonlyArray<AuditEntry>): string => {
  const lines = entries.map((entry) => {
    const { actor, ...rest } = entry
    const row: Readonly<Record<string, unknown>> = {
      ...rest,
      actor_type: actor.type,
      actor_id: actor.id,
      actor_label: actor.label
    }
    return csvLine(auditColumns.map((name) => shown(row[name])))
  })
  return [auditColumns.join(","), ...lines, ""].join("\r\n")
}

/** A date alone is its midnight in UTC, whatever the time zone of the database's session. */
export const atUtc = (time: string): string => (time.length === 10 ? `${time}T00:00:00Z` : time)
