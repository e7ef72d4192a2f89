import { open, rename, rm } from "node:fs/promises"
import { dirname } from "node:path"
import { Worker } from "node:worker_threads"
import { Effect, Exit, Redacted } from "effect"
import { withinBackupTimeout } from "../../../services/backups/Settings.ts"
import { DumpFailed, type OnProgress } from "../../../services/ports/DumpTools.ts"
import { type DirectConnection, type QueryFailed, connectDirectly } from "../../postgres/client/DirectConnection.ts"
import { type Login, atPrimary, socketAddress } from "../../postgres/Login.ts"
import type { BridgeMessage, BridgeTask, DumpWasmServer } from "./Bridge.ts"
import { type DumpWasmTables, largeObjects, tableKey } from "./Progress.ts"
import { type DumpWasmShared, activity, at, makeDumpWasmShared } from "./Shared.ts"

/** Facts about a database that a dump needs. */
interface DumpWasmSource {
  /** Encoding of the dump; undefined where the server can't convert to it. */
  readonly encoding: "UTF8" | undefined
  /** Whether the server can detect a lost client during a statement. */
  readonly detectsDisconnect: boolean
  readonly tables: DumpWasmTables
}

/** Errors of a server or a library may contain the password. */
const withoutPassword = (reason: string, login: Login): string => {
  const password = Redacted.value(login.password)
  return password !== "" && reason.includes(password) ? "The database refused the connection" : reason
}

const databaseSql = `select current_setting('server_version_num')::int / 10000 as major, pg_encoding_to_char(encoding) as encoding
  from pg_database where datname = current_database()`

/** Exact sizes; waits for locked tables. */
const exactBytes = "pg_table_size(c.oid)"
/** Sizes at the last VACUUM or ANALYZE. */
const knownBytes = "(c.relpages + coalesce(t.relpages, 0)) * current_setting('block_size')::bigint"

const tablesSql = (bytes: string) => `
  select n.nspname::text as schema, c.relname::text as name, (${bytes})::float8 as bytes, c.reltuples::float8 as rows
  from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_class t on t.oid = c.reltoastrelid
  where c.oid = 'pg_catalog.pg_largeobject'::regclass
    or c.relkind = 'r' and c.relpersistence <> 't' and n.nspname not in ('pg_catalog', 'information_schema')`

const tablesOf = Effect.fnUntraced(function* (on: DirectConnection) {
  const rows = yield* Effect.catch(on.query(tablesSql(exactBytes)), () => on.query(tablesSql(knownBytes)))
  return new Map(
    rows.map(({ bytes, name, rows, schema }) =>
      schema === "pg_catalog"
        ? [largeObjects, { bytes: Number(bytes), rows: 0 }]
        : [tableKey(String(schema), String(name)), { bytes: Number(bytes), rows: Number(rows) }]
    )
  )
})

/** Inspects the database; fails early where the dump would. `newest`: the newest major version that pg_dump supports. */
const inspectSource = (login: Login, newest: number): Effect.Effect<DumpWasmSource, DumpFailed> =>
  Effect.gen(function* () {
    const on = yield* connectDirectly(login, { statement_timeout: "30s", lock_timeout: "1s" })
    const [database] = yield* on.query(databaseSql)
    const major = Number(database?.["major"])
    if (major > newest) {
      return yield* new DumpFailed({
        reason: `The server is PostgreSQL ${major}, and the built-in pg_dump supports at most ${newest}: install pg_dump ${major}`
      })
    }
    const detection = yield* Effect.exit(on.query("set client_connection_check_interval = '1s'"))
    return {
      // A restore can always use UTF8. Bytes without an encoding can't be converted.
      encoding: ["SQL_ASCII", "MULE_INTERNAL"].includes(String(database?.["encoding"])) ? undefined : "UTF8",
      detectsDisconnect: detection._tag === "Success",
      tables: yield* tablesOf(on)
    } satisfies DumpWasmSource
  }).pipe(
    Effect.scoped,
    Effect.catchTag("QueryFailed", ({ message }: QueryFailed) =>
      Effect.fail(new DumpFailed({ reason: withoutPassword(message, login) }))
    )
  )

/** Version of the built-in pg_dump, and the newest major version of a server that it supports. */
export const wasmVersion = "18.3"
export const wasmMajor = 18

export interface DumpWasmOptions {
  /** Time limit of a dump, in ms. */
  readonly timeout: number
  /** Longest silence of the server, in ms; scanning a table of mostly dead rows is silent too. */
  readonly stall?: number
  /** Longest wait for a locked table, in ms. */
  readonly lockWait?: number
  /** Directory of pg_dump's files; the installed package by default. */
  readonly directory?: string
}

