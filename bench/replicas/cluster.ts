import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { PostgresAddress } from "../../src/layers/postgres/Address.ts"
import { layerEmbedded } from "../../src/layers/postgres/embedded/Embedded.ts"
import { DataDir } from "../../src/layers/process/DataDir.ts"
import { ObjectStoreAddress } from "../../src/layers/storage/Address.ts"
import { layerEmbeddedS3 } from "../../src/layers/storage/Embedded.ts"
import { freePort } from "../support/processes.ts"

/** A replica of the service, on the same port after every restart. */
export class Replica {
  readonly url: string
  /** Whether the balancer sends requests to it. */
  ready = false
  /** Times at which it was killed, in ms: requests in progress are lost then. */
  readonly killedAt: Array<number> = []
  output = ""
  private readonly entry: string
  private readonly env: Readonly<Record<string, string>>
  private child: ChildProcess | undefined

  constructor(entry: string, port: number, env: Readonly<Record<string, string>>) {
    this.entry = entry
    this.url = `http://127.0.0.1:${port}`
    this.env = { ...env, PORT: String(port) }
  }

  start() {
    const child = spawn(process.execPath, [this.entry], { env: this.env, stdio: ["ignore", "pipe", "pipe"] })
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (this.output += text))
    this.child = child
  }

  get pid() {
    return this.child?.pid ?? 0
  }

  signal(name: NodeJS.Signals) {
    if (name === "SIGKILL") this.killedAt.push(Date.now())
    this.child?.kill(name)
  }

  /** Its exit code after a signal that ends it. */
  async end(name: NodeJS.Signals): Promise<number | null> {
    const { child } = this
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null
    const ended = once(child, "exit")
    this.signal(name)
    await ended
    return child.exitCode
  }

  /** What a load balancer does: asks for readiness often, and waits for the answer briefly. */
  async check() {
    const signal = AbortSignal.timeout(1_000)
    const answer = await fetch(`${this.url}/readyz`, { signal }).catch(() => undefined)
    this.ready = answer?.status === 200
    await answer?.arrayBuffer().catch(() => undefined)
  }
}

export interface Cluster extends AsyncDisposable {
  readonly replicas: ReadonlyArray<Replica>
  readonly databaseUrl: string
  readonly anon: string
  readonly service_role: string
  readonly jwtSecret: string
  /** PostgreSQL's processes, the first of which is the parent of the others. */
  readonly postgres: () => Promise<ReadonlyArray<number>>
}

const childrenOf = async (parent: number): Promise<ReadonlyArray<number>> => {
  const all = (await readdir("/proc")).filter((name) => /^\d+$/.test(name))
  const parents = await Promise.all(
    all.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")
      return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === parent ? Number(pid) : 0
    })
  )
  return parents.filter((pid) => pid > 0)
}

/** One PostgreSQL and one S3 store, and replicas of the service that use them. Linux only. */
export const makeCluster = async (count: number, entry: string): Promise<Cluster> => {
  const dir = await mkdtemp(join(tmpdir(), "svc-replicas-"))
  // PostgreSQL may run as another user.
  await chmod(dir, 0o711)
  const postgres = ManagedRuntime.make(Layer.provide(layerEmbedded, DataDir.at(join(dir, "database"))))
  const store = ManagedRuntime.make(Layer.provide(layerEmbeddedS3, DataDir.at(join(dir, "store"))))
  const replicas: Array<Replica> = []
  const dispose = async () => {
    await Promise.all(replicas.map((replica) => replica.end("SIGKILL")))
    await Promise.all([postgres.dispose(), store.dispose()])
    await rm(dir, { recursive: true, force: true })
  }
  try {
    const login = await postgres.runPromise(Effect.service(PostgresAddress))
    const s3 = await store.runPromise(Effect.service(ObjectStoreAddress))
    const password = encodeURIComponent(Redacted.value(login.password))
    const databaseUrl = `postgres://${login.user}:${password}@127.0.0.1:${login.port}/${login.database}`
    const jwtSecret = randomBytes(32).toString("base64url")
    const env = {
      PATH: process.env["PATH"] ?? "",
      DATABASE_URL: databaseUrl,
      S3_ENDPOINT: s3.endpoint,
      S3_REGION: s3.region,
      S3_ACCESS_KEY: s3.accessKey,
      S3_SECRET_KEY: Redacted.value(s3.secretKey),
      S3_FORCE_PATH_STYLE: String(s3.forcePathStyle),
      SVC_JWT_SECRET: jwtSecret,
      SVC_SHUTDOWN_DELAY: "2s",
      WEBHOOK_ALLOW_PRIVATE: "true",
      WEBHOOK_DISABLE_AFTER: "100000",
      WEBHOOK_RETRY_SCHEDULE: Array.from({ length: 60 }, () => "1s").join(","),
      FLAGS_PORT: "0",
      FLAGS_HTTP_PORT: "0",
      FLAGS_SYNC_PORT: "0"
    }
    for (let n = 0; n < count; n++) {
      const replica = new Replica(entry, await freePort(), { ...env, SVC_DATA_DIR: join(dir, `replica-${n}`) })
      replicas.push(replica)
      replica.start()
      for (const deadline = Date.now() + 60_000; !replica.ready; await sleep(100)) {
        if (Date.now() > deadline) throw new Error(`A replica is not ready:\n${replica.output}`)
        await replica.check()
      }
    }
    const keys = JSON.parse(await readFile(join(dir, "replica-0/keys.json"), "utf8")) as Record<string, string>
    return {
      replicas,
      databaseUrl,
      jwtSecret,
      anon: keys["anon"] ?? "",
      service_role: keys["service_role"] ?? "",
      postgres: async () => {
        const pid = Number((await readFile(join(dir, "database/postgres/postmaster.pid"), "utf8")).split("\n")[0])
        return [pid, ...(await childrenOf(pid))]
      },
      [Symbol.asyncDispose]: dispose
    }
  } catch (cause) {
    await dispose()
    throw cause
  }
}
