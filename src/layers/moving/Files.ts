import { Effect, Redacted } from "effect"
import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { secret } from "../../domain/Settings.ts"
import { type MovingPart } from "../../domain/moving/Archive.ts"
import { type DataDir } from "../process/DataDir.ts"
import { attempt, errorCode } from "../process/StartError.ts"

type MovedFile = Extract<MovingPart, { readonly part: "file" }>

export const passphraseVariable = "SVC_ARCHIVE_PASSPHRASE"

/** All variables of the service, from the tables of their page, which is a part of the container image as well. */
const variableNames = () =>
  readFileSync(resolve(import.meta.dirname, "../../../docs/configuration.md"), "utf8")
    .split("\n")
    .flatMap((line) => /^\| (?:`[A-Z][A-Z0-9_]+`(?:, )?)+/.exec(line)?.[0].match(/[A-Z][A-Z0-9_]+/g) ?? [])
    .filter((name) => name !== passphraseVariable)

const optional = (file: string) =>
  attempt(`Failed to read ${file}`, () =>
    readFile(file).catch((cause: unknown): undefined => {
      if (errorCode(cause) !== "ENOENT") throw cause
    })
  )

/** Names of secrets in secrets.json, by the variable that replaces them. */
const secretVariables = { SVC_JWT_SECRET: "jwt_secret", SVC_ENCRYPTION_KEY: "encryption_key" } as const

/** Secrets in effect, the file of the first API keys, and the variables that are set. */
export const installationFiles = Effect.fnUntraced(function* (dir: DataDir["Service"]) {
  const kept = yield* optional(join(dir.path, "secrets.json"))
  const secrets: Record<string, string> = kept === undefined ? {} : JSON.parse(kept.toString("utf8"))
  for (const [variable, name] of Object.entries(secretVariables)) {
    const given = yield* secret(variable)
    if (given !== undefined) secrets[name] = Redacted.value(given)
  }
  // They belong to the directory, and a new one has its own.
  delete secrets["installation"]
  delete secrets["postgres_password"]
  const variables = variableNames().flatMap((name) => {
    const value = process.env[name] ?? ""
    return value === "" ? [] : [`${name}=${JSON.stringify(value)}\n`]
  })
  const keys = yield* optional(join(dir.path, "keys.json"))
  const files: ReadonlyArray<readonly [MovedFile["name"], Buffer | undefined]> = [
    ["secrets.json", Buffer.from(JSON.stringify(secrets))],
    ["settings.env", Buffer.from(variables.join(""))],
    ["keys.json", keys]
  ]
  return files.flatMap(([name, body]) =>
    body === undefined ? [] : [{ head: { part: "file" as const, name, size: body.length }, body }]
  )
})
