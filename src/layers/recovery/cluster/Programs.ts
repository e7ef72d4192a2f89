import { Effect } from "effect"
import { execFile } from "node:child_process"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { programDirectories } from "../../dumps/native/Programs.ts"
import { postgresBinaries, postgresPackage } from "../../postgres/embedded/Binaries.ts"
import { asUser, type PostgresUser } from "../../postgres/embedded/User.ts"

const run = promisify(execFile)

/** `18.4 (Debian 18.4-1)`, as server_version is; undefined if the program does not run. */
const versionOf = (program: string, user: PostgresUser) =>
  Effect.promise(() =>
    run(program, ["--version"], asUser(user)).then(
      ({ stdout }) => /\(PostgreSQL\) (.+)/.exec(stdout)?.[1]?.trim(),
      () => undefined
    )
  )

const major = (version: string) => Number.parseInt(version, 10)

/** Directories of the programs of earlier versions that upgrades fetched. */
const fetchedPrograms = (copies: string) =>
  Effect.promise(async () => {
    const names = await readdir(copies).catch(() => [])
    return names.filter((name) => /^postgresql-[\w.-]+$/.test(name)).map((name) => join(copies, name, "native/bin"))
  })

/**
 * Path of a `postgres` that reads the data of a server of this version: of the same major version, and of the same minor
 * one and build if there is one.
 *
 * @param preferred PG_BIN_DIR
 * @param copies a directory for the embedded programs, see `postgresBinaries`
 */
export const findServerProgram = Effect.fnUntraced(function* (
  version: string,
  preferred: string | undefined,
  copies: string,
  user: PostgresUser
) {
  const embedded = yield* postgresPackage.pipe(
    Effect.flatMap((root) => postgresBinaries(root, copies, user)),
    Effect.map(({ postgres }) => [postgres]),
    Effect.orElseSucceed(() => [])
  )
  const installed = [...(yield* fetchedPrograms(copies)), ...(yield* Effect.promise(programDirectories))]
  const directories = preferred === undefined ? installed : [preferred, ...installed]
  const programs = [...embedded, ...directories.map((directory) => join(directory, "postgres"))]
  let fitting: string | undefined
  for (const program of programs) {
    const its = yield* versionOf(program, user)
    if (its === version) return program
    if (its !== undefined && major(its) === major(version)) fitting ??= program
  }
  return fitting
})
