import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { dumpNative, restoreNative } from "../../../src/layers/dumps/native/Native.ts"
import { layerProcesses } from "../../../src/layers/dumps/native/Process.ts"
import { inspectPrograms } from "../../../src/layers/dumps/native/Programs.ts"
import { asItself } from "../backups/restores.ts"
import { on, serverLogin } from "./databases.ts"

/** Directory of real programs; without it their tests are skipped. */
export const place = process.env["SVC_TEST_PG_BIN"]
export const options = { timeout: 60_000 }

const programs = Effect.gen(function* () {
  const found = yield* inspectPrograms(place ?? "")
  if (typeof found === "string") throw new Error(`SVC_TEST_PG_BIN: ${found}`)
  return found
}).pipe(Effect.provide(layerProcesses))

/** Dumps with these programs; `seen` receives the progress. */
export const dump = (
  database: string,
  file: string,
  login = serverLogin(),
  seen: Array<number> = [],
  given = options
) =>
  Effect.flatMap(programs, (found) =>
    dumpNative(found, login, given)(database, file, (fraction) => Effect.sync(() => seen.push(fraction)))
  ).pipe(Effect.provide(layerProcesses))

/** Restores with these programs. */
export const restore = (file: string, database: string, seen: Array<number> = []) =>
  Effect.flatMap(programs, (found) =>
    restoreNative(found, serverLogin(), options)(file, asItself({ ...serverLogin(), database }), (fraction) =>
      Effect.sync(() => seen.push(fraction))
    )
  ).pipe(Effect.provide(layerProcesses))

/** Sessions of dumps and restores in a database. */
export const sessions = (database: string) =>
  on(
    "postgres",
    `select pid, state, query from pg_stat_activity where application_name ~ '^svc (dump|restore) '
     and datname = '${database.replaceAll("'", "''")}'`
  )

/** Command lines of running processes that contain a text. */
export const processes = (text: string) =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")
      } catch {
        return "" // The process has exited.
      }
    })
    .filter((line) => line.includes(text))
