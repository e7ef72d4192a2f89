import { Data, Effect } from "effect"
import { type SqlClient } from "effect/sql"
import { sqlStateOf } from "../../services/OwnTables.ts"

/** The database lacks something that only its administrator can provide; the message names it. */
export class InstallError extends Data.TaggedError("InstallError")<{ readonly message: string }> {}

/** Runs a statement for which the login may lack a privilege. */
export const needs = (sql: SqlClient.SqlClient, text: string, privilege: string, remedy = text) =>
  Effect.catchIf(
    sql.unsafe(text),
    (error) => sqlStateOf(error) === "42501",
    () =>
      Effect.fail(
        new InstallError({
          message: `The database login lacks a privilege: ${privilege}. Grant it, or run as an administrator: ${remedy};`
        })
      )
  )
