import { Effect, type Redacted } from "effect"
import { startError } from "../process/StartError.ts"
import { archivePassphrase } from "./Passphrase.ts"
import { type ArchivePlace, archivePlace } from "./Place.ts"

/** Runs a program on the archive in the place that was given, with its passphrase. */
export const withArchive = <A, E>(
  purpose: "export" | "import",
  given: string,
  run: (place: ArchivePlace, passphrase: Redacted.Redacted) => Effect.Effect<A, E>
) =>
  Effect.gen(function* () {
    const place = yield* Effect.try({
      try: () => archivePlace(given),
      catch: (cause) => startError("The place is invalid", cause)
    })
    return yield* run(place, yield* archivePassphrase(purpose))
  })
