import { Context, Data, Effect, Layer, RcRef, Redacted, type Scope, Semaphore } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { chmod, chown, mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { text } from "../../domain/Settings.ts"
import { type Owner, takeFileLock } from "./FileLock.ts"
import { attempt, errorCode, StartError } from "./StartError.ts"

/** Another process works on this data directory. */
export class DataDirInUse extends Data.TaggedError("DataDirInUse")<{
  readonly message: string
  /** Undefined when it could not be found out. */
  readonly pid: number | undefined
}> {}

/** SVC_DATA_DIR: what one installation keeps on disk, and who may work on it. */
export class DataDir extends Context.Service<
  DataDir,
  {
    /** Absolute. */
    readonly path: string
    /** Whose files these are when we are root and the directory is somebody else's; new files are given to them. */
    readonly owner: Owner | undefined
    /** The secret of this name, made and kept (mode 0600) at its first use. Safe between processes. */
    readonly secret: (name: string, make: () => string) => Effect.Effect<Redacted.Redacted, StartError>
    /** The secret of this name if there is one. */
    readonly stored: (name: string) => Effect.Effect<Redacted.Redacted | undefined, StartError>
    /**
     * Makes this process the only one on the directory until the scope closes, or the process ends in any way. All parts
     * of the process that have the directory share the lock.
     */
    readonly lock: Effect.Effect<void, StartError | DataDirInUse, Scope.Scope>
  }
>()("svc/layers/DataDir") {
  /** At a given path. */
  static readonly at = (path: string) => Layer.effect(DataDir, make(path))

  /** At SVC_DATA_DIR, default `.svc`. */
  static readonly layer = Layer.effect(
    DataDir,
    text("SVC_DATA_DIR", ".svc").pipe(
      Effect.mapError(({ message }) => new StartError({ message })),
      Effect.flatMap((path) => make(path))
    )
  )
}

const make = Effect.fnUntraced(function* (given: string) {
  const path = resolve(given)
  const root = process.geteuid?.() === 0
  yield* attempt(`The data directory ${path} (SVC_DATA_DIR) can't be made`, () =>
    // As root, PostgreSQL runs as another user and has to come through; every file inside has its own mode.
    mkdir(path, { recursive: true, mode: root ? 0o711 : 0o700 })
  )
  const status = yield* attempt(`The data directory ${path} (SVC_DATA_DIR) can't be used`, () => stat(path))
  const owner = root && status.uid !== 0 ? { uid: status.uid, gid: status.gid } : undefined
  const file = join(path, "secrets.json")
  const oneAtATime = yield* Semaphore.make(1)

  const stored = (name: string) =>
    Effect.map(readSecrets(file), (all) => (all[name] === undefined ? undefined : Redacted.make(all[name])))

  const secret = Effect.fn("DataDir.secret")(
    function* (name: string, make: () => string) {
      const there = yield* stored(name)
      if (there !== undefined) return there
      yield* waitForLock(join(path, "secrets.lock"), owner)
      const all = yield* readSecrets(file)
      const value = all[name] ?? make()
      if (all[name] === undefined) yield* writeSecrets(file, { ...all, [name]: value }, owner)
      return Redacted.make(value)
    },
    Effect.scoped,
    oneAtATime.withPermit
  )

  const lock = yield* RcRef.make({ acquire: lockDirectory(path, owner) })

  return DataDir.of({ path, owner, secret, stored, lock: RcRef.get(lock) })
})

const readSecrets = (file: string) =>
  attempt(`${file} can't be read`, async () => {
    const content = await readFile(file, "utf8").catch((cause: unknown) => {
      if (errorCode(cause) === "ENOENT") return "{}"
      throw cause
    })
    const secrets: Readonly<Record<string, string>> = JSON.parse(content)
    return secrets
  })

/** All or nothing, also when the machine loses power: a new file, synced, takes the old one's name. */
const writeSecrets = (file: string, secrets: Readonly<Record<string, string>>, owner: Owner | undefined) =>
  attempt(`${file} can't be written`, async () => {
    const temporary = `${file}.${process.pid}.tmp`
    const handle = await open(temporary, "w", 0o600)
    try {
      await handle.chmod(0o600)
      if (owner !== undefined) await handle.chown(owner.uid, owner.gid)
      await handle.writeFile(`${JSON.stringify(secrets, null, 2)}\n`)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, file)
    await syncDirectory(dirname(file))
  })

/** Makes a rename durable. Windows can't open directories and needs no such thing. */
export const syncDirectory = async (path: string) => {
  if (process.platform === "win32") return
  const handle = await open(path, "r")
  await handle.sync().finally(() => handle.close())
}

const waitForLock = Effect.fnUntraced(function* (path: string, owner: Owner | undefined) {
  for (let tries = 0; tries < 250; tries++) {
    const lock = yield* takeFileLock(path, owner)
    if (lock !== undefined) return yield* Effect.addFinalizer(() => Effect.sync(lock.release))
    yield* Effect.sleep("20 millis")
  }
  return yield* new StartError({ message: `${path} has been locked by another process for 5 seconds` })
})

const lockDirectory = (path: string, owner: Owner | undefined) => {
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
    yield* attempt(`${pidFile} can't be written`, async () => {
      await writeFile(pidFile, `${process.pid}\n`)
      await chmod(pidFile, 0o644)
      if (owner !== undefined) await chown(pidFile, owner.uid, owner.gid)
    })
  })
}

const inUse = (path: string, pid: number | undefined) =>
  new DataDirInUse({
    pid,
    message: `The data directory ${path} is in use by ${pid === undefined ? "another process" : `process ${pid}`}: stop that, or give this one another SVC_DATA_DIR`
  })

/** The pid in the file, once it is that of a live process: who has just taken the lock writes it a moment later. */
const holder = Effect.fnUntraced(function* (pidFile: string) {
  for (let tries = 0; tries < 25; tries++) {
    const pid = Number(yield* Effect.promise(() => readFile(pidFile, "utf8").catch(() => "")))
    if (Number.isSafeInteger(pid) && pid > 0 && isAlive(pid)) return pid
    yield* Effect.sleep("20 millis")
  }
  return undefined
})

/** Whether a process of this id runs, ours to signal or not. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
  } catch (cause) {
    if (errorCode(cause) !== "EPERM") return false
  }
  if (process.platform !== "linux") return true
  try {
    // One that has ended but whose parent has not taken notice: in a container that may be for ever.
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"))
  } catch {
    return !existsSync("/proc/self/stat")
  }
}
