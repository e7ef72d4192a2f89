import { Effect } from "effect"
import { type DumpContents } from "../../../src/domain/dumps/Contents.ts"
import { dumpContents } from "../../../src/layers/dumps/contents/Contents.ts"
import { contentsNative, dumpNative, restoreNative } from "../../../src/layers/dumps/native/Native.ts"
import { layerProcesses } from "../../../src/layers/dumps/native/Process.ts"
import { inspectPrograms } from "../../../src/layers/dumps/native/Programs.ts"
import { restorePlain } from "../../../src/layers/dumps/plain/Restore.ts"
import { dumpWasm } from "../../../src/layers/dumps/wasm/Wasm.ts"
import { type Login } from "../../../src/layers/postgres/Login.ts"
import { type DumpFailed, type RestoreTarget } from "../../../src/services/ports/DumpTools.ts"
import { place } from "./native.ts"

/** A way to dump and restore databases. */
export interface DumpWay {
  readonly dump: (source: Login, file: string) => Effect.Effect<void, DumpFailed>
  /** `source`: the service's login, in the main database. */
  readonly restore: (source: Login, file: string, target: RestoreTarget) => Effect.Effect<void, DumpFailed>
  readonly contents: (file: string) => Effect.Effect<DumpContents, DumpFailed>
}

const quiet = () => Effect.void
const options = { timeout: 240_000 }

export const builtIn: DumpWay = {
  dump: (source, file) => dumpWasm(source, options)(source.database, file, quiet),
  restore: (source, file, target) => restorePlain(source, options)(file, target, quiet),
  contents: (file) => dumpContents({ file })
}

const programs = Effect.gen(function* () {
  const found = yield* inspectPrograms(place ?? "")
  return typeof found === "string" ? yield* Effect.die(`SVC_TEST_PG_BIN: ${found}`) : found
}).pipe(Effect.provide(layerProcesses))

export const native: DumpWay = {
  dump: (source, file) =>
    Effect.flatMap(programs, (found) => dumpNative(found, source, options)(source.database, file, quiet)).pipe(
      Effect.provide(layerProcesses)
    ),
  restore: (source, file, target) =>
    Effect.flatMap(programs, (found) => restoreNative(found, source, options)(file, target, quiet)).pipe(
      Effect.provide(layerProcesses)
    ),
  contents: (file) => Effect.flatMap(programs, (found) => contentsNative(found)(file))
}
