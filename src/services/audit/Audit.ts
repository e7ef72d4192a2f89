import { Context, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { atUtc, AuditEntry, type AuditList, type AuditQuery } from "../../domain/audit/Entry.ts"
import { type Unavailable } from "../../domain/errors.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { isOutage, onOwnTables, queryRows } from "../OwnTables.ts"
import { type AuditRow, insertAudit } from "./Change.ts"

const defaultLimit = 100
/** How long a response waits for an entry that no transaction has written. */
const writeMillis = 5_000

const columns = `id::float8 as id, ${isoSql("at")} as at,
  json_build_object('type', actor_type, 'id', actor_id, 'label', actor_label) as actor,
  dashboard, action, subject, outcome, status, code, before, after, request_id, address`

/** The audit: who changed what by the management API. In PostgreSQL, so that all replicas have the same. */
export class Audit extends Context.Service<
  Audit,
  {
    readonly list: (query: AuditQuery) => Effect.Effect<AuditList, Unavailable>
    /**
     * Adds an entry that is not recorded in a transaction. Never fails: an entry that can't be written is logged as an
     * error, because the change has happened.
     */
    readonly write: (row: AuditRow) => Effect.Effect<void>
  }
>()("svc/services/Audit") {
  static readonly layer = Layer.effect(
    Audit,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = queryRows(sql, AuditEntry)

      const list = Effect.fn("Audit.list")(function* (query: AuditQuery) {
        const { action, actor, before, from, limit = defaultLimit, outcome, request_id, subject, to } = query
        const params: Array<unknown> = []
        const conditions: Array<string> = []
        const where = (condition: (parameter: string) => string, value: unknown) => {
          if (value === undefined) return
          params.push(value)
          conditions.push(condition(`$${params.length}`))
        }
        const [type, ...id] = actor?.split(":") ?? []
        where((p) => `actor_type = ${p}`, type)
        where((p) => `actor_id = ${p}`, id.length === 0 ? undefined : id.join(":"))
        // "/" follows "." in collation "C": a range finds all actions that begin with the text and a dot.
        where((p) => `(action = ${p} or action >= ${p} || '.' and action < ${p} || '/')`, action)
        where((p) => (subject?.endsWith(":") === true ? `starts_with(subject, ${p})` : `subject = ${p}`), subject)
        where((p) => `at >= ${p}::timestamptz`, from && atUtc(from))
        where((p) => `at < ${p}::timestamptz`, to && atUtc(to))
        where((p) => `request_id = ${p}`, request_id)
        where((p) => `outcome = ${p}`, outcome)
        where((p) => `id < ${p}::int8`, before)
        params.push(limit + 1)
        const found = yield* onOwnTables(
          rows(
            `select ${columns} from svc.audit ${conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`}
             order by id desc limit $${params.length}::int8`,
            params
          )
        )
        const entries = found.slice(0, limit)
        return { entries, next: found.length > limit ? (entries.at(-1)?.id ?? null) : null }
      })

      const write = (row: AuditRow) =>
        insertAudit(sql, row).pipe(
          Effect.timeout(writeMillis),
          // An attempt that failed because the database is unreachable has changed nothing.
          Effect.catchIf(
            (error) => row.outcome !== "done" && isOutage(error),
            () => Effect.logWarning("Failed to write an entry of the audit: the database is unreachable")
          ),
          Effect.catchCause((cause) => Effect.logError("Failed to write an entry of the audit", cause)),
          Effect.annotateLogs({ entry: row }),
          // Detached, so that a client that has disconnected does not stop it.
          Effect.forkDetach,
          Effect.flatMap(Fiber.await),
          Effect.asVoid
        )

      return Audit.of({ list, write })
    })
  )
}
