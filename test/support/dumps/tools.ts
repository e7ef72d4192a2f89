import { Effect, Layer } from "effect"
import { rename, rm, writeFile } from "node:fs/promises"
import { type DumpFailed, type DumpTool, DumpTools, type OnProgress } from "../../../src/services/ports/DumpTools.ts"

type Dump = (file: string, onProgress: OnProgress) => Effect.Effect<void, DumpFailed>

/** Creates the file in two steps; an interruption or failure in between leaves nothing. */
export const dumping =
  (text: string, between: (onProgress: OnProgress) => Effect.Effect<void, DumpFailed> = () => Effect.void): Dump =>
  (file, onProgress) =>
    Effect.gen(function* () {
      const partial = `${file}.partial`
      yield* Effect.promise(() => writeFile(partial, text, { mode: 0o600 }))
      yield* between(onProgress)
      yield* Effect.promise(() => rename(partial, file))
    }).pipe(Effect.onError(() => Effect.promise(() => rm(`${file}.partial`, { force: true }))))

/** A fake tool whose dumps and restores hang, fail or take time as a test requires. */
export const makeDumpTools = () => {
  const now: { dump: Dump; restore: Dump; contents: DumpTool["contents"] } = {
    dump: dumping("a dump"),
    restore: () => Effect.void,
    contents: () => Effect.succeed({ tables: new Map(), statements: new Map() })
  }
  const tool: DumpTool = {
    strategy: "pg_dump",
    version: "18.0",
    format: "custom",
    contents: (file) => Effect.suspend(() => now.contents(file)),
    dump: (_, file, onProgress) => Effect.suspend(() => now.dump(file, onProgress)),
    restore: (file, _, onProgress) => Effect.suspend(() => now.restore(file, onProgress))
  }
  const layer = Layer.succeed(
    DumpTools,
    DumpTools.of({
      current: Effect.succeed(tool),
      reader: () => Effect.succeed(tool),
      globals: (database) => Effect.succeed(`-- of ${database}\n`)
    })
  )
  return { now, layer }
}
