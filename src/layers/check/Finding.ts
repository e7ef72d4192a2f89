import { type Cause } from "effect"
import { startFailure } from "../process/StartError.ts"

/** What a check found. */
export interface CheckFinding {
  /** What it is about: a setting, or a part of the service. */
  readonly part: string
  /** `error`: the service does not start, or a part of it does not work; `warning`: something is missing or slow. */
  readonly level: "error" | "warning"
  /** What is wrong, and what to do unless `sql` says it. */
  readonly text: string
  /** The statements that mend it, and who may run them. */
  readonly sql?: { readonly by: string; readonly statements: ReadonlyArray<string> }
}

/** A part that was checked, where it is, and what was found. */
export interface Checked {
  readonly part: string
  readonly at: string
  readonly findings: ReadonlyArray<CheckFinding>
}

export const faulty = (part: string, text: string): CheckFinding => ({ part, level: "error", text })

export const wanting = (
  part: string,
  text: string,
  by?: string,
  statements: ReadonlyArray<string> = []
): CheckFinding => ({
  part,
  level: "warning",
  text,
  ...(by !== undefined && { sql: { by, statements } })
})

/** The first line of a failure, without a stack. */
export const reasonFor = (cause: Cause.Cause<unknown>): string =>
  (startFailure(cause).split("\n")[0] ?? "").replace(/^svc: /, "")
