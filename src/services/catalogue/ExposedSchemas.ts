import { Context, Effect, Layer } from "effect"
import { list, SettingError } from "../../domain/Settings.ts"
import { quoteName } from "../../domain/sql/Names.ts"

const neverExposed = new Set(["svc", "svc_ddl", "pg_catalog", "information_schema", "pg_toast"])

/** The schemas whose tables and functions `/v1/db` serves (docs/configuration.md). */
export class ExposedSchemas extends Context.Service<
  ExposedSchemas,
  {
    /** The first is the default. Never empty, never `svc`. */
    readonly schemas: readonly [string, ...ReadonlyArray<string>]
    /** `search_path` of a request on an exposed schema: the schema, then `SVC_DB_EXTRA_SEARCH_PATH`. */
    readonly searchPath: (schema: string) => string
  }
>()("svc/services/ExposedSchemas") {
  static readonly layer = Layer.effect(
    ExposedSchemas,
    Effect.gen(function* () {
      const [first = "public", ...others] = yield* list("SVC_DB_SCHEMAS", ["public"])
      const refused = [first, ...others].find((schema) => neverExposed.has(schema))
      if (refused !== undefined) {
        return yield* new SettingError({ message: `SVC_DB_SCHEMAS must not name the system schema ${refused}` })
      }
      const extra = yield* list("SVC_DB_EXTRA_SEARCH_PATH", ["public", "extensions"])
      const searchPath = (schema: string) => [...new Set([schema, ...extra])].map(quoteName).join(", ")
      const searchPaths = new Map([first, ...others].map((schema) => [schema, searchPath(schema)]))
      return ExposedSchemas.of({
        schemas: [first, ...others],
        searchPath: (schema) => searchPaths.get(schema) ?? searchPath(schema)
      })
    })
  )
}
