import { Effect, Latch, Layer, type Scope } from "effect"
import { type Client } from "pg"
import { parsePosition } from "../../../domain/changes/LogMessage.ts"
import {
  createPublicationSql,
  logPublication,
  passOnSql,
  recordGapSql,
  slotSql,
  writtenSql
} from "../../../domain/changes/LogSql.ts"
import { samplesOfConnections } from "../../../domain/metrics/Sample.ts"
import { changeLogLock } from "../../../domain/sql/AdvisoryLocks.ts"
import { changeSource } from "../../../services/changes/Settings.ts"
import { CurrentMeters } from "../../../services/metrics/Meters.ts"
import { ChangeLog, ChangeLogLost, type ChangeStream, logPaused } from "../../../services/ports/ChangeLog.ts"
import { StartError } from "../../process/StartError.ts"
import { PostgresAddress } from "../Address.ts"
import { internalsOf } from "../client/Client.ts"
import { type Login } from "../Login.ts"
import { MainSessions, type Pausable } from "../MainSessions.ts"
import { Feed } from "./Feed.ts"
import { connectToLog, connectToPass, isForbidden, lost, one, rowsOf } from "./Session.ts"

/**
 * Makes the slot if it is missing, or was invalidated by PostgreSQL. Changes are missing then, which is recorded before, so
 * that it is not forgotten if this process ends in between.
 */
const slotOf = Effect.fnUntraced(function* (client: Client, writer: Client) {
  yield* one(client, createPublicationSql)
  const state = yield* one(
    client,
    `select ${slotSql} as name, s.slot_name is not null as there, s.wal_status = 'lost' as lost,
       coalesce(to_jsonb(s) ->> 'invalidation_reason', 'wal_removed') as reason,
       s.slot_type || ' ' || coalesce(s.plugin, '') <> 'logical pgoutput' or s.database <> current_database() as foreign,
       s.slot_type || coalesce(', ' || s.plugin, '') || coalesce(', of database ' || s.database, '') as kind
     from (select) x left join pg_replication_slots s on s.slot_name = ${slotSql}`
  )
  const name = String(state["name"])
  if (state["foreign"] === true) {
    return yield* new ChangeLogLost({
      message: `the replication slot ${name} belongs to something else (${String(state["kind"])}). Drop it if it is not needed: select pg_drop_replication_slot('${name}')`
    })
  }
  const isLost = state["lost"] === true
  if (state["there"] === true && !isLost) return name
  const reason = !isLost
    ? `the slot ${name} has disappeared, as after a restore or a failover, or because it was dropped`
    : state["reason"] === "wal_removed"
      ? `PostgreSQL has dropped the log that the slot ${name} needed, because it exceeded max_slot_wal_keep_size`
      : `PostgreSQL has invalidated the slot ${name} (${String(state["reason"])})`
  const recorded = yield* rowsOf(writer, { text: recordGapSql, values: [reason] })
  if (recorded.length > 0) {
    yield* Effect.logWarning(`Creating a replication slot, which waits for running transactions to end: ${reason}`)
  }
  if (isLost) yield* one(client, `select pg_drop_replication_slot('${name}')`)
  yield* one(client, `select pg_create_logical_replication_slot('${name}', 'pgoutput')`)
  return name
})

/** How often PostgreSQL is asked how much of its log is on disk, and is sent a sign of life. */
const reportMillis = 500

const openStream = Effect.fnUntraced(function* (login: Login, opened: (count: number) => void) {
  const client = yield* connectToLog(login)
  yield* Effect.acquireRelease(
    Effect.sync(() => opened(2)),
    () => Effect.sync(() => opened(0))
  )
  const lock = yield* one(client, `select pg_try_advisory_lock(${changeLogLock}) as mine`)
  if (lock["mine"] !== true) return undefined
  const writer = yield* connectToPass(login)
  const name = yield* slotOf(client, writer)
  const feed = new Feed(client)
  yield* Effect.callback<void, ChangeLogLost>((resume) => {
    internalsOf(client).connection.once("replicationStart", () => resume(Effect.void))
    client
      .query(`START_REPLICATION SLOT ${name} LOGICAL 0/0 (proto_version '1', publication_names '${logPublication}')`)
      .catch((cause: unknown) => {
        feed.failure ??= lost(cause)
        resume(Effect.fail(lost(cause)))
      })
  })
  const ask = async () => {
    const { rows } = await writer.query<{ readonly written: string; readonly flushed: string }>(writtenSql)
    return { written: parsePosition(rows[0]?.written ?? ""), flushed: parsePosition(rows[0]?.flushed ?? "") }
  }
  const timer = setInterval(() => {
    feed.report()
    void feed.settle(ask)
  }, reportMillis)
  yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(timer)))
  const stream: ChangeStream = {
    take: feed.take,
    pass: (params) => Effect.asVoid(rowsOf(writer, { name: "pass on", text: passOnSql, values: [...params] })),
    confirm: (position) => Effect.sync(() => feed.confirm(position))
  }
  return stream
})

/** Fails if changes can't be taken from the log of this server. */
const check = Effect.fnUntraced(function* (login: Login) {
  const refused = (problem: string) => new StartError({ message: `SVC_CHANGES=wal ${problem}` })
  const { level } = yield* Effect.scoped(
    Effect.flatMap(connectToLog(login), (client) => one(client, "select current_setting('wal_level') as level"))
  ).pipe(
    Effect.catch(({ message }) =>
      isForbidden(message)
        ? refused(
            `requires a database login that may replicate. As an administrator: alter role "${login.user}" replication; or set SVC_CHANGES=trigger`
          )
        : Effect.as(Effect.logWarning(`Failed to check the write-ahead log: ${message}`), { level: undefined })
    )
  )
  if (level === undefined || level === "logical") return
  return yield* refused(
    `requires wal_level=logical, but the server has ${String(level)}. As an administrator: alter system set wal_level = logical; then restart PostgreSQL; or set SVC_CHANGES=trigger`
  )
})

/** The log of the main database. */
export const layerChangeLog = Layer.effect(
  ChangeLog,
  Effect.gen(function* () {
    const login = yield* PostgresAddress
    const source = yield* changeSource
    if (source === "wal") yield* check(login)
    const sessions = yield* MainSessions
    const allowed = yield* Latch.make(true)
    const closed = yield* Latch.make(true)
    const paused = yield* Latch.make(false)
    /** The open sessions of the process that reads: the session of the log, and the one that passes changes on. */
    let open = 0
    if (source === "wal") {
      yield* (yield* CurrentMeters).sample(() => samplesOfConnections("main", "change_log", open, 2))
    }

    const openLog = Effect.gen(function* () {
      yield* allowed.await
      yield* Effect.acquireRelease(closed.close, () => closed.open)
      const stream = yield* Effect.raceFirst(
        openStream(login, (count) => (open = count)),
        Effect.andThen(paused.await, Effect.fail(lost(logPaused)))
      )
      if (stream === undefined) return undefined
      return {
        ...stream,
        take: Effect.raceFirst(stream.take, Effect.andThen(paused.await, Effect.fail(lost(logPaused))))
      } satisfies ChangeStream
    }) satisfies Effect.Effect<ChangeStream | undefined, ChangeLogLost, Scope.Scope>

    const pausable: Pausable = {
      pause: Effect.andThen(Effect.andThen(allowed.close, paused.open), closed.await),
      resume: Effect.asVoid(Effect.andThen(paused.close, allowed.open))
    }
    yield* sessions.add(pausable)
    return ChangeLog.of({ open: openLog })
  })
).pipe(Layer.provide(MainSessions.layer))
