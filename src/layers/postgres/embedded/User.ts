import { Effect } from "effect"
import { execFile } from "node:child_process"
import { readFile, stat } from "node:fs/promises"
import { promisify } from "node:util"
import { type Owner } from "../../process/FileLock.ts"
import { attempt, StartError } from "../../process/StartError.ts"

const run = promisify(execFile)

/** PostgreSQL refuses to run as root, so root starts it as one of these; undefined: as whoever we are. */
export type PostgresUser = Owner | undefined

/** What PostgreSQL's programs may know of our environment: no PGPORT, which is meant for others, and no secret of ours. */
const passedOn = new Set(["PATH", "LD_LIBRARY_PATH", "NIX_LD", "NIX_LD_LIBRARY_PATH", "SystemRoot", "TEMP", "TMP"])

/** Options to start a program with as that user; the directory is one that anybody can enter. */
export const asUser = (user: PostgresUser) => ({
  ...user,
  cwd: "/",
  env: Object.fromEntries(Object.entries(process.env).filter(([name]) => passedOn.has(name)))
})

const names = new Set(["postgres", "_postgres"]) // the second is macOS's own

interface Entry extends Owner {
  readonly name: string
}

/** The local users. initdb and postgres look themselves up there, so a bare number is not enough. */
const users = attempt("/etc/passwd can't be read", async (): Promise<ReadonlyArray<Entry>> => {
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n").filter((line) => !line.startsWith("#"))
  return lines.map((line) => {
    const [name = "", , uid, gid] = line.split(":")
    return { name, uid: Number(uid), gid: Number(gid) }
  })
})

/**
 * Whom PostgreSQL runs as when we are root: the owner of the existing cluster, else the owner of the data directory
 * when that is a user of this machine, else the user `postgres`, which is made when missing.
 *
 * @param cluster the cluster's directory, which need not exist
 * @param owner of the data directory when it is not root's
 */
export const postgresUser = Effect.fnUntraced(function* (cluster: string, owner: Owner | undefined) {
  if (process.geteuid?.() !== 0) return undefined
  const found = yield* Effect.promise(() => stat(cluster).catch(() => undefined))
  if (found !== undefined && found.uid !== 0) return { uid: found.uid, gid: found.gid }
  const known = (yield* users).some((user) => user.uid === owner?.uid)
  if (owner !== undefined && known) return owner
  const there = yield* systemUser
  if (there !== undefined) return there
  yield* makeSystemUser
  const made = yield* systemUser
  return made ?? (yield* new StartError({ message: cannot("the new user is not in /etc/passwd") }))
})

const systemUser = Effect.map(users, (all) => all.find(({ name, uid }) => names.has(name) && uid !== 0))

const cannot = (why: string) =>
  `PostgreSQL can't run as root, and no user "postgres" could be made (${why}): make one, start this as another user, or set DATABASE_URL`

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
    if (error === undefined) return yield* Effect.logInfo(`Made the system user "postgres", which PostgreSQL runs as`)
    errors.push(error)
  }
  return yield* new StartError({ message: cannot(errors.join("; ")) })
})

/** Whether that user may enter a directory; asks the system, which knows about groups and access lists. */
export const canEnter = (user: Owner, directory: string) =>
  Effect.promise(() =>
    run("/bin/sh", ["-c", 'cd -- "$1"', "sh", directory], asUser(user)).then(
      () => true,
      () => false
    )
  )
