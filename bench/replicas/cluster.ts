import { randomBytes } from "node:crypto"
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { startPostgresCluster } from "../support/cluster.ts"
import { freePort } from "../support/freePort.ts"
import { remote } from "../support/remote.ts"
import { type Disk, mountDisk } from "./servers/disk.ts"
import { type Part } from "./servers/part.ts"
import { Replica } from "./servers/replica.ts"
import { startStore } from "./servers/store.ts"
import { type Wires, type WireState } from "./wires.ts"

export interface ClusterOptions {
  /** The service's program. */
  readonly entry: string
  readonly replicas: number
  /** Standbys that serve reads. */
  readonly standbys: number
  /** The object store's command (servers/store.ts). */
  readonly store: string | undefined
  /** Small disks under PostgreSQL and the object store, and clocks that can be set, where this machine allows it. */
  readonly machinery: boolean
}

export interface Network {
  readonly set: (state: WireState) => Promise<void>
}

export interface Cluster extends AsyncDisposable {
  readonly replicas: ReadonlyArray<Replica>
  /** The servers beside the replicas and the primary, by name. */
  readonly parts: Readonly<Record<string, Part>>
  readonly disks: Readonly<Record<string, Disk>>
  /** What lies between all replicas, or the first one, and another server. */
  readonly networks: Readonly<Record<string, Network>>
  /** Whether the replicas' clocks can be set. */
  readonly clocks: boolean
  readonly databaseUrl: string
  readonly anon: string
  readonly service_role: string
  readonly jwtSecret: string
  readonly migrationsDir: string
  readonly primary: { readonly pid: () => Promise<number>; readonly signal: (name: NodeJS.Signals) => Promise<void> }
}

const libraries = "/usr/lib"

/** Debian's libfaketime, if it is installed. */
const faketime = async () => {
  const architectures = await readdir(libraries).catch(() => [])
  for (const name of architectures) {
    const path = join(libraries, name, "faketime/libfaketimeMT.so.1")
    if ((await readFile(path).catch(() => undefined)) !== undefined) return path
  }
  return undefined
}

