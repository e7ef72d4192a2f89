import { DatabaseSync } from "node:sqlite"
import { parentPort, workerData } from "node:worker_threads"
import { bucketOperations } from "./Buckets.ts"
import { listingOperations } from "./Listing.ts"
import { indexFormat, indexSteps } from "./Format.ts"
import { makeIndexHistory } from "./History.ts"
import { journalOperations } from "./Journal.ts"
import { objectOperations } from "./Objects.ts"
import { importOperations } from "./Import.ts"
import { pastOperations } from "./Past.ts"
import { makePlaces } from "./Places.ts"
import { makeTables } from "./Tables.ts"
import { IndexError } from "./Rows.ts"
import { uploadOperations } from "./Uploads.ts"
import { makeVersions } from "./Versions.ts"

// Runs in the index thread, like everything it imports: these modules must not load Effect.

/**
 * Opens the index, creates its tables if it is new, and counts this start. Throws an Error with a one-line message for
 * the operator. The lock lasts until the database is closed or the process ends.
 */
const openDatabase = (file: string): { readonly database: DatabaseSync; readonly start: number } => {
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
    database.exec("PRAGMA cache_size = -16000; PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 67108864")
    database.exec("BEGIN EXCLUSIVE")
    const format = Number(Object.values(database.prepare("PRAGMA user_version").get() ?? {})[0])
    if (format > indexFormat)
      throw new Error(
        `it was written by a newer version (format ${format}; this version supports up to ${indexFormat})`
      )
    if (format < indexFormat) database.exec(`${indexSteps.slice(format).join("")} PRAGMA user_version = ${indexFormat}`)
    const counted = database.prepare("UPDATE starts SET number = number + 1 RETURNING number").get()
    database.exec("COMMIT")
    return { database, start: Number(counted?.["number"]) }
  } catch (cause) {
    database.close()
    throw String(cause).includes("is locked") ? new Error("it is in use by another process", { cause }) : cause
  }
}

/** What the thread is started with. */
export interface IndexOptions {
  readonly file: string
  /** Whether changes are recorded for recovery. */
  readonly history: boolean
  /** The bucket whose changes are not recorded. */
  readonly except: string | undefined
  /** The time of the start, in ms. */
  readonly now: number
}

/** The operations of the index. Each takes and returns plain data, and may throw a IndexError. */
const makeOperations = (database: DatabaseSync, options: IndexOptions) => {
  const history = makeIndexHistory(database, options.history, options.except, options.now)
  const tables = makeTables(database, history)
  const versions = makeVersions(database, tables, history)
  const buckets = bucketOperations(database, tables, history)
  const objects = objectOperations(database, tables, versions, history)
  const uploads = uploadOperations(database, tables, versions, history)
  const past = pastOperations(database, tables, history)
  const listing = listingOperations(database, tables, versions, past)
  const places = makePlaces(database, tables)
  const journal = journalOperations(database, tables, history, places)
  const imports = importOperations(database)
  return {
    reads: {
      ...buckets.reads,
      ...objects.reads,
      ...uploads.reads,
      ...listing.reads,
      ...past.reads,
      ...journal.reads,
      ...places.reads,
      ...imports.reads
    },
    writes: {
      ...buckets.writes,
      ...objects.writes,
      ...uploads.writes,
      ...past.writes,
      ...journal.writes,
      ...places.writes,
      ...imports.writes
    }
  }
}

export type Reads = ReturnType<typeof makeOperations>["reads"]
export type Writes = ReturnType<typeof makeOperations>["writes"]

/** A command from the main thread; the answer has its number. */
export type WorkerCommand = readonly [
  number: number,
  kind: "read" | "write",
  name: string,
  given: ReadonlyArray<unknown>
]

/** `failure` is the code of an S3Error; `defect` is the message of any other exception. */
export type WorkerOutcome =
  | { readonly value: unknown }
  | {
      readonly failure: string
      readonly extra: Readonly<Record<string, string>> | undefined
      readonly headers?: Readonly<Record<string, string>> | undefined
    }
  | { readonly defect: string }

export type WorkerAnswer = readonly [number: number, outcome: WorkerOutcome]

// The index thread: changes that arrive while a commit is being synced share the next one.

/** The maximum number of changes in one commit. */
const groupSize = 512

const port = parentPort
if (port === null) throw new Error("This module must run as a worker thread")

const outcomeOf = (cause: unknown): WorkerOutcome => {
  if (cause instanceof IndexError) return { failure: cause.code, extra: cause.extra, headers: cause.headers }
  // SQLITE_FULL
  const full = cause instanceof Error && "errcode" in cause && Number(cause.errcode) % 256 === 13
  return full ? { failure: "InsufficientStorage", extra: undefined } : { defect: String(cause) }
}

const serve = (database: DatabaseSync, options: IndexOptions) => {
  const { reads, writes } = makeOperations(database, options)
  const operations: Readonly<Record<string, ((...given: ReadonlyArray<never>) => unknown) | undefined>> = {
    ...reads,
    ...writes
  }
  const begin = database.prepare("BEGIN IMMEDIATE")
  const commit = database.prepare("COMMIT")
  const savepoint = database.prepare("SAVEPOINT command")
  const release = database.prepare("RELEASE command")
  const undo = database.prepare("ROLLBACK TO command")

  const run = ([, , name, given]: WorkerCommand): WorkerOutcome => {
    try {
      return { value: operations[name]?.(...(given as ReadonlyArray<never>)) }
    } catch (cause) {
      return outcomeOf(cause)
    }
  }

  /** Runs one command of a transaction; a failure rolls back only this command. */
  const runInGroup = (command: WorkerCommand): WorkerOutcome => {
    savepoint.run()
    const outcome = run(command)
    // SQLite may have rolled back the whole transaction if the disk is full or failing.
    if (!database.isTransaction) return outcome
    if (!("value" in outcome)) undo.run()
    release.run()
    return outcome
  }

  const runGroup = (commands: ReadonlyArray<WorkerCommand>): ReadonlyArray<WorkerAnswer> => {
    const all = (outcome: WorkerOutcome) => commands.map(([number]): WorkerAnswer => [number, outcome])
    const answers: Array<WorkerAnswer> = []
    try {
      begin.run()
      for (const command of commands) {
        const outcome = runInGroup(command)
        if (!database.isTransaction) return all(outcome)
        answers.push([command[0], outcome])
      }
      commit.run()
      return answers
    } catch (cause) {
      if (database.isTransaction) database.exec("ROLLBACK")
      return all(outcomeOf(cause))
    }
  }

  let waiting: Array<WorkerCommand> = []

  const runCommands = () => {
    const commands = waiting
    waiting = []
    // The pending changes are not answered yet, so reads may run before them without waiting.
    const reads = commands
      .filter(([, kind]) => kind === "read")
      .map((command): WorkerAnswer => [command[0], run(command)])
    if (reads.length > 0) port.postMessage(reads)
    const changes = commands.filter(([, kind]) => kind === "write")
    for (let at = 0; at < changes.length; at += groupSize) port.postMessage(runGroup(changes.slice(at, at + groupSize)))
  }

  port.on("message", (message: WorkerCommand | "close") => {
    if (message === "close") {
      if (waiting.length > 0) runCommands()
      database.close()
      port.close()
      return
    }
    if (waiting.length === 0) setImmediate(runCommands)
    waiting.push(message)
  })
}

try {
  const options = workerData as IndexOptions
  const { database, start } = openDatabase(options.file)
  serve(database, options)
  port.postMessage({ start })
} catch (cause) {
  port.postMessage({ failed: cause instanceof Error ? cause.message : String(cause) })
  port.close()
}
