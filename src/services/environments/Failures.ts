import { type EnvironmentId } from "../../domain/environments/Environment.ts"
import { Conflict, Forbidden, InvalidRequest, NotFound, Unavailable } from "../../domain/errors.ts"

export const environmentsBusy = new Unavailable({
  error: "Another environment is being created; try again",
  code: "ENVIRONMENTS_BUSY"
})

export const notFound = (id: EnvironmentId) =>
  new NotFound({ error: `No environment ${id}`, code: "ENVIRONMENT_NOT_FOUND" })

export const invalidPayload = (field: string, problem: string) =>
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

/** Refusals of PostgreSQL whose cause the caller or the operator can remove. */
export const refusals = {
  "42501": () =>
    new Forbidden({
      error: "The login of DATABASE_URL is not allowed to create the schema",
      code: "SCHEMA_NOT_ALLOWED",
      hint: "Grant it CREATE on the database, and make it a member of SVC_SERVICE_ROLE"
    }),
  // Two defaults, or the same slug twice: a concurrent request was first.
  "23505": () => environmentsBusy,
  // Only one of the check constraints concerns what a caller sends.
  "23514": () =>
    new InvalidRequest({
      error: "The environment's config would exceed 64 KiB",
      code: "ENVIRONMENT_CONFIG_TOO_LARGE"
    })
}
