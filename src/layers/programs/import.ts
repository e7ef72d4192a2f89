import { Console, Effect } from "effect"
import { printResult } from "../process/Output.ts"
import { importFrom } from "../moving/Import.ts"
import { archivePassphrase } from "../moving/Passphrase.ts"
import { archivePlace } from "../moving/Place.ts"
import { DataDir } from "../process/DataDir.ts"
import { startError } from "../process/StartError.ts"

/** `svc import`: a new installation from an archive. */
export const importInstallation = Effect.fnUntraced(function* ({ place: given }: { readonly place: string }) {
  const place = yield* Effect.try({
    try: () => archivePlace(given),
    catch: (cause) => startError("The place is invalid", cause)
  })
  const passphrase = yield* archivePassphrase("import")
  yield* importFrom(place, passphrase, Console.error)
  yield* printResult(`Imported ${place.name}: start the service`, { archive: place.name })
}, Effect.provide(DataDir.layer))
