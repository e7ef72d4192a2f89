import { Effect } from "effect"
import { Flag, GlobalFlag } from "effect/cli"
import { AsJson } from "../process/Output.ts"

export const jsonFlag = GlobalFlag.Setting("json")({
  flag: Flag.Boolean("json").pipe(
    Flag.withoutNegation,
    Flag.withDefault(false),
    Flag.withDescription("Print results and errors as JSON")
  )
})

/** Runs a program, whose modules are loaded only then. */
export const runProgram =
  <Input, E>(load: () => Promise<(input: Input) => Effect.Effect<unknown, E>>) =>
  (input: Input): Effect.Effect<void, E, GlobalFlag.Setting.Identifier<"json">> =>
    Effect.gen(function* () {
      const asJson = yield* jsonFlag
      const program = yield* Effect.promise(load)
      yield* Effect.provideService(program(input), AsJson, asJson)
    })

/** The address of a running service. */
export const serviceUrl = Flag.String("url").pipe(
  Flag.optional,
  Flag.withDescription("Address of the service; default http://127.0.0.1:<PORT, default 3000>")
)
/** How commands that call a running service find its key. */
export const ofKey =
  "The service_role key is that of SVC_SERVICE_KEY; for a service on this machine, else the first one, in keys.json of SVC_DATA_DIR"
