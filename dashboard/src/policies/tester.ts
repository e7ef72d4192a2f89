import { qualifiedName } from "../catalogue/names.ts"
import type { Table } from "../catalogue/queries.ts"
import { call } from "../wire/call.ts"
import { type Viewer, viewerStatements } from "../wire/viewer.ts"
import { appliesTo, type Policy } from "./policy.ts"

const tested = ["SELECT", "UPDATE", "DELETE"] as const
type Tested = (typeof tested)[number]

export interface Verdict {
  readonly command: Tested
  /** Rows that the caller may use with it. */
  readonly rows: number
  /** The policies that apply to it, and how many of the caller's rows satisfy each. */
  readonly policies: ReadonlyArray<{ readonly policy: Policy; readonly rows: number }>
}

export interface Outcome {
  readonly verdicts: ReadonlyArray<Verdict>
  readonly total: number
  readonly sample: ReadonlyArray<Readonly<Record<string, unknown>>>
}

const timeout = 10_000
const sampleRows = 5

const applying = (table: Table, role: string, command: Tested) =>
  table.policies.filter((policy) => (policy.command === "ALL" || policy.command === command) && appliesTo(policy, role))

const either = (policies: ReadonlyArray<Policy>) => policies.map(({ using }) => `(${using ?? "true"})`)

/** As PostgreSQL combines them: any permissive policy, and all restrictive ones. */
const combined = (policies: ReadonlyArray<Policy>) => {
  const allowing = either(policies.filter(({ permissive }) => permissive))
  const limiting = either(policies.filter(({ permissive }) => !permissive))
  return [`(${allowing.length === 0 ? "false" : allowing.join(" or ")})`, ...limiting].join(" and ")
}

/**
 * Counts what a caller may read, change and delete, in one read-only statement that runs as the caller: rows that it
 * does not see, it can't change either.
 */
export const testAs = async (table: Table, viewer: Viewer, signal: AbortSignal): Promise<Outcome> => {
  const protectedRows = table.row_level_security.enabled
  const all = tested.map((command) => ({
    command,
    policies: protectedRows ? applying(table, viewer.role, command) : []
  }))
  const counts = all.flatMap(({ command, policies }) => {
    const condition = !protectedRows || command === "SELECT" ? "true" : combined(policies)
    return [
      `count(*) filter (where ${condition}) as "${command}"`,
      ...policies.map(({ using }, at) => `count(*) filter (where ${using ?? "true"}) as "${command} ${at}"`)
    ]
  })
  const from = qualifiedName(table)
  const before = viewerStatements(viewer)
  const statements = [
    ...before,
    { sql: `select ${counts.join(", ")} from ${from}` },
    { sql: `select * from ${from} limit ${sampleRows}` }
  ]
  const { results } = await call("POST /v1/sql/transaction", {
    payload: { statements, read_only: true, timeout },
    signal
  })
  const whole = await call("POST /v1/sql", {
    payload: { sql: `select count(*) as total from ${from}`, read_only: true, timeout },
    signal
  })
  const row = results[before.length]?.rows[0] ?? {}
  return {
    verdicts: all.map(({ command, policies }) => ({
      command,
      rows: Number(row[command]),
      policies: policies.map((policy, at) => ({ policy, rows: Number(row[`${command} ${at}`]) }))
    })),
    total: Number(whole.rows[0]?.["total"]),
    sample: results[before.length + 1]?.rows ?? []
  }
}
