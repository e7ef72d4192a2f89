import { ddlEpochSql } from "../../../domain/catalogue/DdlSql.ts"
import { type Command, type Outcome } from "./Connection.ts"

/**
 * Reads the catalogue's epoch, which every transaction with DDL raises. A command sees everything committed before it
 * began, so an unchanged epoch behind a statement proves that the statement saw no newer catalogue.
 */
export const proof: Command = { text: `select ${ddlEpochSql}::text`, params: [], prepare: true }

/** Whether the outcome of `proof` is this epoch. */
export const isProven = ({ failure, results, status }: Outcome, epoch: number): boolean =>
  failure === undefined && status === "I" && Number(results[0]?.[0]?.[0]) === epoch

/** An expression that fails with a division by zero unless the epoch is `$1`, which rolls the transaction back. */
export const unchanged = `1 operator(pg_catalog./) (${ddlEpochSql} operator(pg_catalog.=) $1::pg_catalog.numeric)::pg_catalog.int4`

/** Fails unless the epoch is this one. */
export const assertion = (planned: number): Command => ({
  text: `select ${unchanged}`,
  params: [String(planned)],
  prepare: true
})
