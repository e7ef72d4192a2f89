import { Console, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { text } from "../../domain/Settings.ts"
import { Catalogues } from "../../services/catalogue/Catalogues.ts"
import { Example, readExample } from "../../services/example/Example.ts"
import { makeExampleMaking, type NewPerson } from "../../services/example/Making.ts"
import { ExampleSettings } from "../../services/example/Settings.ts"
import { loopback } from "../../services/identity/AccountSettings.ts"
import { Db } from "../../services/ports/Db.ts"
import { ExampleFiles } from "../../services/ports/example/ExampleFiles.ts"
import { httpAddress } from "../net/Listener.ts"
import { StartError } from "../process/StartError.ts"
import { workerNumber } from "../process/WorkerSettings.ts"
import { layerExampleFiles } from "./Files.ts"

const notBuilt = new StartError({
  message: "The example todo is not built: run npm run build:dashboard, or start without --example"
})

/**
 * The passwords are printed at once, because a start may still fail, and to a terminal only: what goes elsewhere is a log,
 * which must contain no secret.
 */
const announce = (people: ReadonlyArray<NewPerson>) =>
  process.stdout.isTTY
    ? Console.log(
        [
          "",
          "  The example todo was made. Its people have these passwords, which are shown once:",
          ...people.map(({ email, password }) => `    ${email}  ${password}`),
          ""
        ].join("\n")
      )
    : Effect.logInfo(
        `The example todo was made. svc account recover prints a link to a new password: ${people.map(({ email }) => email).join(", ")}`
      )

/** Anybody who reaches the page may sign up there and store files, as far as SVC_AUTH_REGISTRATION allows. */
const warnIfReachable = Effect.gen(function* () {
  const { host } = yield* httpAddress
  const known = yield* text("PUBLIC_URL", undefined)
  if (loopback.test(host) && known === undefined) return
  yield* Effect.logWarning(
    "The example todo is served to others than this machine: who opens /example/ may sign up and store files. Leave --example out on a public server"
  )
})

/** Makes the example, if it is enabled, before the first request is answered. Of several workers, one does. */
const layerExample = Layer.effect(
  Example,
  Effect.gen(function* () {
    const { enabled } = yield* ExampleSettings
    const { files, migrations } = yield* ExampleFiles
    if (!enabled) return Example.of({ current: Effect.undefined })
    if (files === undefined) return yield* notBuilt
    const sql = yield* SqlClient.SqlClient
    if (workerNumber === undefined || workerNumber === "1") {
      yield* warnIfReachable
      const make = yield* makeExampleMaking
      const people = yield* Effect.mapError(make(migrations), ({ message }) => new StartError({ message }))
      if (people.length > 0) {
        yield* announce(people)
        yield* (yield* Catalogues).changed((yield* Db).main)
      }
    }
    // The one that is being removed has no key any more.
    const current = Effect.map(readExample(sql), (record) => (record?.complete === true ? record : undefined))
    return Example.of({ current })
  })
)

export const layerExampleStart = layerExample.pipe(Layer.provideMerge(layerExampleFiles))
