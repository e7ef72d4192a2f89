/** A PostgreSQL cluster on this machine: a primary with standbys, made with what PostgreSQL itself brings. */
import { Deferred, Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { execFile } from "node:child_process"
import { appendFile, chmod, mkdtemp, readdir, readlink, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { Client } from "pg"
import { PostgresAddress } from "../../src/layers/postgres/Address.ts"
import { postgresBinaries, postgresPackage, systemDirectory } from "../../src/layers/postgres/embedded/Binaries.ts"
import { findCluster } from "../../src/layers/postgres/embedded/Cluster.ts"
import { layerEmbedded } from "../../src/layers/postgres/embedded/Embedded.ts"
import { readPidFile } from "../../src/layers/postgres/embedded/Process.ts"
import { freePort, launch, type Started, stop, whenReady } from "../../src/layers/postgres/embedded/Server.ts"
import { postgresUser } from "../../src/layers/postgres/embedded/User.ts"
import { DataDir } from "../../src/layers/process/DataDir.ts"

const run = promisify(execFile)

/** One server of a cluster, on 127.0.0.1. */
export interface ClusterServer {
  readonly port: number
  /** Runs any SQL as the superuser in the database `postgres`. */
  readonly sql: (text: string, params?: ReadonlyArray<unknown>) => Promise<ReadonlyArray<Record<string, unknown>>>
  /** The process that is the parent of its others; fails if there is none. */
  readonly pid: () => Promise<number>
  /** Sends a signal to all of its processes. */
  readonly signal: (name: NodeJS.Signals) => Promise<void>
}

export interface Standby extends ClusterServer {
  /** Starts it again if it has ended. */
  readonly start: () => Promise<void>
}

export interface ClusterOptions {
  /** An existing directory that every user may enter, for all files of the servers. Default: a temporary one. */
  readonly directory?: string
  /** Of all servers. */
  readonly settings?: Readonly<Record<string, string>>
}

/** A primary, and standbys that replicate it by streaming. The primary is started again when it ends, and a standby is not. */
export interface PostgresCluster extends AsyncDisposable {
  readonly primary: ClusterServer
  readonly standbys: ReadonlyArray<Standby>
  readonly password: string
  /** A libpq URI of these servers. */
  readonly url: (...servers: ReadonlyArray<ClusterServer>) => string
  /** Waits until a standby has replayed what the primary has written so far. */
  readonly caughtUp: (standby: ClusterServer) => Promise<void>
}

export const startPostgresCluster = async (
  count: number,
  { directory = tmpdir(), settings = {} }: ClusterOptions = {}
): Promise<PostgresCluster> => {
  await using started = new AsyncDisposableStack()
  const path = await mkdtemp(join(directory, "svc-cluster-"))
  // When started as root, PostgreSQL runs as another user, which may have to keep its files elsewhere.
  await chmod(path, 0o711)
  started.defer(async () => {
    const elsewhere = await readlink(join(path, "postgres")).catch(() => undefined)
    if (elsewhere !== undefined) await rm(dirname(elsewhere), { recursive: true, force: true })
    await rm(path, { recursive: true, force: true })
  })
  const runtime = ManagedRuntime.make(Layer.provideMerge(layerEmbedded, DataDir.at(path)))
  started.defer(() => runtime.dispose())
  const address = await runtime.runPromise(Effect.service(PostgresAddress))
  const password = Redacted.value(address.password)
  const { binaries, cluster, user } = await runtime.runPromise(
    Effect.gen(function* () {
      const cluster = (yield* findCluster(yield* DataDir)) ?? ""
      const user = yield* postgresUser(cluster, undefined)
      return { cluster, user, binaries: yield* postgresBinaries(yield* postgresPackage, systemDirectory, user) }
    })
  )

  /** A session that stayed would keep the database from being copied. */
  const connected = async <A>(port: number, use: (client: Client) => Promise<A>) => {
    const client = new Client({ host: "127.0.0.1", port, user: "postgres", password, database: "postgres" })
    await client.connect()
    try {
      return await use(client)
    } finally {
      await client.end()
    }
  }

  const serverAt = (port: number, directory: string): ClusterServer => {
    const pid = async () => {
      const found = (await Effect.runPromise(readPidFile(directory)))?.pid
      if (found === undefined) throw new Error(`No server runs in ${directory}`)
      return found
    }
    return {
      port,
      pid,
      sql: async (text, params = []) =>
        (await connected(port, (client) => client.query<Record<string, unknown>>(text, [...params]))).rows,
      signal: async (name) => {
        const main = await pid()
        const children = await run("ps", ["-o", "pid=", "--ppid", String(main)]).catch(() => ({ stdout: "" }))
        for (const pid of [main, ...children.stdout.trim().split(/\s+/).map(Number)]) {
          if (pid > 1) process.kill(pid, name)
        }
      }
    }
  }

  const primary = serverAt(address.at.port, cluster)
  // Test data need not survive a crash of the machine.
  const all = { fsync: "off", full_page_writes: "off", max_wal_senders: "10", ...settings }
  for (const [name, value] of Object.entries(all)) await primary.sql(`alter system set ${name} = '${value}'`)
  await primary.sql("select pg_reload_conf()")
  if (Object.keys(settings).length > 0) {
    // Some settings hold from the next start on.
    const before = await primary.pid()
    process.kill(before, "SIGINT")
    const restarted = async () =>
      (await primary.pid().catch(() => before)) !== before &&
      (await primary.sql("select").catch(() => undefined)) !== undefined
    for (const end = Date.now() + 20_000; !(await restarted()); await sleep(100))
      if (Date.now() > end) throw new Error("The primary has not restarted within 20 s")
  }

  const standbys: Array<Standby> = []
  for (let number = 1; number <= count; number++) {
    const directory = `${cluster}-${number}`
    started.defer(() => rm(directory, { recursive: true, force: true }))
    const backup = await connected(primary.port, async (client) => {
      await client.query("select pg_backup_start('standby', fast => true)")
      await run("cp", ["--archive", "--reflink=auto", cluster, directory])
      return await client.query<{ readonly labelfile: string }>(
        "select labelfile from pg_backup_stop(wait_for_archive => false)"
      )
    })
    await rm(join(directory, "postmaster.pid"), { force: true })
    for (const file of await readdir(join(directory, "pg_wal")))
      if (/^[0-9A-F]{24}/.test(file)) await rm(join(directory, "pg_wal", file))
    await writeFile(join(directory, "backup_label"), backup.rows[0]?.labelfile ?? "")
    await writeFile(join(directory, "standby.signal"), "")
    const source = `host=127.0.0.1 port=${address.at.port} user=postgres password=${password} application_name=standby${number}`
    await appendFile(
      join(directory, "postgresql.auto.conf"),
      `primary_conninfo = '${source}'\nwal_retrieve_retry_interval = '100ms'\n`
    )
    if (user !== undefined) await run("chown", ["--recursive", `${user.uid}:${user.gid}`, directory])
    const files = { binaries, user, cluster: directory, log: `${directory}.log`, connections: undefined, settings: {} }
    const server = { ...files, port: await Effect.runPromise(freePort(0)) }
    let running: Started | undefined
    const start = async () => {
      if (running !== undefined && !Deferred.isDoneUnsafe(running.ended)) return
      running = await Effect.runPromise(launch(server))
      await Effect.runPromise(whenReady(server, running, 0))
    }
    started.defer(() =>
      running === undefined ? Promise.resolve() : Effect.runPromise(Effect.ignore(stop(running, binaries)))
    )
    await start()
    started.defer(() => rm(server.log, { force: true }))
    standbys.push({ ...serverAt(server.port, directory), start })
  }

  const caughtUp = async (standby: ClusterServer) => {
    const [now] = await primary.sql("select pg_current_wal_flush_lsn()::text as lsn")
    for (const end = Date.now() + 10_000; ;) {
      const [row] = await standby.sql("select pg_last_wal_replay_lsn() >= $1::pg_lsn as there", [now?.["lsn"]])
      if (row?.["there"] === true) return
      if (Date.now() > end) throw new Error("The standby has not caught up within 10 s")
      await sleep(10)
    }
  }
  const parts = started.move()
  return {
    primary,
    standbys,
    password,
    url: (...servers) =>
      `postgres://postgres:${encodeURIComponent(password)}@${servers.map(({ port }) => `127.0.0.1:${port}`).join()}/postgres`,
    caughtUp,
    [Symbol.asyncDispose]: () => parts.disposeAsync()
  }
}
