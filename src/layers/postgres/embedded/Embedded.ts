import { Deferred, Effect, Layer, type Redacted, Schedule } from "effect"
import { randomBytes } from "node:crypto"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { integer } from "../../../domain/Settings.ts"
import { DataDir } from "../../process/DataDir.ts"
import { type Login } from "../Login.ts"
import { PostgresAddress } from "../Address.ts"
import { type PostgresBinaries, postgresBinaries, postgresPackage } from "./Binaries.ts"
import { checkCluster, clusterLink, createCluster, findCluster, resetPassword, systemDirectory } from "./Cluster.ts"
import { endBackends, look, readPidFile, stopServer } from "./Process.ts"
import {
  boundLog,
  freePort,
  launch,
  logSize,
  type PostgresServer,
  rotateLog,
  socketDirectory,
  type Started,
  stop,
  whenReady
} from "./Server.ts"
import { postgresUser } from "./User.ts"
import { StartError } from "../../process/StartError.ts"

type Dir = DataDir["Service"]

const secretName = "postgres_password"
const newPassword = () => randomBytes(24).toString("base64url")

const login = (cluster: string, port: number, password: Redacted.Redacted): Login => ({
  host: socketDirectory(cluster) ?? "127.0.0.1",
  port,
  user: "postgres",
  password,
  database: "postgres",
  ssl: false
})

/** Everything that must be there before a server can be started; after a crash, ends what is left of the last one. */
const prepare = Effect.fnUntraced(function* (dir: Dir) {
  const user = yield* postgresUser(clusterLink(dir), dir.owner)
  const copies = user === undefined ? dir.path : systemDirectory
  const binaries = yield* postgresBinaries(yield* postgresPackage, copies, user)
  const had = yield* dir.stored(secretName)
  const password = yield* dir.secret(secretName, newPassword)
  const found = yield* findCluster(dir)
  if (found === undefined) {
    return { binaries, user, password, cluster: yield* createCluster(dir, binaries, user, password) }
  }
  yield* checkCluster(found, binaries, user)
  yield* endLast(found, binaries)
  if (had === undefined) yield* resetPassword(found, binaries, user, password)
  return { binaries, user, password, cluster: found }
})

/** We hold the data directory, so a server that still runs on it has lost its owner. */
const endLast = Effect.fnUntraced(function* (cluster: string, binaries: PostgresBinaries) {
  const last = yield* readPidFile(cluster)
  if (last === undefined) return
  const seen = yield* look(last.pid, cluster)
  if (seen === "ours") {
    yield* Effect.logWarning(
      `PostgreSQL (process ${last.pid}) was left running by a process that was killed: stopping it`
    )
    return yield* stopServer(last.pid, binaries)
  }
  // The pid is some other program's by now. PostgreSQL would take that for a server; its own check for what still
  // uses the cluster's shared memory is not affected.
  if (seen === "other") yield* Effect.promise(() => rm(join(cluster, "postmaster.pid"), { force: true }))
  yield* endBackends(cluster, binaries)
})

