import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { assert } from "vitest"
import { S3Client } from "@aws-sdk/client-s3"
import { root, testSettings } from "../service.ts"

export const testPassphrase = "a passphrase for moving"

type Program = "export" | "import"
export type MovingEnv = Readonly<Record<string, string>>

const argumentsOf = (program: Program, archive: string) => ["dist/svc.mjs", program, archive]

const variables = (dataDir: string, env: MovingEnv) => ({
  ...testSettings,
  PATH: process.env["PATH"] ?? "",
  SVC_DATA_DIR: dataDir,
  SVC_ARCHIVE_PASSPHRASE: testPassphrase,
  ...env
})

/** Runs `npm run export` or `import`; returns all that it printed. */
export const moved = (program: Program, archive: string, dataDir: string, env: MovingEnv = {}) =>
  promisify(execFile)(process.execPath, argumentsOf(program, archive), {
    cwd: root,
    env: variables(dataDir, env)
  }).then(
    ({ stderr, stdout }) => ({ code: 0, output: stdout + stderr }),
    (cause: { readonly code: number; readonly stderr: string }) => ({ code: cause.code, output: cause.stderr })
  )

const launch = (program: Program, archive: string, dataDir: string, env: MovingEnv) => {
  const child = spawn(process.execPath, argumentsOf(program, archive), { cwd: root, env: variables(dataDir, env) })
  let output = ""
  const printed = child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text))
  const killed = async () => {
    const [, signal] = (await once(child, "close")) as [number | null, string | null]
    assert.strictEqual(signal, "SIGKILL", output)
  }
  return { child, killed, printed, output: () => output }
}

/** Kills the program when it has printed a text. */
export const killedAt = async (program: Program, at: string, archive: string, dataDir: string, env: MovingEnv = {}) => {
  const { child, killed, output, printed } = launch(program, archive, dataDir, env)
  printed.on("data", () => {
    if (output().includes(at)) child.kill("SIGKILL")
  })
  await killed()
}

/** The segments that the exports of a data directory have stored. */
const storedSegments = async (dataDir: string) => {
  let count = 0
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith("export-")) continue
    const journal = await readFile(join(dataDir, name, "journal.json"), "utf8").catch(() => '{"segments": []}')
    count += (JSON.parse(journal) as { readonly segments: ReadonlyArray<unknown> }).segments.length
  }
  return count
}

/** Kills an export when it has stored its first segments. */
export const killedWriting = async (archive: string, dataDir: string, env: MovingEnv = {}) => {
  const { child, killed } = launch("export", archive, dataDir, env)
  const closed = killed()
  while (child.exitCode === null && (await storedSegments(dataDir)) === 0) await sleep(1)
  child.kill("SIGKILL")
  await closed
}

/** A client of the embedded store of a data directory. */
export const embeddedStore = async (dataDir: string, port: string) => {
  const secrets = JSON.parse(await readFile(join(dataDir, "secrets.json"), "utf8")) as Record<string, string>
  const credentials = { accessKeyId: secrets["s3_access_key"] ?? "", secretAccessKey: secrets["s3_secret_key"] ?? "" }
  return new S3Client({ endpoint: `http://127.0.0.1:${port}`, region: "us-east-1", forcePathStyle: true, credentials })
}
