import { type Answer, type Statement } from "../../../services/ports/Db.ts"
import { type ServerError, type TextRow } from "./MessageReader.ts"

/** Why an exchange failed: PostgreSQL's error, or undefined if the connection was lost. */
export interface ExchangeFailure {
  readonly error: ServerError | undefined
  /** Index of the command that failed; the number of commands if the commit did. */
  readonly at: number
  /** The command's statement was prepared by an earlier exchange, perhaps for other definitions of what it names. */
  readonly reused: boolean
  /** PostgreSQL has bound the command's parameters and begun to execute it, or may have. */
  readonly begun: boolean
}

/**
 * Rows of each command, in order. An error of PostgreSQL's rolls the whole exchange back. If the connection was lost, or
 * rows were too large to be kept, it may have been committed.
 */
export interface Outcome {
  readonly results: ReadonlyArray<ReadonlyArray<TextRow>>
  readonly failure: ExchangeFailure | undefined
  /** Transaction status after the exchange: I idle, T in a transaction, E in a failed transaction; "" unknown. */
  readonly status: string
}

export const oversized: ServerError = {
  severity: "ERROR",
  code: "svc_too_large",
  message: "The result exceeds the size that this server returns in one response",
  detail: undefined,
  hint: undefined,
  nested: false
}

/** It is not known whether the exchange was committed. */
export const unknown: Outcome = {
  results: [],
  failure: { error: undefined, at: 0, reused: false, begun: true },
  status: ""
}

const characterNotInRepertoire = "22021"

export const nulInText: ServerError = {
  severity: "ERROR",
  code: characterNotInRepertoire,
  message: 'invalid byte sequence for encoding "UTF8": 0x00',
  detail: undefined,
  hint: undefined,
  nested: false
}

/** Whether a prepared statement is gone (26000, 34000: user code has dropped it), or its result has changed (0A000). */
export const isGone = ({ failure }: Outcome) => /^(26000|34000|0A000)$/.test(failure?.error?.code ?? "")

/** Whether a statement that was prepared earlier could not be bound: if it is to blame, it must not be used again. */
export const isUnbound = ({ failure }: Outcome) => failure?.reused === true && !failure.begun

/**
 * Whether it could not be bound because what it names has another definition than when it was prepared: PostgreSQL plans
 * it again with the types that its parameters had, and with the result that it had.
 */
export const isOutdated = (outcome: Outcome) => {
  const { error } = outcome.failure ?? {}
  return isUnbound(outcome) && error?.nested === false && /^(0A000|26000|42(?!501))/.test(error.code)
}

/**
 * Whether a statement failed for lack of memory, or by a regular expression that is too complex (2201B, 53200, 54000,
 * XX000): the server process may keep what it has allocated, so that it should end.
 */
export const isBloated = ({ failure }: Outcome) => /^(2201B|53200|540|XX000)/.test(failure?.error?.code ?? "")

/** Whether the connection was lost before the exchange was answered. */
export const isLost = ({ failure }: Outcome) => failure !== undefined && failure.error === undefined

/** Whether a failure is a result that exceeds the size of a response. */
export const isOversized = (error: unknown) => error === oversized

/** A row as the answer to a statement, with values as bytes only if that wants them. */
export const answerOf = ({ bytes }: Statement, row: TextRow): Answer =>
  bytes === true || !row.some((value) => typeof value === "object" && value !== null)
    ? row
    : row.map((value) => (value === null ? null : String(value)))
