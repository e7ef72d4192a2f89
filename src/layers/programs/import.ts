import { Console, Effect } from "effect"
import { importFrom } from "../moving/Import.ts"
import { withArchive } from "../moving/Program.ts"
import { DataDir } from "../process/DataDir.ts"
import { printResult } from "../process/Output.ts"

/** `svc import`: a new installation from an archive. */
export const importInstallation = ({ place: given }: { readonly place: string }) =>
  withArchive("import", given, (place, passphrase) =>
    Effect.andThen(
      importFrom(place, passphrase, Console.error),
      printResult(`Imported ${place.name}: start the service`, { archive: place.name })
    ).pipe(Effect.provide(DataDir.layer))
  )
