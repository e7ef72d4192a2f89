import { csvLine } from "../text/csv/Cell.ts"
import { auditColumns, type AuditEntry } from "./Entry.ts"

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
