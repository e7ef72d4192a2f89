import { Effect } from "effect"
import { type SqlError } from "effect/sql"
import { type EnvironmentId } from "../../domain/environments/Environment.ts"
import { Conflict, Forbidden, InvalidRequest, NotFound, Unavailable } from "../../domain/errors.ts"
import { onOwnTables } from "../OwnTables.ts"

export const busy = new Unavailable({
  error: "Another environment is being created; try again",
  code: "ENVIRONMENTS_BUSY"
})

export const notFound = (id: EnvironmentId) =>
  new NotFound({ error: `No environment ${id}`, code: "ENVIRONMENT_NOT_FOUND" })

export const invalid = (field: string, problem: string) =>
  new InvalidRequest({ error: "Invalid payload", details: [`${field}: ${problem}`] })

/** `before`: the deleted environment that had the schema. */
export const schemaExists = (schema: string, before: number | null) =>
  new Conflict({
    error:
      before === null
        ? `The schema "${schema}" already exists`
        : `The schema "${schema}" still exists from environment ${before}, which was deleted`,
    code: "SCHEMA_EXISTS",
    hint:
      before === null ? "Choose another slug" : "Choose another slug, or drop the schema and delete the bucket first"
  })

/** The SQLSTATE of a failed statement. */
export const sqlState = (error: unknown): string | undefined =>
  ((error as SqlError.SqlError).reason?.cause as { readonly code?: string } | undefined)?.code

/** Passes errors of callers on, and translates what PostgreSQL refused where the caller or the operator can act on it. */
export const refused = <E>(
  error: E | SqlError.SqlError
): Effect.Effect<never, Exclude<E, SqlError.SqlError> | Unavailable | Forbidden | InvalidRequest> => {
  if ((error as SqlError.SqlError)._tag !== "SqlError") return Effect.fail(error as Exclude<E, SqlError.SqlError>)
  switch (sqlState(error)) {
    case "42501":
      return Effect.fail(
        new Forbidden({
          error: "The login of DATABASE_URL is not allowed to create the schema",
          code: "SCHEMA_NOT_ALLOWED",
          hint: "Grant it CREATE on the database, and make it a member of SVC_SERVICE_ROLE"
        })
      )
    // Two defaults, or the same slug twice: a concurrent request was faster.
    case "23505":
      return Effect.fail(busy)
    // Only one of the check constraints is about the caller's data.
    case "23514":
      return Effect.fail(
        new InvalidRequest({
          error: "The environment's config would exceed 64 KiB",
          code: "ENVIRONMENT_CONFIG_TOO_LARGE"
        })
      )
    default:
      return onOwnTables(Effect.fail(error as SqlError.SqlError))
  }
}
