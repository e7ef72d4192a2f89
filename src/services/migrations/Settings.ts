import { Context, Effect, Layer } from "effect"
import { supabaseEnabled } from "../supabase/Settings.ts"
import { duration, oneOf, text } from "../../domain/Settings.ts"

/** MIGRATIONS_*, read before anything is started (docs/configuration.md). */
export class MigrationSettings extends Context.Service<
  MigrationSettings,
  {
    /** The configured path: absolute, or relative to the working directory. */
    readonly directory: string
    /** The tool whose history is kept; `auto`: detected from the database and the directory. */
    readonly tool: "auto" | "drizzle" | "prisma" | "own"
    /** Time limit of one statement, in ms; 0: none. */
    readonly timeout: number
  }
>()("svc/services/MigrationSettings") {
  static readonly layer = Layer.effect(
    MigrationSettings,
    Effect.gen(function* () {
      const enabled = yield* supabaseEnabled
      return MigrationSettings.of({
        directory: yield* text("MIGRATIONS_DIR", enabled ? "supabase/migrations" : "migrations"),
        tool: yield* oneOf("MIGRATIONS_TOOL", "auto", ["auto", "drizzle", "prisma", "own"]),
        timeout: yield* duration("MIGRATIONS_TIMEOUT", 600_000)
      })
    })
  )
}
