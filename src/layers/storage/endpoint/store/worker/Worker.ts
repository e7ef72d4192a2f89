import type { DatabaseSync } from "node:sqlite"
import { parentPort, workerData } from "node:worker_threads"
import { openDatabase } from "./Database.ts"
import { makeTables, IndexError } from "./Tables.ts"
import { bucketOperations } from "./Buckets.ts"
import { listingOperations } from "./Listing.ts"
import { objectOperations } from "./Objects.ts"
import { uploadOperations } from "./Uploads.ts"

/** The operations of the index. Each takes and returns plain data, and may throw a IndexError. */
const makeOperations = (database: DatabaseSync) => {
  const tables = makeTables(database)
  const buckets = bucketOperations(database, tables)
  const objects = objectOperations(database, tables)
  const uploads = uploadOperations(database, tables)
  const listing = listingOperations(database, tables)
  return {
    reads: { ...buckets.reads, ...objects.reads, ...uploads.reads, ...listing.reads },
    writes: { ...buckets.writes, ...objects.writes, ...uploads.writes }
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
  | { readonly failure: string; readonly extra: Readonly<Record<string, string>> | undefined }
  | { readonly defect: string }

export type WorkerAnswer = readonly [number: number, outcome: WorkerOutcome]

// The index thread: changes that arrive while a commit is being synced share the next one.

/** The maximum number of changes in one commit. */
const groupSize = 512

const port = parentPort
if (port === null) throw new Error("This module must run as a worker thread")

const outcomeOf = (cause: unknown): WorkerOutcome => {
  if (cause instanceof IndexError) return { failure: cause.code, extra: cause.extra }
  // SQLITE_FULL
  const full = cause instanceof Error && "errcode" in cause && Number(cause.errcode) % 256 === 13
  return full ? { failure: "InsufficientStorage", extra: undefined } : { defect: String(cause) }
}

const serve = (database: DatabaseSync) => {
  const { reads, writes } = makeOperations(database)
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
  const { database, start } = openDatabase(String(workerData))
  serve(database)
  port.postMessage({ start })
} catch (cause) {
  port.postMessage({ failed: cause instanceof Error ? cause.message : String(cause) })
  port.close()
}
