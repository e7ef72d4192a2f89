import { Context, Data, Effect, Layer, RcRef, Redacted, type Scope, Semaphore } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { chmod, chown, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { text } from "../../domain/Settings.ts"
import { checkNotLost, checkSecrets, type DataPart, installationId, recordPart } from "./DataParts.ts"
import { type FileOwner, takeFileLock } from "./FileLock.ts"
import { readStored, writeStored } from "./StoredFile.ts"
import { attempt, errorCode, StartError } from "./StartError.ts"

/** Another process uses this data directory. */
export class DataDirInUse extends Data.TaggedError("DataDirInUse")<{
  readonly message: string
  /** Undefined if unknown. */
  readonly pid: number | undefined
}> {}

/** SVC_DATA_DIR: the directory of one installation's files, which one process at a time uses. */
export class DataDir extends Context.Service<
  DataDir,
  {
    /** Absolute. */
    readonly path: string
    /** Owner of the directory, and so of new files, if the process is root and the owner is not. */
    readonly owner: FileOwner | undefined
    /**
     * The secret of this name, created and stored (mode 0600) at its first use. Safe between processes. Fails if the
     * directory has data, but lost the file of its secrets or has that of another installation.
     */
    readonly secret: (name: string, make: () => string) => Effect.Effect<Redacted.Redacted, StartError>
    /** The secret of this name if there is one. */
    readonly stored: (name: string) => Effect.Effect<Redacted.Redacted | undefined, StartError>
    /**
     * Runs what opens a part of the directory or creates it, and records that it is there. Fails if it was there before
     * and is missing now.
     */
    readonly part: <A, E, R>(name: DataPart, opened: Effect.Effect<A, E, R>) => Effect.Effect<A, E | StartError, R>
    /**
     * Locks the directory for this process until the scope closes or the process ends in any way. All parts of the
     * process share the lock.
     */
    readonly lock: Effect.Effect<void, StartError | DataDirInUse, Scope.Scope>
  }
>()("svc/layers/DataDir") {
  /** The data directory at a given path. */
  static readonly at = (path: string) => Layer.effect(DataDir, make(path))

  /** The data directory at SVC_DATA_DIR, default `.svc`. */
  static readonly layer = Layer.effect(
    DataDir,
    text("SVC_DATA_DIR", ".svc").pipe(
      Effect.mapError(({ message }) => new StartError({ message })),
      Effect.flatMap((path) => make(path))
    )
  )
}

type Secrets = Readonly<Record<string, string>>

const make = Effect.fnUntraced(function* (given: string) {
  const path = resolve(given)
  const root = process.geteuid?.() === 0
  yield* attempt(`Failed to create the data directory ${path} (SVC_DATA_DIR)`, () =>
    // PostgreSQL runs as another user when started by root, which must enter the directory; files have their own modes.
    mkdir(path, { recursive: true, mode: root ? 0o711 : 0o700 })
  )
  const status = yield* attempt(`Failed to read the data directory ${path} (SVC_DATA_DIR)`, () => stat(path))
  const owner = root && status.uid !== 0 ? { uid: status.uid, gid: status.gid } : undefined
  const file = join(path, "secrets.json")
  const oneAtATime = yield* Semaphore.make(1)

  const stored = (name: string) =>
    Effect.gen(function* () {
      const all = yield* readStored<Secrets>(file)
      if (all !== undefined) yield* checkSecrets(path, file, all)
      return all?.[name] === undefined ? undefined : Redacted.make(all[name])
    })

  /** Runs what changes files of the directory alone, in this process and among others. */
  const changing = <A, E, R>(change: Effect.Effect<A, E, R>) =>
    waitForLock(join(path, "secrets.lock"), owner).pipe(Effect.andThen(change), Effect.scoped, oneAtATime.withPermit)

  const secret = Effect.fn("DataDir.secret")(function* (name: string, make: () => string) {
    const there = yield* stored(name)
    if (there !== undefined) return there
    return yield* changing(
      Effect.gen(function* () {
        const given = yield* readStored<Secrets>(file)
        yield* checkSecrets(path, file, given)
        const all: Secrets = { ...given, installation: yield* installationId(path, given ?? {}, owner) }
        const value = all[name] ?? make()
        if (given?.[name] === undefined) yield* writeStored(file, { ...all, [name]: value }, owner)
        return Redacted.make(value)
      })
    )
  })

  const part: DataDir["Service"]["part"] = (name, opened) =>
    checkNotLost(path, name).pipe(
      Effect.andThen(opened),
      Effect.tap(
        changing(
          Effect.gen(function* () {
            const given = (yield* readStored<Secrets>(file)) ?? {}
            const installation = yield* installationId(path, given, owner)
            yield* recordPart(path, name, owner)
            // A file of an earlier release has no id.
            if (given["installation"] === undefined && Object.keys(given).length > 0) {
              yield* writeStored(file, { ...given, installation }, owner)
            }
          })
        )
      )
    )

  const lock = yield* RcRef.make({ acquire: lockDirectory(path, owner) })

  return DataDir.of({ path, owner, secret, stored, part, lock: RcRef.get(lock) })
})

const waitForLock = Effect.fnUntraced(function* (path: string, owner: FileOwner | undefined) {
  for (let tries = 0; tries < 250; tries++) {
    const lock = yield* takeFileLock(path, owner)
    if (lock !== undefined) return yield* Effect.addFinalizer(() => Effect.sync(lock.release))
    yield* Effect.sleep("20 millis")
  }
  return yield* new StartError({ message: `${path} has been locked by another process for over 5 seconds` })
})

const lockDirectory = (path: string, owner: FileOwner | undefined) => {
  const pidFile = join(path, "lock.pid")
  return Effect.gen(function* () {
    const lock = yield* Effect.acquireRelease(takeFileLock(join(path, "lock"), owner), (taken) =>
      Effect.promise(async () => {
        if (taken === undefined) return
        await rm(pidFile, { force: true }).catch(() => undefined)
        taken.release()
      })
    )
    if (lock === undefined) return yield* inUse(path, yield* holder(pidFile))
    yield* attempt(`Failed to write ${pidFile}`, async () => {
      await writeFile(pidFile, `${process.pid}\n`)
      await chmod(pidFile, 0o644)
      if (owner !== undefined) await chown(pidFile, owner.uid, owner.gid)
    })
  })
}

const inUse = (path: string, pid: number | undefined) =>
  new DataDirInUse({
    pid,
    message: `The data directory ${path} is in use by ${pid === undefined ? "another process" : `process ${pid}`}: stop that process, or set another SVC_DATA_DIR`
  })

/** The pid in the file, once it belongs to a live process: it is written shortly after the lock is taken. */
const holder = Effect.fnUntraced(function* (pidFile: string) {
  for (let tries = 0; tries < 25; tries++) {
    const pid = Number(yield* Effect.promise(() => readFile(pidFile, "utf8").catch(() => "")))
    if (Number.isSafeInteger(pid) && pid > 0 && isAlive(pid)) return pid
    yield* Effect.sleep("20 millis")
  }
  return undefined
})

/** Whether a process with this id runs, of any user. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
  } catch (cause) {
    if (errorCode(cause) !== "EPERM") return false
  }
  if (process.platform !== "linux") return true
  try {
    // A zombie, which in a container may remain forever, is not alive.
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"))
  } catch {
    return !existsSync("/proc/self/stat")
  }
}
