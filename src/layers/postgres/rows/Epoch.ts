import { ddlEpochSql } from "../../../domain/catalogue/DdlSql.ts"
import { type Command } from "./Connection.ts"
import { isLost, type Outcome } from "./Outcome.ts"

/**
 * Reads the catalogue's epoch, which every transaction with DDL raises. A command sees everything committed before it
 * began, so an unchanged epoch behind a statement proves that the statement saw no newer catalogue.
 */
const proof: Command = { text: `select ${ddlEpochSql}`, params: [], prepare: true }

/**
 * Like `proof`, and also makes everything durable that was committed before it in the session without waiting for the
 * disk.
 */
export const syncedProof: Command = {
  ...proof,
  text: `${proof.text}, pg_catalog.pg_logical_emit_message(true, 'svc', '')`
}

/** Whether the outcome of `proof` is this epoch. */
const isEpoch = ({ failure, results, status }: Outcome, epoch: number): boolean =>
  failure === undefined && status === "I" && Number(results[0]?.[0]?.[0]) === epoch

/** The proof, after a statement, that it used no newer catalogue. */
export interface Proof {
  readonly command: Command
  /** Whether the outcome of `command` proves this epoch. */
  readonly holds: (outcome: Outcome, epoch: number) => boolean
}

export const proofOfPrimary: Proof = { command: proof, holds: isEpoch }

/** An expression that fails with a division by zero unless the epoch is `$n`, which rolls the transaction back. */
export const unchanged = (n: number) =>
  `1 operator(pg_catalog./) (${ddlEpochSql} operator(pg_catalog.=) $${n}::pg_catalog.numeric)::pg_catalog.int4`

/** SQLSTATE of its failure. */
export const movedState = "22012"

/** Fails unless the epoch is this one. */
export const assertion = (planned: number): Command => ({
  text: `select ${unchanged(1)}`,
  params: [String(planned)],
  prepare: true
})

/** The commands of a clean write, whose commit does not wait for the disk (PostgreSQL documentation, "Asynchronous Commit"). */
export const withoutSync = (commands: CleanCommands["commands"]): CleanCommands["commands"] =>
  commands.map((command, at) => (at === commands.length - 1 ? { ...command, text: unchangedWithoutSync } : command))

const unchangedWithoutSync = `select ${unchanged(1)}, pg_catalog.set_config('synchronous_commit', 'off', true)`

/**
 * The outcome of a clean statement.
 *
 * - `unsent`: it was not sent, or names what is not there any more, so that it has not begun and can be run elsewhere.
 * - `doubtful`: it is not proven that it ran in the epoch that it was planned with, or the connection of a read was lost. It
 *   was rolled back, or only read, but user code may have run: in a newer epoch it may not be clean any more.
 */
export type ProvenOutcome = Outcome | "unsent" | "doubtful"

export const isProven = (outcome: ProvenOutcome): outcome is Outcome => typeof outcome !== "string"

/** A clean statement: its commands, of a write with `assertion` behind them. */
export interface CleanCommands {
  readonly access: "read" | "write"
  readonly commands: ReadonlyArray<Command>
}

/** Whether PostgreSQL found no object of a name when it parsed a command; `nested` is what a function has met. */
const isUnparsed = ({ failure }: Outcome): boolean =>
  failure?.begun === false && failure.error?.nested !== true && /^42(883|P01|703|704)$/.test(failure.error?.code ?? "")

/** `proven`: whether the epoch read behind the exchange is that of the plan. */
export const judge = ({ access, commands }: CleanCommands, outcome: Outcome, proven: boolean): ProvenOutcome => {
  const { failure } = outcome
  if (isLost(outcome) && failure?.begun === false) return "unsent"
  if (access === "write") {
    // Committed in its epoch; or it is not known whether it has committed, and must not run again.
    if (failure === undefined || isLost(outcome)) return outcome
    if (failure.at === commands.length - 1) return "doubtful"
  }
  if (proven) return outcome
  return isUnparsed(outcome) ? "unsent" : "doubtful"
}
