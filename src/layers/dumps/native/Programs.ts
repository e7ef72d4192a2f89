import { Effect } from "effect"
import { access, constants, glob, realpath } from "node:fs/promises"
import { basename, delimiter, isAbsolute, join } from "node:path"

import { bareEnv, type ProgramEnv } from "./Login.ts"
import { outputOf } from "./Process.ts"

/** A pg_dump, and the pg_restore of the same directory. */
export interface Programs {
  readonly directory: string
  readonly dump: string
  readonly restore: string
  /** The version as the programs print it: `18.4`, `19beta1`. */
  readonly version: string
  readonly major: number
  readonly minor: number
  /** Whether they were built with zstd. */
  readonly zstd: boolean
  /** Whether they were built with OpenSSL. */
  readonly tls: boolean
}

/** How long a program may take to print its version, in ms. */
const timeout = 5_000
const suffix = process.platform === "win32" ? ".exe" : ""

/**
 * Directories in which packages of PostgreSQL install their programs: Debian, Red Hat, Alpine, Homebrew, Postgres.app,
 * Windows.
 */
const packaged = [
  "/usr/lib/postgresql/*/bin",
  "/usr/pgsql-*/bin",
  "/usr/libexec/postgresql*",
  "/opt/homebrew/opt/{postgresql@*,libpq}/bin",
  "/usr/local/opt/{postgresql@*,libpq}/bin",
  "/Applications/Postgres.app/Contents/Versions/*/bin",
  "C:/Program Files/PostgreSQL/*/bin"
]

/** Directories to search in addition to PG_BIN_DIR, without duplicates. */
export const programDirectories = async (): Promise<ReadonlyArray<string>> => {
  const found = new Set((process.env["PATH"] ?? "").split(delimiter).filter((path) => isAbsolute(path)))
  for (const pattern of packaged) {
    try {
      for await (const path of glob(pattern)) found.add(path)
    } catch {
      // It does not exist, or can't be read.
    }
  }
  return [...found]
}

const executable = (path: string) =>
  access(path, constants.X_OK).then(
    () => true,
    () => false
  )

/** Path of the program; undefined without one, and for Debian's wrapper, whose choice depends on its settings. */
const resolved = async (path: string) => {
  if (!(await executable(path))) return undefined
  const real = await realpath(path).catch(() => path)
  return basename(real) === "pg_wrapper" ? undefined : real
}

const versionOf = (output: string | undefined) => {
  const match = /\) ((\d+)(?:\.(\d+))?[^\s]*)/.exec(output ?? "")
  return match === null
    ? undefined
    : { version: match[1] ?? "", major: Number(match[2]), minor: Number(match[3] ?? -1) }
}

/** The error of connecting to a server that can't exist; options are checked before that. */
const errorOf = (dump: string, env: ProgramEnv, ...options: ReadonlyArray<string>) =>
  Effect.map(
    outputOf(
      dump,
      ["-Fc", "-w", "-f", process.platform === "win32" ? "NUL" : "/dev/null", ...options, "postgres"],
      env,
      timeout
    ),
    (output) => output ?? ""
  )

/** Inspects the programs of one directory; returns a text if they can't be used. */
export const inspectPrograms = Effect.fnUntraced(function* (directory: string) {
  const paths = yield* Effect.promise(() =>
    Promise.all(["pg_dump", "pg_restore"].map((name) => resolved(join(directory, `${name}${suffix}`))))
  )
  const [dump, restore] = paths
  if (dump === undefined || restore === undefined)
    return `${dump === undefined ? "pg_dump" : "pg_restore"} does not exist`
  const plain = bareEnv(false)
  const [dumpVersion, restoreVersion] = yield* Effect.forEach(
    [dump, restore],
    (path) => outputOf(path, ["--version"], plain, timeout),
    {
      concurrency: 2
    }
  )
  const version = versionOf(dumpVersion)
  if (version === undefined) return "pg_dump does not print its version"
  if (versionOf(restoreVersion)?.version !== version.version) return "pg_restore and pg_dump have different versions"
  const nowhere = { PGHOST: "/nonexistent", PGPORT: "1", PGCONNECT_TIMEOUT: "2" }
  const compressed = yield* errorOf(dump, { ...plain, ...nowhere }, "-Z", "zstd")
  const encrypted = yield* errorOf(dump, { ...bareEnv({ rejectUnauthorized: false }), ...nowhere })
  const programs: Programs = {
    directory,
    dump,
    restore,
    ...version,
    zstd: /connection to server/.test(compressed),
    tls: /connection to server/.test(encrypted)
  }
  return programs
})

/** All programs that run, of any version. Takes little longer than `timeout` for each one that hangs. */
export const findPrograms = Effect.gen(function* () {
  const paths = yield* Effect.promise(programDirectories)
  const inspected = yield* Effect.forEach(paths, inspectPrograms, { concurrency: 8 })
  const found = new Map<string, Programs>()
  for (const programs of inspected) {
    if (typeof programs !== "string" && !found.has(programs.dump)) found.set(programs.dump, programs)
  }
  return [...found.values()]
})

/**
 * Why these programs don't fit a server of that major version; undefined if they do. From 17 on pg_restore sets
 * transaction_timeout, which older servers reject.
 */
export const unfit = ({ major, tls, version }: Programs, server: number, needsTls: boolean) => {
  if (major < server) return `pg_dump ${version} is older than the server (${server})`
  if (server < 17 && major >= 17) return `pg_restore ${version} does not support a server as old as ${server}`
  if (needsTls && !tls) return `pg_dump ${version} was built without TLS`
  return undefined
}

/** The newest programs of the closest major version that fits. */
export const bestFit = (all: ReadonlyArray<Programs>, server: number, needsTls: boolean) =>
  all
    .filter((programs) => unfit(programs, server, needsTls) === undefined)
    .toSorted((a, b) => a.major - b.major || b.minor - a.minor)[0]
