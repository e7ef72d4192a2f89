import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Redacted } from "effect"
import { mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { dumpWasm, type DumpWasmOptions } from "../../../src/layers/dumps/wasm/Wasm.ts"
import { atPlace, type Login } from "../../../src/layers/postgres/Login.ts"
import {
  directory,
  dumpSession,
  dumpSessions,
  filesIn,
  lockTable,
  makeDatabase,
  noDumpSessions,
  on,
  serverLogin,
  wideTable
} from "../../support/dumps/databases.ts"
import { startNarrowServer } from "../../support/dumps/narrowServer.ts"
import { eventually } from "../../support/eventually.ts"

const silently = () => Effect.void
const local = (port = serverLogin().at.port): Login => atPlace(serverLogin(), { host: "127.0.0.1", port })

/** Returns why a dump failed, and asserts that it left no file. */
const failureOf = (login: Login, database: string, options: Partial<DumpWasmOptions> = {}) =>
  Effect.gen(function* () {
    const path = yield* directory
    const dump = dumpWasm(login, { timeout: 60_000, ...options })
    const { reason } = yield* Effect.flip(dump(database, join(path, "it.sql.zst"), silently))
    assert.notInclude(reason, Redacted.value(login.password))
    assert.deepStrictEqual(yield* filesIn(path), [])
    return reason
  })

/** A database with one large table, and a proxy that pauses before it has passed on all rows. */
const heldDatabase = Effect.fnUntraced(function* (name: string) {
  const database = yield* makeDatabase(name, "", wideTable)
  const narrow = yield* Effect.acquireDisposable(
    Effect.promise(() => startNarrowServer(serverLogin().at.port, { holdAfter: 2_000_000 }))
  )
  return { database, narrow, login: local(narrow.port) }
})

it.live("reports PostgreSQL's error of a login", () =>
  Effect.gen(function* () {
    const wrong = yield* failureOf({ ...local(), password: Redacted.make("wr0ng") }, "postgres")
    assert.strictEqual(wrong, `password authentication failed for user "${serverLogin().user}"`)
    assert.strictEqual(yield* failureOf(local(), `no"such`), `database "no"such" does not exist`)
    assert.match(yield* failureOf(local(1), "postgres"), /ECONNREFUSED/)
  }).pipe(Effect.scoped)
)

it.live("reports missing privileges", () =>
  Effect.gen(function* () {
    const user = `dump_nobody_${process.pid}`
    const database = yield* makeDatabase("dump rights", "", "create table closed (n int)")
    yield* Effect.acquireRelease(on("postgres", `create role ${user} login password 'n0body'`), () =>
      // A branch that another test has makes grants to all roles.
      eventually(Effect.exit(on("postgres", `drop role ${user}`)), Exit.isSuccess)
    )
    const reason = yield* failureOf({ ...local(), user, password: Redacted.make("n0body") }, database)
    assert.match(reason, /permission denied for table closed/)
    assert.notMatch(reason, /pg_dump:|Command was/)
  }).pipe(Effect.scoped)
)

it.live("fails when its session is terminated within a table", () =>
  Effect.gen(function* () {
    const { database, login, narrow } = yield* heldDatabase("dump killed")
    const failing = yield* Effect.forkChild(failureOf(login, database))
    yield* Effect.promise(() => narrow.held)
    const pid = yield* dumpSession(database, /^COPY/)
    yield* on("postgres", `select pg_terminate_backend(${pid})`)
    narrow.open()
    assert.match(yield* Fiber.join(failing), /"wide" failed[^]*terminat|"wide" failed[^]*closed/)
  }).pipe(Effect.scoped)
)

it.live("fails when the connection is lost", () =>
  Effect.gen(function* () {
    const { database, login, narrow } = yield* heldDatabase("dump broken")
    const failing = yield* Effect.forkChild(failureOf(login, database))
    yield* Effect.promise(() => narrow.held)
    yield* Effect.promise(() => narrow[Symbol.asyncDispose]())
    assert.match(yield* Fiber.join(failing), /"wide" failed[^]*closed the connection/)
  }).pipe(Effect.scoped)
)

it.live("waits for a locked table only for its limit", () =>
  Effect.gen(function* () {
    const database = yield* makeDatabase("dump locked", "", "create table locked (n int)")
    yield* lockTable(database, "locked")
    const since = performance.now()
    const reason = yield* failureOf(local(), database, { lockWait: 1_000 })
    assert.match(reason, /timeout\nQuery was: LOCK TABLE public\.locked /)
    // Else it would have waited for the minute that a dump may take here.
    assert.isBelow(performance.now() - since, 30_000)
  }).pipe(Effect.scoped)
)

it.live("fails when the server has been silent for too long", () =>
  Effect.gen(function* () {
    // Rows that the proxy holds back for ever. A busy machine may reach the limit before them, with the same result.
    const { database, login } = yield* heldDatabase("dump stopped")
    assert.strictEqual(yield* failureOf(login, database, { stall: 2_000 }), "The server sent nothing for 2 s")
  }).pipe(Effect.scoped)
)

it.live("fails after its time limit", () =>
  Effect.gen(function* () {
    const database = yield* makeDatabase("dump slow", "", "create table locked (n int)")
    yield* lockTable(database, "locked")
    assert.strictEqual(
      yield* failureOf(local(), database, { timeout: 1_500 }),
      "It took over 1.5 s (SVC_BACKUP_TIMEOUT)"
    )
    yield* noDumpSessions(database)
  }).pipe(Effect.scoped)
)

it.live("leaves no file and no session when interrupted", () =>
  Effect.gen(function* () {
    const { database, login, narrow } = yield* heldDatabase("dump left")
    const path = yield* directory
    const started = dumpWasm(login, { timeout: 60_000 })(database, join(path, "it.sql.zst"), silently)
    const dumping = yield* Effect.forkChild(started)
    yield* Effect.promise(() => narrow.held)
    assert.deepStrictEqual(yield* filesIn(path), ["it.sql.zst.partial"])
    const since = performance.now()
    yield* Fiber.interrupt(dumping)
    assert.isBelow(performance.now() - since, 3_000)
    assert.deepStrictEqual(yield* filesIn(path), [])
    yield* noDumpSessions(database)
    // The same for a dump that is waiting for a lock.
    yield* lockTable(database, "wide")
    const waiting = yield* Effect.forkChild(
      dumpWasm(local(), { timeout: 60_000 })(database, join(path, "it.sql.zst"), silently)
    )
    yield* dumpSession(database, /^LOCK TABLE/)
    yield* Fiber.interrupt(waiting)
    assert.deepStrictEqual(yield* filesIn(path), [])
    yield* noDumpSessions(database)
  }).pipe(Effect.scoped)
)

it.live.skipIf(process.platform !== "linux")("reports a full disk and a missing directory", () =>
  Effect.gen(function* () {
    const database = yield* makeDatabase("dump full", "", wideTable)
    const path = yield* directory
    const file = join(path, "it.sql.zst")
    // Every write to this file reports a full disk.
    yield* Effect.promise(() => symlink("/dev/full", `${file}.partial`))
    const dump = dumpWasm(local(), { timeout: 60_000 })
    const { reason } = yield* Effect.flip(dump(database, file, silently))
    assert.match(reason, /ENOSPC: no space left on device/)
    assert.deepStrictEqual(yield* filesIn(path), [])
    assert.deepStrictEqual(yield* dumpSessions(database), [])
    const nowhere = yield* Effect.flip(dump(database, join(path, "gone", "it.sql.zst"), silently))
    assert.match(nowhere.reason, /ENOENT/)
    // A directory of that name can't be replaced by the file.
    yield* Effect.promise(async () => {
      await mkdir(file)
      await writeFile(join(file, "theirs"), "")
    })
    assert.match((yield* Effect.flip(dump(database, file, silently))).reason, /rename the file/)
    assert.deepStrictEqual(yield* filesIn(path), ["it.sql.zst"])
  }).pipe(Effect.scoped)
)
