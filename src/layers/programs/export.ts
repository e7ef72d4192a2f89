import { Console, Effect } from "effect"
import { DumpFailed } from "../../services/ports/DumpTools.ts"
import { printResult } from "../process/Output.ts"
import { layerMovable } from "../moving/Environment.ts"
import { exportTo } from "../moving/Export.ts"
import { archivePassphrase } from "../moving/Passphrase.ts"
import { archivePlace } from "../moving/Place.ts"
import { StartError, startError } from "../process/StartError.ts"

const isDumpFailure = (cause: unknown): cause is DumpFailed => cause instanceof DumpFailed

/** `svc export`: the whole installation in one archive. */
export const exportInstallation = Effect.fnUntraced(
  function* ({ place: given }: { readonly place: string }) {
    const place = yield* Effect.try({
      try: () => archivePlace(given),
      catch: (cause) => startError("The place is invalid", cause)
    })
    const passphrase = yield* archivePassphrase("export")
    let shown = 0
    const size = yield* exportTo(place, passphrase, {
      dump: (fraction) => {
        if (fraction < shown + 0.1) return Effect.void
        shown = fraction
        return Console.error(`Database: ${Math.round(fraction * 100)} %`)
      },
      objects: (count) => {
        if (count % 1000 === 0) process.stderr.write(`Objects: ${count}\n`)
      }
    }).pipe(Effect.provide(layerMovable))
    yield* printResult(`${place.name}: ${size} bytes`, { archive: place.name, bytes: size })
  },
  Effect.catchIf(isDumpFailure, ({ reason }) => new StartError({ message: `Failed to dump the database: ${reason}` }))
)
