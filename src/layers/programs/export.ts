import { Console, Effect } from "effect"
import { DumpFailed } from "../../services/ports/DumpTools.ts"
import { settingNames } from "../check/Settings.ts"
import { layerMovable } from "../moving/Environment.ts"
import { exportTo } from "../moving/Export.ts"
import { withArchive } from "../moving/Program.ts"
import { printResult } from "../process/Output.ts"
import { StartError } from "../process/StartError.ts"

const isDumpFailure = (cause: unknown): cause is DumpFailed => cause instanceof DumpFailed

/** `svc export`: the whole installation in one archive. */
export const exportInstallation = ({ place: given }: { readonly place: string }) =>
  withArchive("export", given, (place, passphrase) => {
    let shown = 0
    const report = {
      line: Console.error,
      dump: (fraction: number) => {
        if (fraction < shown + 0.1) return Effect.void
        shown = fraction
        return Console.error(`Database: ${Math.round(fraction * 100)} %`)
      },
      objects: (count: number) => {
        if (count % 1000 === 0) process.stderr.write(`Objects: ${count}\n`)
      }
    }
    return settingNames.pipe(
      Effect.flatMap((settings) => exportTo(place, passphrase, settings, report)),
      Effect.provide(layerMovable),
      Effect.catchIf(
        isDumpFailure,
        ({ reason }) => new StartError({ message: `Failed to dump the database: ${reason}` })
      ),
      Effect.flatMap((size) => printResult(`${place.name}: ${size} bytes`, { archive: place.name, bytes: size }))
    )
  })
