import { Effect, Redacted } from "effect"
import { createInterface } from "node:readline/promises"
import { Writable } from "node:stream"
import { secret } from "../../domain/Settings.ts"
import { attempt, StartError } from "../process/StartError.ts"
import { passphraseVariable } from "./Files.ts"

const minimum = 12

/** Reads a line without showing what is typed. */
export const typedSecret = (question: string) =>
  attempt("Failed to read what is typed", async () => {
    const hidden = new Writable({ write: (_, __, done) => done() })
    const lines = createInterface({ input: process.stdin, output: hidden, terminal: true })
    const interrupted = new Promise<never>((_, reject) => lines.once("SIGINT", () => reject(new Error("interrupted"))))
    process.stderr.write(question)
    try {
      return await Promise.race([lines.question(""), interrupted])
    } finally {
      lines.close()
      process.stderr.write("\n")
    }
  })

/** The passphrase of an archive, from the variable or a terminal: others on the machine see the arguments of programs. */
export const archivePassphrase = Effect.fnUntraced(function* (purpose: "export" | "import") {
  const given = yield* secret(passphraseVariable)
  if (given === undefined && !process.stdin.isTTY) {
    return yield* new StartError({
      message: `The passphrase of the archive is missing: set ${passphraseVariable}, or use a terminal`
    })
  }
  const text = given === undefined ? yield* typedSecret("Passphrase of the archive: ") : Redacted.value(given)
  if (purpose === "export") {
    if (text.length < minimum) {
      return yield* new StartError({ message: `The passphrase must have at least ${minimum} characters` })
    }
    if (given === undefined && (yield* typedSecret("Again: ")) !== text) {
      return yield* new StartError({ message: "The two passphrases differ" })
    }
  }
  return Redacted.make(text)
})
