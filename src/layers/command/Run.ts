import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Layer, Schema } from "effect"
import { CliConfig, CliError, CliOutput, Command, GlobalFlag } from "effect/cli"
import { version } from "../../domain/Version.ts"
import { startFailure } from "../process/StartError.ts"
import { svcCommand } from "./Commands.ts"
import { CommandFailed, exitWith, stylesFor } from "../process/Output.ts"

/** An error of the service's own, whose text is for people. */
const isRefusal = Schema.is(Schema.Struct({ error: Schema.String, code: Schema.String }))

/** Suggestions are on lines of their own. */
const inOneLine = (message: string) =>
  message.replace(/\s*Did you mean this\?\s*/, ": did you mean ").replaceAll(/\s*\n\s*/g, ", ")

/** Help goes to standard output. For a wrong command line, the errors go to standard error, with the usage alone. */
const layerPresenter = CliOutput.layerPresenter({
  present: (event) => {
    const formatter = CliOutput.defaultFormatter({
      colors: stylesFor(process.stdout).bold("") !== "",
      globalFlags: "summary"
    })
    switch (event._tag) {
      case "Help":
        return Console.log(formatter.formatHelpDoc(event.helpDoc))
      case "InvalidInvocation": {
        const faults = event.errors.map((error) => `svc: ${inOneLine(formatter.formatCliError(error))}`)
        return Console.error(
          [
            ...new Set(faults),
            `Usage: ${event.helpDoc.usage}`,
            `${event.commandPath.join(" ")} --help explains it`
          ].join("\n")
        )
      }
      case "Version":
        return Console.log(`${event.name} ${event.version}`)
    }
  }
})

/** One line for what failed, and the exit code. */
const failureOf = (cause: Cause.Cause<unknown>): { readonly text: string; readonly code: number } => {
  const failure = cause.reasons.find(Cause.isFailReason)?.error
  if (failure instanceof CommandFailed) return { text: failure.message, code: failure.code }
  if (isRefusal(failure)) return { text: failure.error, code: 1 }
  return { text: startFailure(cause), code: 1 }
}

const isHelp = (error: unknown): error is CliError.ShowHelp => CliError.isCliError(error) && error._tag === "ShowHelp"

/** Runs a command line without the program's name. Errors are JSON with `--json`, as results are. */
export const runCommand = (args: ReadonlyArray<string>): void => {
  const json = args.includes("--json")
  Command.runWith(svcCommand, { version })(args).pipe(
    // What is wrong with a command line has been printed.
    Effect.catchIf(isHelp, ({ errors }) => exitWith(errors.length > 0 ? 2 : 0)),
    Effect.catchCause((cause) => {
      if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause as Cause.Cause<never>)
      const { code, text } = failureOf(cause)
      return Effect.andThen(
        Console.error(json ? JSON.stringify({ error: text.replace(/^svc: /, "") }) : text),
        exitWith(code)
      )
    }),
    Effect.provide(
      Layer.mergeAll(
        NodeServices.layer,
        layerPresenter,
        CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
      )
    ),
    NodeRuntime.runMain({ disableErrorReporting: true })
  )
}
