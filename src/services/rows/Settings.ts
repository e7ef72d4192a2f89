import { Context, Effect, Layer } from "effect"
import { type SelectLimits } from "../../domain/rows/plan/Related.ts"
import { flag, integer, oneOf } from "../../domain/Settings.ts"

const txEnds = ["commit", "commit-allow-override", "rollback", "rollback-allow-override"] as const

/** Settings of `/v1/db` (docs/configuration.md). */
export class RowSettings extends Context.Service<
  RowSettings,
  {
    /** The most rows that one read returns; 0: no limit. */
    readonly maxRows: number
    /** The default of `Prefer: return` for writes. */
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
      return RowSettings.of({
        maxRows: yield* integer("SVC_DB_MAX_ROWS", 10_000, 0, 2_147_483_647),
        defaultReturn: yield* oneOf("SVC_DB_DEFAULT_RETURN", "representation", ["representation", "minimal"]),
        limits: { aggregates: yield* flag("SVC_DB_AGGREGATES", false) },
        plans: yield* flag("SVC_DB_PLAN_ENABLED", false),
        txEnd: yield* oneOf("SVC_DB_TX_END", "commit", txEnds)
      })
    })
  )
}
