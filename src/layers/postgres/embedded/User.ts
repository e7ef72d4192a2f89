import { Effect } from "effect"
import { execFile } from "node:child_process"
import { readFile, stat } from "node:fs/promises"
import { promisify } from "node:util"
import { type FileOwner } from "../../process/FileLock.ts"
import { attempt, StartError } from "../../process/StartError.ts"

const run = promisify(execFile)

/** PostgreSQL refuses to run as root, so root starts it as this user; undefined: the current user. */
export type PostgresUser = FileOwner | undefined

/** Environment variables for PostgreSQL's programs: no PGPORT, which is meant for others, and no secrets. */
const inherited = new Set(["PATH", "LD_LIBRARY_PATH", "NIX_LD", "NIX_LD_LIBRARY_PATH", "SystemRoot", "TEMP", "TMP"])

/** Options that start a program as that user, in a directory that every user can enter. */
export const asUser = (user: PostgresUser) => ({
  ...user,
  cwd: "/",
  env: Object.fromEntries(Object.entries(process.env).filter(([name]) => inherited.has(name)))
})

const names = new Set(["postgres", "_postgres"]) // _postgres on macOS

interface Entry extends FileOwner {
  readonly name: string
}

/** The local users. initdb and postgres look up their own user there, so a uid alone is not enough. */
const users = attempt("Failed to read /etc/passwd", async (): Promise<ReadonlyArray<Entry>> => {
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n").filter((line) => !line.startsWith("#"))
  return lines.map((line) => {
    const [name = "", , uid, gid] = line.split(":")
    return { name, uid: Number(uid), gid: Number(gid) }
  })
})

/**
 * The user that PostgreSQL runs as when started by root: the owner of the existing cluster, else the owner of the data
 * directory if it is a local user, else the user `postgres`, which is created if missing.
 *
 * @param cluster the cluster's directory, which need not exist
 * @param owner of the data directory if it is not root
 */
export const postgresUser = Effect.fnUntraced(function* (cluster: string, owner: FileOwner | undefined) {
  if (process.geteuid?.() !== 0) return undefined
  const found = yield* Effect.promise(() => stat(cluster).catch(() => undefined))
  if (found !== undefined && found.uid !== 0) return { uid: found.uid, gid: found.gid }
  const known = (yield* users).some((user) => user.uid === owner?.uid)
  if (owner !== undefined && known) return owner
  const there = yield* systemUser
  if (there !== undefined) return there
  yield* makeSystemUser
  const created = yield* systemUser
  return created ?? (yield* new StartError({ message: cannot("the new user is not in /etc/passwd") }))
})

const systemUser = Effect.map(users, (all) => all.find(({ name, uid }) => names.has(name) && uid !== 0))

const cannot = (why: string) =>
  `PostgreSQL cannot run as root, and a user "postgres" could not be created (${why}): create one, start the service as another user, or set DATABASE_URL`

const makeSystemUser = Effect.gen(function* () {
  const attempts = [
    ["useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent", "postgres"],
    ["adduser", "-S", "-D", "-H", "postgres"] // busybox
  ] as const
  const errors: Array<string> = []
  for (const [command, ...options] of attempts) {
    const error = yield* Effect.promise(() =>
      run(command, options).then(
        () => undefined,
        (cause: unknown) => (cause instanceof Error ? cause.message.trim().split("\n").at(-1) : String(cause))
      )
    )
    if (error === undefined)
      return yield* Effect.logInfo(`Created the system user "postgres", which PostgreSQL runs as`)
    errors.push(error)
  }
  return yield* new StartError({ message: cannot(errors.join("; ")) })
})

/** Whether that user may enter a directory, according to the system, which applies groups and access lists. */
export const canEnter = (user: FileOwner, directory: string) =>
  Effect.promise(() =>
    run("/bin/sh", ["-c", 'cd -- "$1"', "sh", directory], asUser(user)).then(
      () => true,
      () => false
    )
  )
