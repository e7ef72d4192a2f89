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
import { type DataDir } from "../../process/DataDir.ts"
import { syncDirectory } from "../../process/StoredFile.ts"
import { type PostgresBinaries, systemDirectory } from "./Binaries.ts"
import { asUser, canEnter, type PostgresUser } from "./User.ts"
import { attempt, errorCode, StartError, startError } from "../../process/StartError.ts"

const run = promisify(execFile)

/** Settings in a new cluster's postgresql.conf, which operators may edit. */
const settings = {
  max_connections: "200",
  shared_buffers: "128MB",
  timezone: "UTC",
  log_timezone: "UTC",
  // The log is a single file, rotated only at a start: no errors of callers (they receive them), statements or routine.
  log_min_messages: "log",
  log_statement: "none",
  log_checkpoints: "off"
} as const

/** Path of a data directory's cluster, which may be a link and need not exist. */
export const clusterLink = (dir: DataDir["Service"]) => join(dir.path, "postgres")

/** The cluster's directory without symbolic links; undefined if there is none yet. */
export const findCluster = Effect.fnUntraced(function* (dir: DataDir["Service"]) {
  const link = clusterLink(dir)
  const status = yield* Effect.promise(() => lstat(link).catch(() => undefined))
  if (status === undefined) return undefined
  return yield* Effect.tryPromise({
    try: () => realpath(link),
    catch: (cause) =>
      errorCode(cause) === "ENOENT"
        ? new StartError({
            message: `${link} points to a directory that no longer exists: restore the directory, or remove the link to start with an empty database`
          })
        : startError(`Failed to read ${link}`, cause)
  })
})

/** The major version of PostgreSQL that created a cluster. */
export const clusterMajor = (cluster: string) =>
  attempt(`${cluster} is not a readable PostgreSQL data directory`, async () =>
    (await readFile(join(cluster, "PG_VERSION"), "utf8")).trim()
  )

/** The refusal of a cluster of another major version. */
export const otherMajor = (cluster: string, its: string, ours: string) =>
  new StartError({
    message:
      Number(its) < Number(ours)
        ? `${cluster} was created by PostgreSQL ${its}, but this is PostgreSQL ${ours}: run svc upgrade-database (docs/operations.md, Upgrades), start the previous release, or set DATABASE_URL`
        : `${cluster} was created by PostgreSQL ${its}, which is newer than PostgreSQL ${ours} of this release: start the release that created it or a newer one, or set DATABASE_URL`
  })

/** PostgreSQL refuses a cluster that others may enter, as it is after a copy that did not keep its mode. */
const closeCluster = (cluster: string) =>
  attempt(`Failed to change the permissions of ${cluster}`, async () => {
    const { mode } = await lstat(cluster)
    if (process.platform !== "win32" && (mode & 0o027) !== 0) await chmod(cluster, 0o700)
  })

/** Fails if these programs cannot run the cluster. */
export const checkCluster = Effect.fnUntraced(function* (
  cluster: string,
  binaries: PostgresBinaries,
  user: PostgresUser
) {
  const version = yield* clusterMajor(cluster)
  if (version !== binaries.major) return yield* otherMajor(cluster, version, binaries.major)
  const owner = (yield* attempt(`Failed to read ${cluster}`, () => lstat(cluster))).uid
  if (user === undefined) {
    if (owner === (process.geteuid?.() ?? owner)) return yield* closeCluster(cluster)
    return yield* new StartError({
      message: `${cluster} belongs to user ${owner}: start the service as that user or as root`
    })
  }
  // Owned by root after a copy or a restore by root.
  if (owner === 0)
    yield* attempt(`Failed to change the owner of ${cluster}`, () =>
      run("chown", ["-R", `${user.uid}:${user.gid}`, cluster])
    )
  yield* closeCluster(cluster)
  if (yield* canEnter(user, cluster)) return
  return yield* new StartError({
    message: `PostgreSQL runs as user ${user.uid}, which cannot enter ${cluster}: allow it (chmod o+x) on the parent directories`
  })
})

/** A setting of a cluster, of which operators may edit the files. */
export const clusterSetting = (cluster: string, binaries: PostgresBinaries, user: PostgresUser, name: string) =>
  attempt(`Failed to read the settings of ${cluster}`, async () => {
    const { stdout } = await run(binaries.postgres, ["-D", cluster, "-C", name], asUser(user))
    return stdout.trim()
  })

/**
 * Makes the cluster of a data directory atomically: `make` fills `data` in a directory of the user's, which is renamed at
 * the end.
 *
 * @returns its directory without symbolic links
 */