/** PostgreSQL with standbys, an S3 store, and replicas of the service, each with a network of its own to them. Linux only. */
export const makeCluster = async ({
  entry,
  machinery,
  replicas: count,
  standbys,
  store: command
}: ClusterOptions): Promise<Cluster> => {
  await using started = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), "svc-replicas-"))
  started.defer(() => rm(dir, { recursive: true, force: true }))
  // PostgreSQL may run as another user.
  await chmod(dir, 0o711)
  const disk = async (name: string, mebibytes: number) => {
    const path = join(dir, name)
    await mkdir(path)
    await chmod(path, 0o711)
    const mounted = machinery ? await mountDisk(path, mebibytes) : undefined
    return { path, mounted: mounted === undefined ? undefined : started.use(mounted) }
  }
  const databaseDisk = await disk("database", 768)
  const storeDisk = await disk("store", 128)
  const settings = { max_wal_size: "96MB", wal_keep_size: "64MB", max_connections: "400", track_commit_timestamp: "on" }
  const postgres = started.use(await startPostgresCluster(standbys, { directory: databaseDisk.path, settings }))
  const store = await startStore(storeDisk.path, command)
  started.defer(async () => void (await store.part?.end("SIGKILL")))
  const wires = remote<Wires>("replicas/wires.ts")
  started.defer(wires.stop)

  const numbers: Record<string, Array<number>> = {}
  const wireTo = async (name: string, port: number) => {
    const opened = await wires.call("open", port)
    ;(numbers[name] ??= []).push(opened.wire)
    return opened.port
  }
  const network = (numbers: ReadonlyArray<number>): Network => ({
    set: async (state) => void (await wires.call("set", { numbers, state }))
  })

  const library = machinery ? await faketime() : undefined
  const jwtSecret = randomBytes(32).toString("base64url")
  const encryptionKey = randomBytes(32).toString("hex")
  const migrationsDir = join(dir, "migrations")
  await mkdir(migrationsDir)
  const pgBin = process.env["SVC_TEST_PG_BIN"]
  const urlAt = (port: number) =>
    `postgres://postgres:${encodeURIComponent(postgres.password)}@127.0.0.1:${port}/postgres`
  const replicas: Array<Replica> = []
  started.defer(async () => void (await Promise.all(replicas.map((replica) => replica.end("SIGKILL")))))
  for (let n = 0; n < count; n++) {
    const readPorts = await Promise.all(postgres.standbys.map(({ port }) => wireTo("standby", port)))
    const replica = new Replica({
      entry,
      port: await freePort(),
      operationsPort: await freePort(),
      clock: library === undefined ? undefined : { library, file: join(dir, `clock-${n}`) },
      env: {
        DATABASE_URL: urlAt(await wireTo("PostgreSQL", postgres.primary.port)),
        ...(readPorts.length > 0 && { DATABASE_READ_URLS: readPorts.map(urlAt).join(" ") }),
        S3_ENDPOINT: `http://127.0.0.1:${await wireTo("store", store.port)}`,
        S3_PUBLIC_ENDPOINT: `http://127.0.0.1:${store.port}`,
        S3_ACCESS_KEY: store.accessKey,
        S3_SECRET_KEY: store.secretKey,
        SVC_DATA_DIR: join(dir, `replica-${n}`),
        SVC_BACKUP_DIR: join(dir, "backups"),
        ...(pgBin !== undefined && { PG_BIN_DIR: pgBin }),
        ...(machinery && { SVC_BACKUP_CRON: "* * * * *", SVC_BACKUP_KEEP: "3" }),
        MIGRATIONS_DIR: migrationsDir,
        SVC_JWT_SECRET: jwtSecret,
        SVC_ENCRYPTION_KEY: encryptionKey,
        SVC_DB_POOL_SIZE: "4",
        SVC_RATE_LIMITS: "database",
        SVC_SHUTDOWN_DELAY: "2s",
        WEBHOOK_ALLOW_PRIVATE: "true",
        WEBHOOK_DISABLE_AFTER: "100000",
        WEBHOOK_RETRY_SCHEDULE: Array.from({ length: 60 }, () => "1s").join(","),
        FLAGS_PORT: "0",
        FLAGS_HTTP_PORT: "0",
        FLAGS_SYNC_PORT: "0"
      }
    })
    replicas.push(replica)
    replica.launch()
    for (const deadline = Date.now() + 60_000; !replica.ready; await sleep(100)) {
      if (Date.now() > deadline) throw new Error(`A replica is not ready:\n${replica.output}`)
      await replica.check()
    }
  }
  const keys = JSON.parse(await readFile(join(dir, "replica-0/keys.json"), "utf8")) as Record<string, string>

  const [standby] = postgres.standbys
  const standbyPart: Part | undefined = standby && {
    signal: async (name) => {
      await standby.start()
      await standby.signal(name)
    },
    kill: async () => {
      await standby.start()
      await standby.signal("SIGKILL")
      // Its other processes notice, and end.
      await sleep(1_500)
    },
    start: standby.start
  }
  const networks: Record<string, Network> = {}
  for (const [name, all] of Object.entries(numbers)) {
    networks[name] = network(all)
    if (all.length > 1) networks[`${name}, one replica's`] = network(all.slice(0, 1))
  }
  const parts = started.move()
  return {
    replicas,
    parts: {
      ...(store.part !== undefined && { store: store.part }),
      ...(standbyPart !== undefined && { standby: standbyPart })
    },
    disks: {
      ...(databaseDisk.mounted !== undefined && { PostgreSQL: databaseDisk.mounted }),
      ...(storeDisk.mounted !== undefined && store.part !== undefined && { store: storeDisk.mounted })
    },
    networks,
    clocks: library !== undefined,
    databaseUrl: urlAt(postgres.primary.port),
    jwtSecret,
    migrationsDir,
    anon: keys["anon"] ?? "",
    service_role: keys["service_role"] ?? "",
    primary: postgres.primary,
    [Symbol.asyncDispose]: () => parts.disposeAsync()
  }
}
