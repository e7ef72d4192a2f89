import { Effect, Redacted } from "effect"
import { execFile, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
  writeFile
} from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { promisify } from "node:util"
import { type DataDir, syncDirectory } from "../../process/DataDir.ts"
import { type PostgresBinaries } from "./Binaries.ts"
import { asUser, canEnter, type PostgresUser } from "./User.ts"
import { attempt, errorCode, StartError, startError } from "../../process/StartError.ts"

const run = promisify(execFile)

/** Where root keeps what another user must reach when it can't reach the data directory. */
export const systemDirectory = "/var/lib/svc"

/** What a new cluster's postgresql.conf says; who keeps the cluster may edit it. */
const settings = {
  max_connections: "200",
  shared_buffers: "128MB",
  timezone: "UTC",
  log_timezone: "UTC",
  // The log is one file that nobody rotates: no errors of callers (they get them), no statements, no routine.
  log_min_messages: "log",
  log_statement: "none",
  log_checkpoints: "off"
} as const

/** Name and path of a data directory's cluster, which may be a link and need not exist. */
export const clusterLink = (dir: DataDir["Service"]) => join(dir.path, "postgres")

/** The cluster's directory without symbolic links; undefined when there is none yet. */
export const findCluster = Effect.fnUntraced(function* (dir: DataDir["Service"]) {
  const link = clusterLink(dir)
  const status = yield* Effect.promise(() => lstat(link).catch(() => undefined))
  if (status === undefined) return undefined
  return yield* Effect.tryPromise({
    try: () => realpath(link),
    catch: (cause) =>
      errorCode(cause) === "ENOENT"
        ? new StartError({
            message: `${link} leads to data that is not there any more: bring it back, or remove the link to start empty`
          })
        : startError(`${link} can't be read`, cause)
  })
})

/** Refuses a cluster that these programs can't run. */
export const checkCluster = Effect.fnUntraced(function* (
  cluster: string,
  binaries: PostgresBinaries,
  user: PostgresUser
) {
  const file = join(cluster, "PG_VERSION")
  const version = yield* attempt(`${cluster} is no PostgreSQL data directory, or not readable`, () =>
    readFile(file, "utf8")
  )
  if (version.trim() !== binaries.major) {
    return yield* new StartError({
      message: `${cluster} was made by PostgreSQL ${version.trim()} and this is PostgreSQL ${binaries.major}: dump it with the old one and restore it here, or set DATABASE_URL`
    })
  }
  const owner = (yield* attempt(`${cluster} can't be read`, () => lstat(cluster))).uid
  if (user === undefined) {
    if (owner === (process.geteuid?.() ?? owner)) return
    return yield* new StartError({ message: `${cluster} belongs to user ${owner}: start this as that user or as root` })
  }
  // Root's after a copy or a restore by root.
  if (owner === 0)
    yield* attempt(`${cluster} can't be given to its user`, () =>
      run("chown", ["-R", `${user.uid}:${user.gid}`, cluster])
    )
  if (yield* canEnter(user, cluster)) return
  return yield* new StartError({
    message: `User ${user.uid}, which PostgreSQL runs as, can't enter ${cluster}: allow it (chmod o+x) on the directories above`
  })
})

/**
 * Makes the cluster, complete or not at all: it is built under another name and then renamed.
 *
 * @returns its directory without symbolic links
 */
export const createCluster = Effect.fnUntraced(function* (
  dir: DataDir["Service"],
  binaries: PostgresBinaries,
  user: PostgresUser,
  password: Redacted.Redacted
) {
  const link = clusterLink(dir)
  const place = user === undefined || (yield* canEnter(user, dir.path)) ? link : yield* systemPlace
  const { uid, gid } = user ?? { uid: -1, gid: -1 } // -1: as it is
  yield* attempt("PostgreSQL's data directory can't be made", async () => {
    for (const name of await readdir(dirname(place))) {
      // An earlier first start was killed; if its initdb should still run, it can't disturb this one's.
      if (name.startsWith(unfinished(place)))
        await rm(join(dirname(place), name), { recursive: true, force: true }).catch(() => undefined)
    }
    const work = await mkdtemp(join(dirname(place), unfinished(place)))
    try {
      const secret = join(work, "password")
      await writeFile(secret, Redacted.value(password), { mode: 0o600 })
      await chown(secret, uid, gid)
      await chown(work, uid, gid)
      await initdb(binaries, user, join(work, "data"), secret)
      await rename(join(work, "data"), place)
      await syncDirectory(dirname(place))
    } finally {
      await rm(work, { recursive: true, force: true })
    }
    if (place !== link) await symlink(place, link)
  })
  if (place !== link) {
    yield* Effect.logInfo(`User ${uid}, which PostgreSQL runs as, can't enter ${dir.path}: its data is in ${place}`)
  }
  return yield* attempt(`${place} can't be read`, () => realpath(place))
})

const unfinished = (place: string) => `${basename(place)}.new-`

/** A fresh name each time: data that a removed data directory left behind is never taken for one's own. */
const systemPlace = attempt(`${systemDirectory} can't be used`, async () => {
  const parent = join(systemDirectory, randomBytes(6).toString("hex"))
  await mkdir(parent, { recursive: true })
  await chmod(systemDirectory, 0o755) // whatever the umask says
  await chmod(parent, 0o711)
  return join(parent, "postgres")
})

const initdb = async (binaries: PostgresBinaries, user: PostgresUser, data: string, secret: string) => {
  const options = [
    ["--pgdata", data, "--username", "postgres", "--pwfile", secret, "--auth", "scram-sha-256", "--no-instructions"],
    // Unicode rules that are PostgreSQL's own, the same on every system; the C library is left with little to say.
    ["--encoding", "UTF8", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--locale", "C"],
    process.platform === "linux" ? ["--lc-ctype", "C.UTF-8"] : [],
    Object.entries(settings).flatMap(([name, value]) => ["--set", `${name}=${value}`])
  ]
  await run(binaries.initdb, options.flat(), asUser(user)).catch((cause: unknown) => {
    const output = cause instanceof Error && "stderr" in cause ? String(cause.stderr) : ""
    if (output.includes("could not look up effective user")) {
      throw new Error(
        "the user this runs as is not in /etc/passwd, which PostgreSQL needs: add it, or set DATABASE_URL"
      )
    }
    throw new Error(
      /^initdb: (?!warning|hint).*|^.*(?:FATAL|PANIC): .*/m.exec(output)?.[0] ?? String(cause).split("\n")[0]
    )
  })
}

/** Gives the owner of a stopped cluster a new password; for who has lost `secrets.json`. */
export const resetPassword = (
  cluster: string,
  binaries: PostgresBinaries,
  user: PostgresUser,
  password: Redacted.Redacted
) =>
  attempt(
    "PostgreSQL's password can't be renewed",
    () =>
      new Promise<void>((resolve, reject) => {
        const child = spawn(binaries.postgres, ["--single", "-D", cluster, "postgres"], {
          ...asUser(user),
          stdio: ["pipe", "ignore", "ignore"]
        })
        child.once("error", reject)
        child.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`postgres ended with ${code}`))))
        child.stdin.end(`alter user postgres password '${Redacted.value(password)}'\n`)
      })
  )