export const placeCluster = Effect.fnUntraced(function* <E>(
  dir: DataDir["Service"],
  user: PostgresUser,
  make: (work: string) => Effect.Effect<void, E>
) {
  const link = clusterLink(dir)
  const place = user === undefined || (yield* canEnter(user, dir.path)) ? link : yield* systemPlace
  const what = "Failed to create PostgreSQL's data directory"
  const parent = dirname(place)
  const work = yield* attempt(what, async () => {
    for (const name of await readdir(parent)) {
      // Left by a first start that was killed. If its initdb still runs, it does not affect this one.
      if (name.startsWith(unfinished(place)))
        await rm(join(parent, name), { recursive: true, force: true }).catch(() => undefined)
    }
    const work = await mkdtemp(join(parent, unfinished(place)))
    if (user !== undefined) await chown(work, user.uid, user.gid)
    return work
  })
  yield* make(work).pipe(
    Effect.andThen(
      attempt(what, async () => {
        await rename(join(work, "data"), place)
        await syncDirectory(parent)
        if (place !== link) await symlink(place, link)
      })
    ),
    Effect.ensuring(Effect.promise(() => rm(work, { recursive: true, force: true })))
  )
  if (place !== link) {
    yield* Effect.logInfo(
      `PostgreSQL runs as user ${user?.uid}, which cannot enter ${dir.path}: its data is in ${place}`
    )
  }
  return yield* attempt(`Failed to read ${place}`, () => realpath(place))
})

/** Creates an empty cluster; see `placeCluster`. */
export const createCluster = (
  dir: DataDir["Service"],
  binaries: PostgresBinaries,
  user: PostgresUser,
  password: Redacted.Redacted
) =>
  placeCluster(dir, user, (work) =>
    attempt("Failed to create PostgreSQL's data directory", async () => {
      const secret = join(work, "password")
      await writeFile(secret, Redacted.value(password), { mode: 0o600 })
      if (user !== undefined) await chown(secret, user.uid, user.gid)
      await initdb(binaries, user, join(work, "data"), secret, newLocale)
    })
  )

const unfinished = (place: string) => `${basename(place)}.new-`

/** Has a random name, so that data left behind by a removed data directory is never reused. */
const systemPlace = attempt(`Failed to create a directory in ${systemDirectory}`, async () => {
  const parent = join(systemDirectory, randomBytes(6).toString("hex"))
  await mkdir(parent, { recursive: true })
  await chmod(systemDirectory, 0o755) // regardless of the umask
  await chmod(parent, 0o711)
  return join(parent, "postgres")
})

/** PostgreSQL's own Unicode rules, the same on every system, instead of the C library's where possible. */
const newLocale: ReadonlyArray<string> = [
  "--encoding=UTF8",
  "--locale-provider=builtin",
  "--builtin-locale=C.UTF-8",
  "--locale=C",
  ...(process.platform === "linux" ? ["--lc-ctype=C.UTF-8"] : [])
]

/**
 * Fills a directory with an empty cluster.
 *
 * @param secret a file with the password
 * @param locale options of initdb
 */
export const initdb = async (
  binaries: PostgresBinaries,
  user: PostgresUser,
  data: string,
  secret: string,
  locale: ReadonlyArray<string>
) => {
  const options = [
    ["--pgdata", data, "--username", "postgres", "--pwfile", secret, "--auth", "scram-sha-256", "--no-instructions"],
    locale,
    Object.entries(settings).flatMap(([name, value]) => ["--set", `${name}=${value}`])
  ]
  await run(binaries.initdb, options.flat(), asUser(user)).catch((cause: unknown) => {
    const output = cause instanceof Error && "stderr" in cause ? String(cause.stderr) : ""
    if (output.includes("could not look up effective user")) {
      throw new Error(
        "PostgreSQL needs the current user in /etc/passwd, which does not list it: add the user, or set DATABASE_URL"
      )
    }
    throw new Error(
      /^initdb: (?!warning|hint).*|^.*(?:FATAL|PANIC): .*/m.exec(output)?.[0] ?? String(cause).split("\n")[0]
    )
  })
}

/** Sets a new password of the owner of a stopped cluster, after `secrets.json` was lost. */
export const resetPassword = (
  cluster: string,
  binaries: PostgresBinaries,
  user: PostgresUser,
  password: Redacted.Redacted
) =>
  attempt(
    "Failed to reset PostgreSQL's password",
    () =>
      new Promise<void>((resolve, reject) => {
        const child = spawn(binaries.postgres, ["--single", "-D", cluster, "postgres"], {
          ...asUser(user),
          stdio: ["pipe", "ignore", "ignore"]
        })
        child.once("error", reject)
        child.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`postgres exited with code ${code}`))))
        child.stdin.end(`alter user postgres password '${Redacted.value(password)}'\n`)
      })
  )
