import { Context, Effect } from "effect"
import { type SqlClient, type SqlError } from "effect/sql"
import { type AuditActor, type AuditEntry } from "../../domain/audit/Entry.ts"

/** A JSON value, or none. */
type Document = object | null

/** The subject and content of a change. `before` and `after` must contain no secret: see domain/audit/Shown.ts. */
export interface Described {
  /** Such as `key:3`. */
  readonly subject: string
  readonly before?: Document
  readonly after?: Document
}

/** A change that a request is making, to be recorded once. */
export interface AuditedChange {
  actor: AuditActor
  subject: string
  before: Document
  after: Document
  /** Whether a transaction has recorded it. */
  recorded: boolean
  readonly action: string
  /** Whether a session of the dashboard makes it. */
  readonly dashboard: boolean
  readonly request_id: string | null
  readonly address: string | null
}

/** The change of the current request; undefined for those that the audit does not record. */
export const CurrentChange = Context.Reference<AuditedChange | undefined>("svc/services/CurrentChange", {
  defaultValue: () => undefined
})

export interface AuditRow extends Omit<AuditEntry, "id" | "at" | "before" | "after"> {
  readonly before: Document
  readonly after: Document
}

/** The row of what no request does, but a program of the service. */
export const byService = (program: string, action: string): Omit<AuditRow, "subject"> => ({
  actor: { type: "service", id: "", label: program },
  dashboard: false,
  action,
  outcome: "done",
  status: null,
  code: null,
  before: null,
  after: null,
  request_id: null,
  address: null
})

/** Characters of a document in an entry, and of its other texts. */
const [maxDocument, maxText] = [32 * 1024, 500]

const document = (value: Document) => {
  if (value === null) return null
  const text = JSON.stringify(value)
  return text.length <= maxDocument ? text : JSON.stringify({ omitted: `${text.length} characters` })
}
/** Paths may contain what PostgreSQL can't store. */
const text = (value: string) => value.slice(0, maxText).toWellFormed().replaceAll("\0", "\ufffd")

const insertSql = `insert into svc.audit
  (actor_type, actor_id, actor_label, dashboard, action, subject, outcome, status, code, before, after, request_id, address)
  values ($1, $2, $3, $4::bool, $5, $6, $7, $8::int4, $9, $10::text::json, $11::text::json, $12, $13)
  on conflict (subject) where action = 'session.sign_in' do nothing`

export const insertAudit = (
  sql: SqlClient.SqlClient,
  { action, actor, address, after, before, code, dashboard, outcome, request_id, status, subject }: AuditRow
): Effect.Effect<unknown, SqlError.SqlError> =>
  sql.unsafe(insertSql, [
    actor.type,
    text(actor.id),
    text(actor.label),
    dashboard,
    action,
    text(subject),
    outcome,
    status,
    code,
    document(before),
    document(after),
    request_id,
    address
  ])

/** Describes what the current request changes; it is recorded when the request ends. */
export const describeChange = ({ after = null, before = null, subject }: Described): Effect.Effect<void> =>
  Effect.map(CurrentChange, (change) => {
    if (change !== undefined) Object.assign(change, { subject, before, after })
  })

/** Records the current request's change in the transaction that makes it. Does nothing for changes by the service itself. */
export const recordChange = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, described: Described) {
  yield* describeChange(described)
  const change = yield* CurrentChange
  if (change === undefined) return
  yield* insertAudit(sql, { ...change, outcome: "done", status: null, code: null })
  // If the transaction is rolled back, the request fails, which is recorded in any case.
  change.recorded = true
})

/** Runs statements that change something, and records the change, in one transaction. */
export const audited = <A, E, R>(
  sql: SqlClient.SqlClient,
  change: Effect.Effect<A, E, R>,
  /** Undefined: nothing has changed. */
  described: (result: A) => Described | undefined
) =>
  sql.withTransaction(
    Effect.tap(change, (result) => {
      const what = described(result)
      return what === undefined ? Effect.void : recordChange(sql, what)
    })
  )
