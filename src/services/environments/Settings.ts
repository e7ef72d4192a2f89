import { Context, Effect, Layer } from "effect"
import { isBucketPrefix, isProjectId, isSchemaPrefix, type Project } from "../../domain/environments/Environment.ts"
import { integer, SettingError, text } from "../../domain/Settings.ts"

const checked = (name: string, fallback: string, rule: string, isGood: (value: string) => boolean) =>
  Effect.filterOrFail(
    text(name, fallback),
    isGood,
    (value) => new SettingError({ message: `${name} must be ${rule}, but it is "${value}"` })
  )

/** SVC_PROJECT_*, SVC_MAX_ENVIRONMENTS, read before anything is started (docs/configuration.md). */
export class EnvironmentSettings extends Context.Service<
  EnvironmentSettings,
  {
    readonly project: Project
    /** Maximum per project, deleted ones not counted. */
    readonly limit: number
    /** Owner of the schemas. */
    readonly owner: string
  }
>()("svc/services/EnvironmentSettings") {
  static readonly layer = Layer.effect(
    EnvironmentSettings,
    Effect.gen(function* () {
      return EnvironmentSettings.of({
        project: {
          id: yield* checked(
            "SVC_PROJECT_ID",
            "default",
            "1 to 64 letters, digits, `.`, `_` and `-`, starting with a letter or a digit",
            isProjectId
          ),
          schema: yield* checked(
            "SVC_PROJECT_SCHEMA",
            "project",
            "1 to 40 lower-case letters, digits and `_`, and no prefix of a system schema",
            isSchemaPrefix
          ),
          bucket: yield* checked(
            "SVC_PROJECT_BUCKET",
            "project",
            "1 to 40 lower-case letters, digits, `.` and `-` with which an S3 bucket name may start",
            isBucketPrefix
          )
        },
        limit: yield* integer("SVC_MAX_ENVIRONMENTS", 1, 1, 1000),
        owner: yield* text("SVC_SERVICE_ROLE", "postgres")
      })
    })
  )
}
