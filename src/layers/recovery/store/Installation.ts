import { Effect, Redacted, Schema } from "effect"
import { chmod, chown, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { secret } from "../../../domain/Settings.ts"
import { type DataDir } from "../../process/DataDir.ts"
import { attempt } from "../../process/StartError.ts"

const Texts = Schema.Record(Schema.String, Schema.String)

/**
 * What an installation needs beside its cluster: the secrets of its data directory, or of its settings, by their names in
 * `secrets.json`; and its first API keys.
 */
const Installation = Schema.Struct({ secrets: Texts, keys: Schema.NullOr(Texts) })

const decodeTexts = Schema.decodeUnknownEffect(Schema.fromJsonString(Texts))
const decodeInstallation = Schema.decodeUnknownEffect(Schema.fromJsonString(Installation))

const [secretsFile, keysFile] = ["secrets.json", "keys.json"] as const

/** The settings that take the place of secrets in the data directory. */
const ofSettings = { encryption_key: secret("SVC_ENCRYPTION_KEY"), jwt_secret: secret("SVC_JWT_SECRET") }

/** The installation as a text, read when it is run. */
export const installationText = Effect.fnUntraced(function* (dir: DataDir["Service"]) {
  const given = yield* Effect.all(ofSettings)
  const read = (name: string) =>
    Effect.promise(() => readFile(join(dir.path, name), "utf8").catch(() => undefined)).pipe(
      Effect.flatMap((text) => (text === undefined ? Effect.succeed(null) : decodeTexts(text))),
      Effect.orElseSucceed(() => null)
    )
  return Effect.gen(function* () {
    const secrets: Record<string, string> = { ...(yield* read(secretsFile)) }
    for (const [name, value] of Object.entries(given)) if (value !== undefined) secrets[name] = Redacted.value(value)
    return JSON.stringify({ secrets, keys: yield* read(keysFile) } satisfies typeof Installation.Type)
  })
})

/** Writes the files of an installation into an empty data directory. */
export const writeInstallation = Effect.fnUntraced(function* (dir: DataDir["Service"], text: string) {
  const { keys, secrets } = yield* decodeInstallation(text)
  const write = (name: string, texts: Readonly<Record<string, string>>) =>
    attempt(`Failed to write ${name}`, async () => {
      const file = join(dir.path, name)
      await writeFile(file, `${JSON.stringify(texts, null, 2)}\n`, { mode: 0o600, flush: true })
      await chmod(file, 0o600)
      if (dir.owner !== undefined) await chown(file, dir.owner.uid, dir.owner.gid)
    })
  yield* write(secretsFile, secrets)
  if (keys !== null) yield* write(keysFile, keys)
})
