import { Effect, Layer } from "effect"
import { join } from "node:path"
import { ExampleSettings } from "../../services/example/Settings.ts"
import { ExampleFiles } from "../../services/ports/example/ExampleFiles.ts"
import { dashboardOutput, readBuilt } from "../dashboard/Files.ts"

/** Reads the page and the SQL of the example, which the build of the dashboard writes beside it. */
export const layerExampleFiles = Layer.effect(
  ExampleFiles,
  Effect.gen(function* () {
    const { enabled } = yield* ExampleSettings
    if (!enabled) return ExampleFiles.of({ files: undefined, migrations: [] })
    const files = yield* Effect.promise(() => readBuilt(join(dashboardOutput, "example")).catch(() => undefined))
    const migrations = Array.from(files ?? [])
      .filter(([name]) => name.endsWith(".sql"))
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([, { plain }]) => new TextDecoder().decode(plain))
    return ExampleFiles.of({ files: migrations.length > 0 ? files : undefined, migrations })
  })
)
