import { Context, Effect, Layer } from "effect"
import { flag, integer, list, oneOf, SettingError } from "../../domain/Settings.ts"

const neverExposed = new Set(["svc", "pg_catalog", "information_schema", "pg_toast"])

const txEnds = ["commit", "commit-allow-override", "rollback", "rollback-allow-override"] as const

/** What `/v1/db` reaches and how much of it at a time (docs/configuration.md). */
export class RowSettings extends Context.Service<
  RowSettings,
  {
    /** Reachable schemas; the first is the default. Never empty, never `svc`. */
    readonly schemas: readonly [string, ...ReadonlyArray<string>]
    /** Rows one read gives at most; 0: no cap. */
    readonly maxRows: number
    /** What writes answer when the caller does not say. */
    readonly defaultReturn: "representation" | "minimal"
    /** Whether callers may use `sum()`, `count()` and the like in `select`. */
    readonly aggregates: boolean
    /** Whether callers may see how PostgreSQL runs their request. */
    readonly plans: boolean
    /** How a request's transaction ends, and whether `Prefer: tx=` may say otherwise. */
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
      return RowSettings.of({
        schemas: [first, ...others],
        maxRows: yield* integer("SVC_DB_MAX_ROWS", 10_000, 0, 2_147_483_647),
        defaultReturn: yield* oneOf("SVC_DB_DEFAULT_RETURN", "representation", ["representation", "minimal"]),
        aggregates: yield* flag("SVC_DB_AGGREGATES", false),
        plans: yield* flag("SVC_DB_PLAN_ENABLED", false),
        txEnd: yield* oneOf("SVC_DB_TX_END", "commit", txEnds)
      })
    })
  )
}
