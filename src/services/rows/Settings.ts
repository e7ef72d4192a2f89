import { Context, Effect, Layer } from "effect"
import { type SelectLimits } from "../../domain/rows/plan/Related.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { flag, integer, list, oneOf, SettingError } from "../../domain/Settings.ts"

const neverExposed = new Set(["svc", "svc_ddl", "pg_catalog", "information_schema", "pg_toast"])

const txEnds = ["commit", "commit-allow-override", "rollback", "rollback-allow-override"] as const

/** Settings of `/v1/db` (docs/configuration.md). */
export class RowSettings extends Context.Service<
  RowSettings,
  {
    /** Exposed schemas; the first is the default. Never empty, never `svc`. */
    readonly schemas: readonly [string, ...ReadonlyArray<string>]
    /** `search_path` of a request on an exposed schema: the schema, then `SVC_DB_EXTRA_SEARCH_PATH`. */
    readonly searchPath: (schema: string) => string
    /** The most rows that one read returns; 0: no limit. */
    readonly maxRows: number
    /** What writes return by default. */
    readonly defaultReturn: "representation" | "minimal"
    readonly limits: SelectLimits
    /** Whether clients may request PostgreSQL's plan of a statement. */
    readonly plans: boolean
    /** How a request's transaction ends, and whether `Prefer: tx=` may override it. */
    readonly txEnd: (typeof txEnds)[number]
  }
>()("svc/services/RowSettings") {
  static readonly layer = Layer.effect(
    RowSettings,
    Effect.gen(function* () {
      const [first = "public", ...others] = yield* list("SVC_DB_SCHEMAS", ["public"])
      const refused = [first, ...others].find((schema) => neverExposed.has(schema))
      if (refused !== undefined) {
        return yield* new SettingError({ message: `SVC_DB_SCHEMAS must not name the system schema ${refused}` })
      }
      const extra = yield* list("SVC_DB_EXTRA_SEARCH_PATH", ["public", "extensions"])
      const searchPath = (schema: string) => [...new Set([schema, ...extra])].map(quoteName).join(", ")
      const searchPaths = new Map([first, ...others].map((schema) => [schema, searchPath(schema)]))
      return RowSettings.of({
        schemas: [first, ...others],
        searchPath: (schema) => searchPaths.get(schema) ?? searchPath(schema),
        maxRows: yield* integer("SVC_DB_MAX_ROWS", 10_000, 0, 2_147_483_647),
        defaultReturn: yield* oneOf("SVC_DB_DEFAULT_RETURN", "representation", ["representation", "minimal"]),
        limits: {
          aggregates: yield* flag("SVC_DB_AGGREGATES", false),
          maxEmbeds: yield* integer("SVC_DB_MAX_EMBEDS", 50, 1, 1000),
          maxEmbedDepth: yield* integer("SVC_DB_MAX_EMBED_DEPTH", 10, 1, 40)
        },
        plans: yield* flag("SVC_DB_PLAN_ENABLED", false),
        txEnd: yield* oneOf("SVC_DB_TX_END", "commit", txEnds)
      })
    })
  )
}