/** Level of zstd; higher levels are slower, and did not make files smaller when measured. */
const level = 1

const serverOf = (login: Login): DumpWasmServer => {
  const address = socketAddress(atPrimary(login).at)
  if (login.at.ssl === false) return { address, tls: false }
  // Functions can't be sent to another thread; this is the only one of a login.
  const { checkServerIdentity, ...options } = login.at.ssl
  return { address, tls: { options, anyName: checkServerIdentity !== undefined } }
}

const connectionOf = (login: Login, { detectsDisconnect }: DumpWasmSource) => ({
  // Required by libpq, but the bridge makes the connection.
  host: "/tmp",
  port: "5432",
  sslmode: "disable",
  gssencmode: "disable",
  user: login.user,
  password: Redacted.value(login.password),
  dbname: login.database,
  application_name: "svc backup",
  ...(detectsDisconnect ? { options: "-c client_connection_check_interval=1s" } : {})
})

/** Runs a dump in its own threads, which end with it. */
const run = (task: BridgeTask) =>
  Effect.callback<void, DumpFailed>((resume) => {
    const worker = new Worker(new URL("./Bridge.ts", import.meta.url), {
      workerData: task,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 128 }
    })
    const end = (result: Effect.Effect<void, DumpFailed>) =>
      resume(
        Effect.andThen(
          Effect.promise(() => worker.terminate()),
          result
        )
      )
    const fail = (reason: string) => end(Effect.fail(new DumpFailed({ reason })))
    worker.on("message", (message: BridgeMessage) => {
      // `node --watch` sends messages of its own on this channel.
      if (message._tag === "Done") end(Effect.void)
      else if (message._tag === "Failed") fail(message.reason)
    })
    worker.on("error", (error) => fail(String(error)))
    worker.on("exit", () => fail("The thread of pg_dump ended unexpectedly"))
    return Effect.promise(() => worker.terminate())
  })

const pollMillis = 250

/** Reports the progress; fails when the server is silent for too long. */
const watch = Effect.fnUntraced(function* (shared: DumpWasmShared, stall: number, onProgress: OnProgress) {
  let [last, still, reported] = [0, 0, 0]
  for (;;) {
    yield* Effect.sleep(pollMillis)
    const now = activity(shared)
    still = now === last ? still + pollMillis : 0
    last = now
    if (still >= stall) {
      return yield* new DumpFailed({ reason: `The server sent nothing for ${stall / 1000} s` })
    }
    const fraction = Atomics.load(shared.counters, at.progress) / 1e6
    if (fraction > reported) yield* onProgress((reported = fraction))
  }
})

/** Renames a complete file, and syncs the directory. */
const keep = (from: string, to: string) =>
  Effect.tryPromise({
    try: async () => {
      await rename(from, to)
      // Windows can't sync directories.
      const directory = await open(dirname(to), "r").catch(() => undefined)
      await directory?.sync().catch(() => undefined)
      await directory?.close()
    },
    catch: (cause) => new DumpFailed({ reason: `Failed to rename the file: ${String(cause)}` })
  })

/**
 * Dumps a database as an SQL script, compressed with zstd (one frame), by the built-in pg_dump. `file` exists once it is
 * complete and synced, `<file>.partial` before.
 */
export const dumpWasm =
  (login: Login, options: DumpWasmOptions) =>
  (database: string, file: string, onProgress: OnProgress): Effect.Effect<void, DumpFailed> => {
    const source: Login = { ...login, database }
    const partial = `${file}.partial`
    const { directory, lockWait = 60_000, stall = 600_000, timeout } = options
    const dump = Effect.gen(function* () {
      const known = yield* inspectSource(source, wasmMajor)
      const shared = makeDumpWasmShared()
      const { encoding, tables } = known
      const encrypted = source.at.ssl !== false
      const pgDump = {
        shared,
        encrypted,
        connection: connectionOf(source, known),
        encoding,
        lockWait,
        tables,
        directory
      }
      const task: BridgeTask = { server: serverOf(source), file: partial, level, pgDump }
      yield* Effect.raceFirst(run(task), watch(shared, stall, onProgress))
      yield* onProgress(1)
    })
    return Effect.uninterruptibleMask((restore) =>
      Effect.andThen(restore(withinBackupTimeout(timeout)(dump)), keep(partial, file)).pipe(
        Effect.onExit((exit) =>
          Exit.isSuccess(exit) ? Effect.void : Effect.promise(() => rm(partial, { force: true }).catch(() => undefined))
        ),
        Effect.mapError(({ reason }) => new DumpFailed({ reason: withoutPassword(reason, source) }))
      )
    )
  }
