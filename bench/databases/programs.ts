/** PostgreSQL's own pg_dump and pg_restore, if installed. */
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { access } from "node:fs/promises"
import { delimiter, join } from "node:path"
import { promisify } from "node:util"

export interface Programs {
  readonly directory: string
  /** `pg_dump (PostgreSQL) 18.6`. */
  readonly version: string
  /** Whether archives can be compressed with zstd. */
  readonly zstd: boolean
}

const output = async (program: string, options: ReadonlyArray<string>) => {
  const { stdout } = await promisify(execFile)(program, options)
  return stdout.trim()
}

const holds = (directory: string) =>
  access(join(directory, "pg_dump")).then(
    () => true,
    () => false
  )

const pathDirectories = () => (process.env["PATH"] ?? "").split(delimiter).filter((directory) => directory !== "")

/** The first programs in PG_BIN_DIR and PATH of the server's major version or a later one. */
export const findPrograms = async (major: number): Promise<Programs | undefined> => {
  const given = process.env["PG_BIN_DIR"]
  for (const directory of [...(given === undefined ? [] : [given]), ...pathDirectories()]) {
    if (!(await holds(directory))) continue
    const version = await output(join(directory, "pg_dump"), ["--version"]).catch(() => "")
    if (!(Number(/ (\d+)/.exec(version)?.[1]) >= major)) continue
    // Without zstd the option is rejected before the connection.
    const refused = await output(join(directory, "pg_dump"), ["-Fc", "--compress=zstd", "-h", "/nowhere"]).catch(String)
    return { directory, version, zstd: !/build|not support/i.test(refused) }
  }
  return undefined
}

/** PATH without directories that contain a pg_dump. */
export const pathWithout = async () => {
  const directories = pathDirectories()
  const found = await Promise.all(directories.map(holds))
  return directories.filter((_, n) => found[n] === false).join(delimiter)
}

/** Runs a program; returns the seconds it took. */
export const run = async ({ directory }: Programs, program: string, options: ReadonlyArray<string>) => {
  const started = performance.now()
  const child = spawn(join(directory, program), options, { stdio: ["ignore", "ignore", "inherit"] })
  const [code] = await once(child, "exit")
  if (code !== 0) throw new Error(`${program} ended with ${code}`)
  return (performance.now() - started) / 1000
}
