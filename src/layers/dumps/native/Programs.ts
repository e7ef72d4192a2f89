import { Effect } from "effect"
import { access, constants, glob, realpath } from "node:fs/promises"
import { basename, delimiter, isAbsolute, join } from "node:path"

import { bareEnv, type ProgramEnv } from "./Login.ts"
import { answerOf } from "./Process.ts"

/** A pg_dump and the pg_restore beside it. */
export interface Programs {
  readonly directory: string
  readonly dump: string
  readonly restore: string
  /** As they say it: `18.4`, `19beta1`. */
  readonly version: string
  readonly major: number
  readonly minor: number
  /** Whether they were built with zstd. */
  readonly zstd: boolean
  /** Whether they were built with OpenSSL. */
  readonly tls: boolean
}

/** How long a program may take to say what it is, in ms. */
const patience = 5_000
const suffix = process.platform === "win32" ? ".exe" : ""

/** Where packages of PostgreSQL have their programs: Debian, Red Hat, Alpine, Homebrew, Postgres.app, Windows. */
const packaged = [
  "/usr/lib/postgresql/*/bin",
  "/usr/pgsql-*/bin",
  "/usr/libexec/postgresql*",
  "/opt/homebrew/opt/{postgresql@*,libpq}/bin",
  "/usr/local/opt/{postgresql@*,libpq}/bin",
  "/Applications/Postgres.app/Contents/Versions/*/bin",
  "C:/Program Files/PostgreSQL/*/bin"
]

/** Directories to look in, once each, beside PG_BIN_DIR. */
const directories = async () => {
  const found = new Set((process.env["PATH"] ?? "").split(delimiter).filter((path) => isAbsolute(path)))
  for (const pattern of packaged) {
    try {
      for await (const path of glob(pattern)) found.add(path)
    } catch {
      // Not there, or not ours to look into.
    }
  }
  return [...found]
}

const executable = (path: string) =>
  access(path, constants.X_OK).then(
    () => true,
    () => false
  )

/** The program itself; undefined when there is none, or Debian's wrapper, which picks one by what is set at the time. */
const resolved = async (path: string) => {
  if (!(await executable(path))) return undefined
  const real = await realpath(path).catch(() => path)
  return basename(real) === "pg_wrapper" ? undefined : real
}

const versionOf = (said: string | undefined) => {
  const match = /\) ((\d+)(?:\.(\d+))?[^\s]*)/.exec(said ?? "")
  return match === null
    ? undefined
    : { version: match[1] ?? "", major: Number(match[2]), minor: Number(match[3] ?? -1) }
}

/** Asked of a server that can't be there: options are checked before. */
const complaintOf = (dump: string, env: ProgramEnv, ...options: ReadonlyArray<string>) =>
  Effect.map(
    answerOf(
      dump,
      ["-Fc", "-w", "-f", process.platform === "win32" ? "NUL" : "/dev/null", ...options, "postgres"],
      env,
      patience
    ),
    (said) => said ?? ""
  )

/** Looks at the programs of one directory; a text says why they are of no use. */
export const lookAt = Effect.fnUntraced(function* (directory: string) {
  const paths = yield* Effect.promise(() =>
    Promise.all(["pg_dump", "pg_restore"].map((name) => resolved(join(directory, `${name}${suffix}`))))
  )
  const [dump, restore] = paths
  if (dump === undefined || restore === undefined)
    return `${dump === undefined ? "pg_dump" : "pg_restore"} is not there`
  const plain = bareEnv(false)
  const [says, other] = yield* Effect.forEach(
    [dump, restore],
    (path) => answerOf(path, ["--version"], plain, patience),
    {
      concurrency: 2
    }
  )
  const version = versionOf(says)
  if (version === undefined) return "pg_dump does not say its version"
  if (versionOf(other)?.version !== version.version) return "pg_restore is of another version than pg_dump"
  const nowhere = { PGHOST: "/nonexistent", PGPORT: "1", PGCONNECT_TIMEOUT: "2" }
  const compressed = yield* complaintOf(dump, { ...plain, ...nowhere }, "-Z", "zstd")
  const encrypted = yield* complaintOf(dump, { ...bareEnv({ rejectUnauthorized: false }), ...nowhere })
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

/** All that run, whatever their version. Never takes much longer than `patience` for each of the programs that hang. */
export const findPrograms = Effect.gen(function* () {
  const places = yield* Effect.promise(directories)
  const looked = yield* Effect.forEach(places, lookAt, { concurrency: 8 })
  const found = new Map<string, Programs>()
  for (const programs of looked) {
    if (typeof programs !== "string" && !found.has(programs.dump)) found.set(programs.dump, programs)
  }
  return [...found.values()]
})

/**
 * Why these can't dump and restore on a server of that major version; undefined when they can. From 17 on pg_restore
 * sets transaction_timeout, which older servers refuse.
 */
export const unfit = ({ major, tls, version }: Programs, server: number, needsTls: boolean) => {
  if (major < server) return `pg_dump ${version} is older than the server (${server})`
  if (server < 17 && major >= 17) return `pg_restore ${version} can't restore on a server that is as old as ${server}`
  if (needsTls && !tls) return `pg_dump ${version} was built without TLS`
  return undefined
}

/** Of those that fit, the newest of the version that is closest to the server's, whose dumps are most like the server's own. */
export const fittest = (all: ReadonlyArray<Programs>, server: number, needsTls: boolean) =>
  all
    .filter((programs) => unfit(programs, server, needsTls) === undefined)
    .toSorted((a, b) => a.major - b.major || b.minor - a.minor)[0]
