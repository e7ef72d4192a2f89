import { Deferred, Effect, Layer, type Redacted, Schedule } from "effect"
import { randomBytes } from "node:crypto"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { integer, oneOf } from "../../../domain/Settings.ts"
import { changeLogLimit, changeSource } from "../../../services/changes/Settings.ts"
import { archiveLogLimit, archiveSlotPrefix, recoveryEnabled } from "../../../services/recovery/Settings.ts"
import { DataDir } from "../../process/DataDir.ts"
import { type Login } from "../Login.ts"
import { PostgresAddress } from "../Address.ts"
import { type PostgresBinaries, postgresBinaries, postgresPackage, programCopies } from "./Binaries.ts"
import { checkCluster, clusterLink, clusterSetting, createCluster, findCluster, resetPassword } from "./Cluster.ts"
import { extensionSettings } from "./Extensions.ts"
import { endLast } from "./Last.ts"
import { endBackends, lastPort, processKind, readPidFile } from "./Process.ts"
import { finishReplacement } from "./Replacement.ts"
import {
  boundLog,
  freePort,
  launch,
  logSize,
  portTaken,
  type PostgresServer,
  rotateLog,
  socketDirectory,
  type Started,
  stop,
  whenReady
} from "./Server.ts"
import { StartError } from "../../process/StartError.ts"
import { workerCount } from "../../process/WorkerSettings.ts"
import { type PostgresUser, postgresUser } from "./User.ts"

type Dir = DataDir["Service"]

const secretName = "postgres_password"
const newPassword = () => randomBytes(24).toString("base64url")

const login = (cluster: string, port: number, password: Redacted.Redacted): Login => ({
  at: { host: socketDirectory(cluster) ?? "127.0.0.1", port, ssl: false },
  user: "postgres",
  password,
  database: "postgres"
})

/** Prepares everything that a server needs; after a crash, ends the remaining processes of the last one. */
const prepare = Effect.fnUntraced(function* (dir: Dir) {
  yield* finishReplacement(dir)
  const user = yield* postgresUser(clusterLink(dir), dir.owner)
  const binaries = yield* postgresBinaries(yield* postgresPackage, programCopies(dir, user), user)
  const had = yield* dir.stored(secretName)
  const password = yield* dir.secret(secretName, newPassword)
  const cluster = yield* dir.part(
    "postgres",
    Effect.gen(function* () {
      const found = yield* findCluster(dir)
      if (found === undefined) return yield* createCluster(dir, binaries, user, password)
      yield* checkCluster(found, binaries, user)
      yield* endLast(found, binaries)
      if (had === undefined) yield* resetPassword(found, binaries, user, password)
      return found
    })
  )
  return { binaries, user, password, cluster }
})

/**
 * The connections that the pools of several workers could open, if that is more than configured; otherwise undefined.
 */
const neededConnections = Effect.fnUntraced(
  function* (cluster: string, binaries: PostgresBinaries, user: PostgresUser) {
    const workers = yield* workerCount
    if (workers === 1) return undefined
    const poolSize = yield* integer("SVC_DB_POOL_SIZE", 10, 1, 1000)
    const branches = yield* integer("SVC_BRANCH_MAX_CONNECTIONS", 50, 2, 10_000)
    const needed = (workers + 1) * (7 * poolSize + 40) + workers * branches
    return Number(yield* clusterSetting(cluster, binaries, user, "max_connections")) < needed ? needed : undefined
  },
  Effect.mapError(({ message }) => new StartError({ message }))
)

/** SVC_PG_WAL_LEVEL: whether other programs can follow the embedded server. */
export const walLevel = oneOf("SVC_PG_WAL_LEVEL", "replica", ["replica", "logical"])

/**
 * Settings for logical replication. With a slot from an earlier run PostgreSQL does not start without `wal_level`, so it
 * remains until the slot is dropped. Warns if a reader of other programs that stops can fill the disk.
 */
const replicationSettings = Effect.fnUntraced(
  function* (cluster: string, binaries: PostgresBinaries, user: PostgresUser) {
    const [reads, archives] = [(yield* changeSource) === "wal", yield* recoveryEnabled]
    const limits = [reads ? yield* changeLogLimit : 0, archives ? yield* archiveLogLimit : 0]
    const limited = reads || archives ? { max_slot_wal_keep_size: `${Math.max(...limits)}MB` } : {}
    if (reads) return { wal_level: "logical", ...limited }
    const asked = (yield* walLevel) === "logical"
    const slots = yield* Effect.promise(() => readdir(join(cluster, "pg_replslot")).catch(() => []))
    if (!asked && slots.every((name) => name.startsWith(archiveSlotPrefix))) return limited
    if (archives) return { wal_level: "logical", ...limited }
    if ((yield* clusterSetting(cluster, binaries, user, "max_slot_wal_keep_size")) === "-1") {
      yield* Effect.logWarning(
        "wal_level=logical: a replication slot that is not read keeps changes until the disk is full. To limit them: alter system set max_slot_wal_keep_size = '4GB'; select pg_reload_conf();"
      )
    }
    return { wal_level: "logical" }
  },
  Effect.mapError(({ message }) => new StartError({ message }))
)

/** The port of the embedded server; 0: any. */
export const embeddedPort = integer("SVC_PG_PORT", 0, 0, 65_535)

