import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ofKey, runProgram, serviceUrl as url } from "./Program.ts"
import { startService } from "./Start.ts"

const name = Argument.String("name").pipe(Argument.withDescription("The name of the function"))
const dir = Flag.String("dir").pipe(
  Flag.optional,
  Flag.withDescription(
    "The folder of functions, <name>/index.ts each; default: SVC_FUNCTIONS_DIR, else functions or supabase/functions"
  )
)
const secret = Argument.String("secret").pipe(Argument.withDescription("Its name, such as MAIL_TOKEN"))

const secrets = Command.make("secrets").pipe(
  Command.withDescription("Variables of the environment of all functions; their values are never shown"),
  Command.withSubcommands([
    Command.make(
      "list",
      { url },
      runProgram(async () => (await import("../programs/functions.ts")).listSecrets)
    ).pipe(Command.withDescription("List the names")),
    Command.make(
      "set",
      { url, secret },
      runProgram(async () => (await import("../programs/functions.ts")).setSecret)
    ).pipe(Command.withDescription("Set a secret to what is typed, or to standard input")),
    Command.make(
      "delete",
      { url, secret },
      runProgram(async () => (await import("../programs/functions.ts")).deleteSecret)
    ).pipe(Command.withDescription("Delete a secret"))
  ])
)

export const functionsCommand = Command.make("functions").pipe(
  Command.withDescription(`Functions of a running service (docs/functions.md). ${ofKey}`),
  Command.withShortDescription("Deploy, watch and roll back functions"),
  Command.withSubcommands([
    Command.make(
      "list",
      { url },
      runProgram(async () => (await import("../programs/functions.ts")).listFunctions)
    ).pipe(Command.withDescription("List functions with their versions, states, calls and errors")),
    Command.make(
      "deploy",
      {
        url,
        dir,
        verifyJwt: Flag.Boolean("verify-jwt").pipe(
          Flag.optional,
          Flag.withDescription("Whether calls at /functions/v1 need a key or a JWT; default: SVC_FUNCTIONS_VERIFY_JWT")
        ),
        names: Argument.String("names").pipe(
          Argument.variadic(),
          Argument.withDescription("The functions; default: all of the folder")
        )
      },
      runProgram(async () => (await import("../programs/functions.ts")).deployFunctions)
    ).pipe(
      Command.withDescription(
        "Deploy functions of a folder: each with its own folder, those that begin with _, such as _shared, and the files beside them, such as deno.json"
      )
    ),
    Command.make(
      "serve",
      { dir },
      Effect.fnUntraced(function* ({ dir }) {
        const { functionsFolder } = yield* Effect.promise(() => import("../programs/functions.ts"))
        process.env["SVC_FUNCTIONS_DIR"] = yield* functionsFolder(dir)
        yield* Effect.promise(() => startService())
      })
    ).pipe(
      Command.withDescription(
        "Start the service with the functions of a folder, for development: a change is called within a second"
      )
    ),
    Command.make(
      "logs",
      {
        url,
        name,
        follow: Flag.Boolean("follow").pipe(
          Flag.withAlias("f"),
          Flag.withoutNegation,
          Flag.withDefault(false),
          Flag.withDescription("Print each line as it is printed, until Ctrl+C")
        ),
        limit: Flag.Int("limit").pipe(
          Flag.optional,
          Flag.withDescription("How many of the newest lines, 1 to 1000; default 100")
        )
      },
      runProgram(async () => (await import("../programs/functions.ts")).functionLogs)
    ).pipe(Command.withDescription("Print what a function has printed, the newest at the end")),
    Command.make(
      "rollback",
      {
        url,
        name,
        version: Argument.Int("version").pipe(
          Argument.optional,
          Argument.withDescription("The version; default: the one before the current")
        )
      },
      runProgram(async () => (await import("../programs/functions.ts")).rollbackFunction)
    ).pipe(Command.withDescription("Have an earlier version called, at once")),
    secrets
  ]),
  Command.withExamples([
    { command: "svc functions deploy hello" },
    { command: "svc functions logs hello --follow" },
    { command: "svc functions secrets set MAIL_TOKEN < token" }
  ])
)
