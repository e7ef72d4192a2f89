import { Effect } from "effect"
import { DumpScript } from "../../../domain/dumps/Script.ts"
import { withinBackupTimeout } from "../../../services/backups/Settings.ts"
import { type DumpFailed, type OnProgress, type RestoreTarget } from "../../../services/ports/DumpTools.ts"
import { type Login } from "../../postgres/Login.ts"
import { openDump } from "./File.ts"
import { makeRestoreRunner } from "./Runner.ts"

/** Smallest change of the progress that is reported. */
const progressStep = 0.005

const restored = Effect.fnUntraced(function* (
  login: Login,
  file: string,
  target: RestoreTarget,
  onProgress: OnProgress
) {
  const dump = yield* openDump(file)
  const runner = yield* makeRestoreRunner(login, target)
  const script = new DumpScript()
  let reported = 0
  for (let chunk = yield* dump.next; chunk !== undefined; chunk = yield* dump.next) {
    yield* runner.run(script, chunk)
    // Indexes are created after everything is read.
    const fraction = Math.min(dump.fraction(), 0.99)
    if (fraction < reported + progressStep) continue
    reported = fraction
    yield* onProgress(fraction)
  }
  yield* runner.end(script)
  yield* runner.finish
  yield* onProgress(1)
})

/**
 * Fills an empty database from a plain dump (`.sql.zst`), statement by statement on one connection, in constant memory.
 * Owners are skipped. Stops at the first error; earlier statements stay.
 *
 * The script runs with the rights of the target's role, except for what `makeRestoreRunner` does for it; psql commands are
 * rejected.
 * @param login the service's, in the main database
 * @param options.timeout time limit in ms
 */
export const restorePlain =
  (login: Login, options: { readonly timeout: number }) =>
  (file: string, target: RestoreTarget, onProgress: OnProgress): Effect.Effect<void, DumpFailed> =>
    restored(login, file, target, onProgress).pipe(Effect.scoped, withinBackupTimeout(options.timeout))