/** Starts a server on the locked data directory and keeps it running until the scope closes. */
const start = Effect.fnUntraced(function* (dir: Dir) {
  const fixed = yield* Effect.mapError(embeddedPort, ({ message }) => new StartError({ message }))
  const { password, ...rest } = yield* prepare(dir)
  const connections = yield* neededConnections(rest.cluster, rest.binaries, rest.user)
  const settings = {
    ...(yield* replicationSettings(rest.cluster, rest.binaries, rest.user)),
    ...(yield* extensionSettings(programCopies(dir, rest.user), rest.binaries))
  }
  const log = join(dir.path, "postgres.log")
  yield* rotateLog(log)

  let running: Started | undefined
  yield* Effect.addFinalizer(() =>
    running === undefined ? Effect.void : Effect.ignore(stop(running, rest.binaries), { log: "Error" })
  )
  // Stops the server however this process exits, unless it is killed. The server accepts signals during its startup too.
  const stopOnExit = () => {
    if (running !== undefined && !Deferred.isDoneUnsafe(running.ended)) process.kill(running.pid, "SIGINT")
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => process.on("exit", stopOnExit)),
    () => Effect.sync(() => process.off("exit", stopOnExit))
  )

  const run = Effect.fnUntraced(function* (server: PostgresServer) {
    const from = yield* logSize(log)
    const started = yield* Effect.uninterruptible(Effect.tap(launch(server), (it) => Effect.sync(() => (running = it))))
    yield* Effect.onError(whenReady(server, started, from), () => Effect.ignore(stop(started, server.binaries)))
    return started
  })
  // Another program may take the port between finding and using it.
  let preferred = yield* lastPort(rest.cluster)
  const { first, server } = yield* Effect.gen(function* () {
    const port = fixed === 0 ? yield* freePort(preferred) : fixed
    preferred = 0
    const server: PostgresServer = { ...rest, connections, settings, log, port }
    return { server, first: yield* run(server) }
  }).pipe(
    Effect.retry({ times: 3, while: (error) => fixed === 0 && isPortTaken(error) }),
    Effect.mapError((error) => (isPortTaken(error) ? cannotListen(fixed) : error))
  )
  yield* Effect.forkScoped(supervise(server, first, run))
  yield* Effect.forkScoped(Effect.forever(Effect.delay(boundLog(log), "1 minute")))
  return login(server.cluster, server.port, password)
})

const isPortTaken = ({ message }: StartError) => message.includes(portTaken)
const cannotListen = (port: number) =>
  new StartError({ message: `PostgreSQL cannot listen on 127.0.0.1:${port} (SVC_PG_PORT): the port is in use` })

const backoff = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")])

/** Restarts the server on the same port whenever it ends unexpectedly, without a limit of attempts. */
const supervise = Effect.fnUntraced(function* (
  server: PostgresServer,
  first: Started,
  run: (server: PostgresServer) => Effect.Effect<Started, StartError>
) {
  let started = first
  for (;;) {
    const how = yield* Deferred.await(started.ended)
    yield* Effect.logWarning(`PostgreSQL ended unexpectedly (${how}); restarting`)
    yield* endBackends(server.cluster, server.binaries)
    started = yield* run(server).pipe(
      Effect.tapError(({ message }) => Effect.logError(message)),
      Effect.retry(backoff),
      Effect.orDie // unreachable: the schedule does not end
    )
    yield* Effect.logInfo("PostgreSQL is running again")
  }
})

/**
 * An embedded PostgreSQL in the data directory: created at the first start, kept running, stopped with the scope. Fails
 * if another process uses the directory.
 */
export const layerEmbedded: Layer.Layer<PostgresAddress, StartError, DataDir> = Layer.effect(
  PostgresAddress,
  Effect.gen(function* () {
    const dir = yield* DataDir
    yield* Effect.catchTag(dir.lock, "DataDirInUse", ({ message }) => new StartError({ message }))
    return yield* start(dir)
  })
)

/** The running server of the process that uses the data directory. */
const attach = Effect.fnUntraced(function* (dir: Dir) {
  const cluster = yield* findCluster(dir)
  const server = cluster === undefined ? undefined : yield* readPidFile(cluster)
  if (cluster === undefined || server === undefined || !server.ready) return undefined
  if ((yield* processKind(server.pid, cluster)) !== "cluster") return undefined
  const password = yield* dir.stored(secretName)
  return password === undefined ? undefined : login(cluster, server.port, password)
})

/** The PostgreSQL that the service runs on the data directory, for command-line tools; fails if it does not run. */
export const layerRunning: Layer.Layer<PostgresAddress, StartError, DataDir> = Layer.effect(
  PostgresAddress,
  Effect.gen(function* () {
    const dir = yield* DataDir
    return (
      (yield* attach(dir)) ??
      (yield* new StartError({
        message: `The PostgreSQL of ${dir.path} (SVC_DATA_DIR) is not running: start the service, and set SVC_PG_PORT for a port that stays the same`
      }))
    )
  })
)

/**
 * The PostgreSQL that another process runs on the data directory, for command-line tools; if there is none, one that
 * runs until the scope closes.
 */
export const layerAttachOrStart: Layer.Layer<PostgresAddress, StartError, DataDir> = Layer.effect(
  PostgresAddress,
  Effect.gen(function* () {
    const dir = yield* DataDir
    // The process that uses the directory may be starting or ending.
    for (let tries = 0; ; tries++) {
      const failure = yield* Effect.match(dir.lock, {
        onSuccess: () => undefined,
        onFailure: (error) => error
      })
      if (failure === undefined) return yield* start(dir)
      if (failure._tag === "StartError") return yield* failure
      const found = yield* attach(dir)
      if (found !== undefined) return found
      if (tries === 100) {
        return yield* new StartError({ message: `${failure.message}. Its PostgreSQL was not ready within 20 seconds` })
      }
      yield* Effect.sleep("200 millis")
    }
  })
)