/** Starts a server on the data directory, which is ours, and keeps it running until the scope closes. */
const start = Effect.fnUntraced(function* (dir: Dir) {
  const fixed = yield* Effect.mapError(
    integer("SVC_PG_PORT", 0, 0, 65_535),
    ({ message }) => new StartError({ message })
  )
  const { password, ...rest } = yield* prepare(dir)
  const log = join(dir.path, "postgres.log")
  yield* rotateLog(log)

  let running: Started | undefined
  yield* Effect.addFinalizer(() =>
    running === undefined ? Effect.void : Effect.ignore(stop(running, rest.binaries), { log: "Error" })
  )
  // However we end short of being killed. The server's own start-up takes a signal as well.
  const farewell = () => {
    if (running !== undefined && !Deferred.isDoneUnsafe(running.ended)) process.kill(running.pid, "SIGINT")
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => process.on("exit", farewell)),
    () => Effect.sync(() => process.off("exit", farewell))
  )

  const run = Effect.fnUntraced(function* (server: PostgresServer) {
    const from = yield* logSize(log)
    const started = yield* Effect.uninterruptible(Effect.tap(launch(server), (it) => Effect.sync(() => (running = it))))
    yield* Effect.onError(whenReady(server, started, from), () => Effect.ignore(stop(started, server.binaries)))
    return started
  })
  // Between finding a free port and taking it, another program may take it.
  const { first, server } = yield* Effect.gen(function* () {
    const server: PostgresServer = { ...rest, log, port: fixed === 0 ? yield* freePort : fixed }
    return { server, first: yield* run(server) }
  }).pipe(
    Effect.retry({ times: 3, while: (error) => fixed === 0 && isPortTaken(error) }),
    Effect.mapError((error) => (isPortTaken(error) ? portTaken(fixed) : error))
  )
  yield* Effect.forkScoped(supervise(server, first, run))
  yield* Effect.forkScoped(Effect.forever(Effect.delay(boundLog(log), "1 minute")))
  return login(server.cluster, server.port, password)
})

const isPortTaken = ({ message }: StartError) => message.includes("Address already in use")
const portTaken = (port: number) =>
  new StartError({ message: `PostgreSQL can't listen on 127.0.0.1:${port} (SVC_PG_PORT): the port is in use` })

const backoff = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")])

/** Starts the server again, on the same port, whenever it ends by itself; never gives up. */
const supervise = Effect.fnUntraced(function* (
  server: PostgresServer,
  first: Started,
  run: (server: PostgresServer) => Effect.Effect<Started, StartError>
) {
  let started = first
  for (;;) {
    const how = yield* Deferred.await(started.ended)
    yield* Effect.logWarning(`PostgreSQL ended unexpectedly (${how}), starting it again`)
    yield* endBackends(server.cluster, server.binaries)
    started = yield* run(server).pipe(
      Effect.tapError(({ message }) => Effect.logError(message)),
      Effect.retry(backoff),
      Effect.orDie // can't be: the schedule has no end
    )
    yield* Effect.logInfo("PostgreSQL is running again")
  }
})

/**
 * A PostgreSQL of our own in the data directory: made at the first start, kept running, stopped with the scope. Fails
 * when another process has the directory.
 */
export const layerEmbedded: Layer.Layer<PostgresAddress, StartError, DataDir> = Layer.effect(
  PostgresAddress,
  Effect.gen(function* () {
    const dir = yield* DataDir
    yield* Effect.catchTag(dir.lock, "DataDirInUse", ({ message }) => new StartError({ message }))
    return yield* start(dir)
  })
)

/** The running server of the process that has the data directory. */
const attach = Effect.fnUntraced(function* (dir: Dir) {
  const cluster = yield* findCluster(dir)
  const server = cluster === undefined ? undefined : yield* readPidFile(cluster)
  if (cluster === undefined || server === undefined || !server.ready) return undefined
  if ((yield* look(server.pid, cluster)) !== "ours") return undefined
  const password = yield* dir.stored(secretName)
  return password === undefined ? undefined : login(cluster, server.port, password)
})

/**
 * For command-line tools: the PostgreSQL that another process runs on the data directory, and when none does, one that
 * is started for as long as the scope is open.
 */
export const layerAttachOrStart: Layer.Layer<PostgresAddress, StartError, DataDir> = Layer.effect(
  PostgresAddress,
  Effect.gen(function* () {
    const dir = yield* DataDir
    // Whoever has the directory may be just starting, or just ending.
    for (let tries = 0; ; tries++) {
      const refused = yield* Effect.match(dir.lock, {
        onSuccess: () => undefined,
        onFailure: (error) => error
      })
      if (refused === undefined) return yield* start(dir)
      if (refused._tag === "StartError") return yield* refused
      const found = yield* attach(dir)
      if (found !== undefined) return found
      if (tries === 100) {
        return yield* new StartError({ message: `${refused.message}. Its PostgreSQL was not ready within 20 seconds` })
      }
      yield* Effect.sleep("200 millis")
    }
  })
)
