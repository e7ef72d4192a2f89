import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Console, Effect } from "effect"
import { DumpFailed } from "../../services/ports/DumpTools.ts"
import { layerMovable } from "../moving/Environment.ts"
import { exportTo } from "../moving/Export.ts"
import { archivePassphrase } from "../moving/Passphrase.ts"
import { archivePlace } from "../moving/Place.ts"
import { startFailure, StartError, startError } from "../process/StartError.ts"

const usage = `Usage: npm run export -- <file or s3://bucket/name>
  writes the installation into one encrypted archive, also while the service runs (docs/moving.md)`

/** `npm run export -- <place>`: the whole installation in one archive. */
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
  yield* Console.log(`${place.name}: ${size} bytes`)
})

const isDumpFailure = (cause: unknown): cause is DumpFailed => cause instanceof DumpFailed

program.pipe(
  Effect.catchIf(isDumpFailure, ({ reason }) => new StartError({ message: `Failed to dump the database: ${reason}` })),
  Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : Console.error(startFailure(cause)))),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
