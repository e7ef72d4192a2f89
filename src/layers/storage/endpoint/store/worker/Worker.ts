import type { DatabaseSync } from "node:sqlite"
import { parentPort, workerData } from "node:worker_threads"
import { openDatabase } from "./Database.ts"
import { makeTables, Refusal } from "./Tables.ts"
import { bucketOperations } from "./Buckets.ts"
import { listingOperations } from "./Listing.ts"
import { objectOperations } from "./Objects.ts"
import { uploadOperations } from "./Uploads.ts"

/** The operations of the index: each takes and gives plain data, and throws a Refusal. */
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

/** What a caller sends: its number comes back with the answer. */
export type Command = readonly [number: number, kind: "read" | "write", name: string, given: ReadonlyArray<unknown>]

/** `refused` is an S3Error of that code; `broken` is a defect. */
export type Outcome =
  | { readonly value: unknown }
  | { readonly refused: string; readonly extra: Readonly<Record<string, string>> | undefined }
  | { readonly broken: string }

export type Answer = readonly [number: number, outcome: Outcome]

// The thread of the index: what has arrived while a commit was being synced shares the next one.

/** At most this many changes wait for one another's commit. */
const groupSize = 512

const port = parentPort
if (port === null) throw new Error("This runs as a worker thread")

const outcomeOf = (cause: unknown): Outcome => {
  if (cause instanceof Refusal) return { refused: cause.code, extra: cause.extra }
  // SQLITE_FULL
  const full = cause instanceof Error && "errcode" in cause && Number(cause.errcode) % 256 === 13
  return full ? { refused: "InsufficientStorage", extra: undefined } : { broken: String(cause) }
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

  const run = ([, , name, given]: Command): Outcome => {
    try {
      return { value: operations[name]?.(...(given as ReadonlyArray<never>)) }
    } catch (cause) {
      return outcomeOf(cause)
    }
  }

  /** One command of a transaction: undone alone when it fails. */
  const runInGroup = (command: Command): Outcome => {
    savepoint.run()
    const outcome = run(command)
    // A full or failing disk may have made SQLite take back all of the transaction.
    if (!database.isTransaction) return outcome
    if (!("value" in outcome)) undo.run()
    release.run()
    return outcome
  }

  const runGroup = (commands: ReadonlyArray<Command>): ReadonlyArray<Answer> => {
    const all = (outcome: Outcome) => commands.map(([number]): Answer => [number, outcome])
    const answers: Array<Answer> = []
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

  let waiting: Array<Command> = []

  const work = () => {
    const commands = waiting
    waiting = []
    // None of the changes at hand has been answered, so what is read may as well come before them, and need not wait.
    const looks = commands.filter(([, kind]) => kind === "read").map((command): Answer => [command[0], run(command)])
    if (looks.length > 0) port.postMessage(looks)
    const changes = commands.filter(([, kind]) => kind === "write")
    for (let at = 0; at < changes.length; at += groupSize) port.postMessage(runGroup(changes.slice(at, at + groupSize)))
  }

  port.on("message", (message: Command | "close") => {
    if (message === "close") {
      if (waiting.length > 0) work()
      database.close()
      port.close()
      return
    }
    if (waiting.length === 0) setImmediate(work)
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
