import { Effect, Redacted } from "effect"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { secret } from "../../domain/Settings.ts"
import { type MovingPart } from "../../domain/moving/Archive.ts"
import { type DataDir } from "../process/DataDir.ts"
import { attempt, errorCode } from "../process/StartError.ts"

type MovedFile = Extract<MovingPart, { readonly part: "file" }>

export const passphraseVariable = "SVC_ARCHIVE_PASSPHRASE"

const optional = (file: string) =>
  attempt(`Failed to read ${file}`, () =>
    readFile(file).catch((cause: unknown): undefined => {
      if (errorCode(cause) !== "ENOENT") throw cause
    })
  )

/** Names of secrets in secrets.json, by the variable that replaces them. */
const secretVariables = { SVC_JWT_SECRET: "jwt_secret", SVC_ENCRYPTION_KEY: "encryption_key" } as const

/** Secrets in effect, the file of the first API keys, and those of `settings`, names of variables, that are set. */
export const installationFiles = Effect.fnUntraced(function* (
  dir: DataDir["Service"],
  settings: ReadonlyArray<string>
) {
  const kept = yield* optional(join(dir.path, "secrets.json"))
  const secrets: Record<string, string> = kept === undefined ? {} : JSON.parse(kept.toString("utf8"))
  for (const [variable, name] of Object.entries(secretVariables)) {
    const given = yield* secret(variable)
    if (given !== undefined) secrets[name] = Redacted.value(given)
  }
  // They belong to the directory, and a new one has its own.
  delete secrets["installation"]
  delete secrets["postgres_password"]
  const variables = settings.flatMap((name) => {
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
