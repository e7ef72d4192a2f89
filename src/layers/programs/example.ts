import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { createInterface } from "node:readline/promises"
import { readExample } from "../../services/example/Example.ts"
import { makeExampleRemoval } from "../../services/example/Removal.ts"
import * as flags from "../../services/flags/layer.ts"
import { FlagSettings } from "../../services/flags/Settings.ts"
import { FlagSets } from "../../services/flags/Sets.ts"
import * as supabase from "../../services/supabase/layer.ts"
import { layerFlagEngineEmbedded } from "../flags/engine/Embedded.ts"
import { layerMovable } from "../moving/Environment.ts"
import { layerListener } from "../postgres/Listener.ts"
import { layerObjectStore } from "../storage/client/ObjectStore.ts"
import { attempt, StartError } from "../process/StartError.ts"
import { CommandFailed, printResult } from "../process/Output.ts"
import { layerAccountsOfProgram } from "./account.ts"

const Parts = Layer.mergeAll(flags.layer, supabase.layer).pipe(
  Layer.provide(layerFlagEngineEmbedded),
  Layer.provide(FlagSets.layer),
  Layer.provide([FlagSettings.layer, layerListener, layerObjectStore]),
  Layer.provideMerge(layerAccountsOfProgram),
  Layer.provide(layerMovable)
)

interface Removal {
  readonly name: "todo"
  readonly yes: boolean
}

const confirmed = attempt("Failed to read the answer", async () => {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(?:es)?$/i.test(
      (await lines.question("Remove the tables, accounts, files and flag of the example todo? [y/N] ")).trim()
    )
  } finally {
    lines.close()
  }
})

/** `svc example remove`: works whether the service is running or not. */
export const removeExample = Effect.fnUntraced(function* ({ name, yes }: Removal) {
  if (!yes && !process.stdin.isTTY) {
    return yield* new CommandFailed({ message: "svc: Without a terminal, example remove needs --yes", code: 2 })
  }
  if (!yes && !(yield* confirmed)) return yield* printResult("Nothing was removed", { example: name, removed: false })
  const removed = yield* Effect.gen(function* () {
    const remove = yield* makeExampleRemoval
    const record = yield* readExample(yield* SqlClient.SqlClient)
    if (record === undefined) return false
    yield* Effect.mapError(remove(record), ({ message }) => new StartError({ message }))
    return true
  }).pipe(Effect.provide(Parts))
  const text = removed ? `The example ${name} was removed` : `There is no example ${name}`
  yield* printResult(text, { example: name, removed })
})
