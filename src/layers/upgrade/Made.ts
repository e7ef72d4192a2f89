import { Effect } from "effect"
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { chown, copyFile, readdir, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { pathText, searchPathOf } from "../dumps/SearchPath.ts"
import { dumpWasm } from "../dumps/wasm/Wasm.ts"
import { type PostgresBinaries } from "../postgres/embedded/Binaries.ts"
import { initdb } from "../postgres/embedded/Cluster.ts"
import { extensionSettings } from "../postgres/embedded/Extensions.ts"
import { lastPort } from "../postgres/embedded/Process.ts"
import { asUser, type PostgresUser } from "../postgres/embedded/User.ts"
import { type Login } from "../postgres/Login.ts"
import { attempt, StartError } from "../process/StartError.ts"
import { continueChangeReading, readChangeReading } from "./ChangeSlot.ts"
import { checkLoadable, checkUpgradable } from "./Checks.ts"
import { compareDatabases } from "./Comparison.ts"
import { copyConfiguration } from "./Configuration.ts"
import { loadDump, makeLoaders } from "./Load.ts"
import { askDatabase, type PrivatePlace, privatePlace, startPrivately } from "./Servers.ts"
import { createDatabaseSql, databaseScript, localeOf, readShared, rolesScript, type SharedObjects } from "./Shared.ts"

const run = promisify(execFile)

/** No limit: the longest that a timer can have, in ms. */
const forever = 2_000_000_000

const failed = (message: string) => new StartError({ message })

/** Many tables are locked at once, by few sessions. */
const ofBoth = { max_connections: "100", max_locks_per_transaction: "1024", shared_preload_libraries: "" }

/** After a crash the new cluster is made again, so it needs no log until it is complete. */
const whileFilling = {
  ...ofBoth,
  fsync: "off",
  full_page_writes: "off",
  synchronous_commit: "off",
  wal_level: "minimal",
  max_wal_senders: "0",
  max_wal_size: "512MB",
  checkpoint_timeout: "1h",
  maintenance_work_mem: "256MB"
}

/** Logs each tenth of something. */
const inTenths = (what: string) => {
  let shown = 0
  return (fraction: number) => {
    const tenth = Math.floor(fraction * 10)
    if (tenth <= shown) return Effect.void
    shown = tenth
    return Effect.logInfo(`${what}: ${tenth * 10} %`)
  }
}

const asked = (login: Login, database: string, texts: ReadonlyArray<string>) =>
  askDatabase(login, database).pipe(
    Effect.flatMap((ask) => Effect.forEach(texts, (text) => ask(text), { discard: true })),
    Effect.scoped
  )

/** Makes an empty cluster with the locale of the old one. */
const makeEmpty = Effect.fnUntraced(function* (
  { directory, user }: PrivatePlace,
  binaries: PostgresBinaries,
  shared: SharedObjects,
  segmentSize: number
) {
  const template = shared.databases.find(({ name }) => name === "template0") ?? {}
  const { collate, ctype, encoding, locale, provider, rules } = localeOf(template)
  const data = join(directory, "data")
  const secret = join(directory, "password")
  yield* attempt("Failed to create the new data directory", async () => {
    await writeFile(secret, randomBytes(24).toString("base64url"), { mode: 0o600 })
    if (user !== undefined) await chown(secret, user.uid, user.gid)
    const options = {
      encoding,
      "locale-provider": provider,
      locale: "C",
      "lc-collate": collate,
      "lc-ctype": ctype,
      "wal-segsize": segmentSize,
      ...(locale === undefined ? {} : { [`${provider}-locale`]: locale }),
      ...(rules == null ? {} : { "icu-rules": rules })
    }
    const given = Object.entries(options).map(([name, value]) => `--${name}=${String(value)}`)
    await initdb(binaries, user, data, secret, given)
  })
  return data
})

/** Dumps and loads all databases. */
const fill = Effect.fnUntraced(
  function* ({ directory }: PrivatePlace, old: Login, made: Login, shared: SharedObjects) {
    yield* asked(made, "template1", rolesScript(shared))
    const loaders = makeLoaders(made)
    const databases = shared.databases.filter(({ name }) => name !== "template0")
    const file = join(directory, "dump.sql.zst")
    for (const row of databases) {
      const database = String(row["name"])
      yield* dumpWasm(old, { timeout: forever })(database, file, inTenths(`${database}: dumped`))
      if (database === "postgres") yield* asked(made, "template1", ["drop database postgres"])
      if (database !== "template1") yield* asked(made, "template1", [createDatabaseSql(row)])
      const path = pathText(yield* searchPathOf({ ...old, database }))
      yield* loadDump({ ...made, database }, file, path, loaders, inTenths(`${database}: loaded`))
      yield* attempt(`Failed to remove ${file}`, () => rm(file))
    }
    yield* loaders.remove
    for (const row of databases) yield* asked(made, "template1", databaseScript(shared, row))
    yield* asked(made, "template1", ["checkpoint"])
  },
  Effect.catchTag("DumpFailed", ({ reason }) => failed(`The old data directory is as before: ${reason}`))
)

const differentShared = (before: SharedObjects, after: SharedObjects) =>
  (Object.keys(before) as ReadonlyArray<keyof SharedObjects>).find(
    (kind) => JSON.stringify(before[kind]) !== JSON.stringify(after[kind])
  )

/** Lets the service listen on the same port as before. */
const keepPort = (from: string, to: string, user: PostgresUser) =>
  attempt("Failed to copy the port of the old server", async () => {
    const file = join(to, "postmaster.opts")
    await copyFile(join(from, "postmaster.opts"), file)
    if (user !== undefined) await chown(file, user.uid, user.gid)
  })

/** The cluster that is upgraded, and the programs of its version. */
interface Old {
  readonly cluster: string
  readonly major: string
  readonly binaries: PostgresBinaries
}

/**
 * Makes the new cluster in a directory of its own, and compares it with the old one. Gives the old one's identifier.
 *
 * @param copies directory for files that the servers' user can read
 */
export const makeUpgraded = Effect.fnUntraced(function* (
  directory: string,
  from: Old,
  binaries: PostgresBinaries,
  user: PostgresUser,
  copies: string
) {
  const place = yield* privatePlace(directory, user)
  const extensions = yield* extensionSettings(copies, binaries)
  const port = (yield* lastPort(from.cluster)) || 5432
  const newPort = port === 1 ? 2 : port - 1
  const slots = yield* Effect.promise(() => readdir(join(from.cluster, "pg_replslot")).catch(() => []))
  const old = yield* startPrivately(place, "old", from.binaries, from.cluster, port, {
    ...ofBoth,
    ...(yield* extensionSettings(copies, from.binaries)),
    // The new server may take as much memory as the old one did.
    shared_buffers: "128MB",
    default_transaction_read_only: "on",
    wal_level: slots.length > 0 ? "logical" : "replica"
  })
  const oldMain = yield* askDatabase(old, "postgres")
  const shared = yield* readShared(oldMain, Number(from.major))
  yield* checkUpgradable(oldMain, from.cluster, dirname(directory), shared)
  const reading = yield* readChangeReading(oldMain)
  const [control] = yield* oldMain(
    "select system_identifier::text as identifier, (pg_size_bytes(current_setting('wal_segment_size')) / 1048576)::int as segment from pg_control_system()"
  )
  const names = shared.databases.map(({ name }) => String(name)).filter((name) => name !== "template0")
  const data = yield* makeEmpty(place, binaries, shared, Number(control?.["segment"]))

  yield* Effect.scoped(
    Effect.gen(function* () {
      const made = yield* startPrivately(place, "new", binaries, data, newPort, { ...whileFilling, ...extensions })
      const first = yield* askDatabase(made, "template1")
      for (const name of names) {
        yield* Effect.scoped(Effect.flatMap(askDatabase(old, name), (ask) => checkLoadable(name, ask, first)))
      }
      yield* copyConfiguration(oldMain, first, from.major, from.cluster, data, user)
      yield* fill(place, old, made, shared)
    })
  )
  yield* Effect.logInfo("Writing the new data directory to the disk")
  yield* attempt("Failed to write the new data directory to the disk", () =>
    run(binaries.initdb, ["--sync-only", "--pgdata", data], asUser(user))
  )
  // With the settings that it is going to have: it has to start with them.
  yield* Effect.scoped(
    Effect.gen(function* () {
      const made = yield* startPrivately(place, "new", binaries, data, newPort, {
        max_locks_per_transaction: ofBoth.max_locks_per_transaction,
        ...extensions,
        ...(reading === undefined ? {} : { wal_level: "logical" })
      })
      const main = yield* askDatabase(made, "postgres")
      const different = differentShared(shared, yield* readShared(main, Number(binaries.major)))
      if (different !== undefined)
        return yield* failed(`The ${different} of the upgraded cluster differ from the old ones`)
      for (const name of names) {
        const { rows, tables } = yield* Effect.scoped(
          Effect.flatMap(Effect.all([askDatabase(old, name), askDatabase(made, name)]), ([before, after]) =>
            compareDatabases(name, before, after, inTenths(`${name}: compared`))
          )
        )
        yield* Effect.logInfo(`${name}: ${tables} tables with ${rows} rows are the same`)
      }
      if (reading !== undefined) yield* continueChangeReading(main, reading)
      yield* main("checkpoint")
      return undefined
    })
  )
  yield* keepPort(from.cluster, data, user)
  return { identifier: String(control?.["identifier"]), data }
}, Effect.scoped)
