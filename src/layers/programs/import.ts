import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Console, Effect } from "effect"
import { importFrom } from "../moving/Import.ts"
import { archivePassphrase } from "../moving/Passphrase.ts"
import { archivePlace } from "../moving/Place.ts"
import { DataDir } from "../process/DataDir.ts"
import { startError, startFailure } from "../process/StartError.ts"

const usage = `Usage: npm run import -- <file or s3://bucket/name>
  restores an archive of npm run export into a new installation (docs/moving.md)`

/** `npm run import -- <place>`: a new installation from an archive. */
const program = Effect.gen(function* () {
  const [given, ...more] = process.argv.slice(2)
  if (given === undefined || given.startsWith("-") || more.length > 0) {
    yield* Console.error(usage)
    process.exitCode = 2
    return
  }
  const place = yield* Effect.try({
    try: () => archivePlace(given),
    catch: (cause) => startError("The place is invalid", cause)
  })
  const passphrase = yield* archivePassphrase("import")
  yield* importFrom(place, passphrase, Console.error)
  yield* Console.log(`Imported ${place.name}: start the service`)
})

program.pipe(
  Effect.provide(DataDir.layer),
  Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : Console.error(startFailure(cause)))),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
