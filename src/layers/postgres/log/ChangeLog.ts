import { Effect, Latch, Layer, type Scope } from "effect"
import { type Socket } from "node:net"
import { Client } from "pg"
import { decodeLogMessage, type LogMessage } from "../../../domain/changes/LogMessage.ts"
import { createPublicationSql, logPublication, slotSql } from "../../../domain/changes/LogSql.ts"
import { changeLogLock } from "../../../domain/sql/AdvisoryLocks.ts"
import { changeSource } from "../../../services/changes/Settings.ts"
import { ChangeLog, ChangeLogLost, type ChangeStream, logPaused } from "../../../services/ports/ChangeLog.ts"
import { StartError } from "../../process/StartError.ts"
import { PostgresAddress } from "../Address.ts"
import { type Login, ownSearchPath, pgConfig } from "../Login.ts"
import { MainSessions, type Pausable } from "../MainSessions.ts"

/** Messages that are given at once, and bytes of those that wait, beyond which nothing more is received. */
const maxMessages = 1_000
const maxWaiting = 1024 * 1024
/** PostgreSQL ends the session of a reader that is silent for this long, so that another can take over. */
const senderTimeout = "10s"
const reportMillis = 2_000

/** Settings by which values are printed as row_to_json() prints them; see migration 0003. */
const settings = {
  search_path: ownSearchPath,
  timezone: "UTC",
  datestyle: "ISO, YMD",
  intervalstyle: "postgres",
  bytea_output: "hex",
  extra_float_digits: "1",
  statement_timeout: "0",
  lock_timeout: "0",
  idle_session_timeout: "0",
  wal_sender_timeout: senderTimeout
}

/** Members of the driver's client that its types do not list. */
interface ClientInternals {
  readonly connection: {
    readonly stream: Socket
    readonly on: (event: "copyData", listener: (message: { readonly chunk: Buffer }) => void) => void
    readonly once: (event: "replicationStart", listener: () => void) => void
    readonly sendCopyFromChunk: (chunk: Buffer) => void
  }
}

const lost = (cause: unknown) => new ChangeLogLost({ message: cause instanceof Error ? cause.message : String(cause) })

/** A session of the replication protocol, in which SQL can be run too. */
const connect = (login: Login) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const config = { ...pgConfig(login, settings), replication: "database" }
        const client = new Client({
          ...config,
          application_name: "svc changes",
          keepAlive: true,
          connectionTimeoutMillis: 5_000
        })
        // An "error" event without a handler would end the process.
        client.on("error", () => undefined)
        await client.connect()
        return client
      },
      catch: lost
    }),
    (client) =>
      Effect.sync(() => {
        // Ending it politely would wait for the stream's end.
        ;(client as unknown as ClientInternals).connection.stream.destroy()
      })
  )

/** The first row, by the simple protocol, which has no parameters. */
const one = (client: Client, text: string) =>
  Effect.tryPromise({
    try: async () =>
      ((await client.query<Readonly<Record<string, unknown>>>(text)).rows[0] ?? {}) as Readonly<
        Record<string, unknown>
      >,
    catch: lost
  })

/** Makes the slot if it is missing, or was dropped by PostgreSQL, in which case changes are missing. */
const slotOf = Effect.fnUntraced(function* (client: Client) {
  yield* one(client, createPublicationSql)
  const state = yield* one(
    client,
    `select ${slotSql} as name, s.slot_name is not null as there, s.wal_status = 'lost' as lost,
       exists (select from svc.change_log where slot = ${slotSql}) as used
     from (select) x left join pg_replication_slots s on s.slot_name = ${slotSql}`
  )
  const name = String(state["name"])
  const isLost = state["lost"] === true
  if (state["there"] === true && !isLost) return { name, fresh: false, gap: undefined }
  if (isLost) yield* one(client, `select pg_drop_replication_slot('${name}')`)
  yield* one(client, `select pg_create_logical_replication_slot('${name}', 'pgoutput')`)
  const gap = isLost
    ? `PostgreSQL has dropped the log that the slot ${name} needed, because it exceeded max_slot_wal_keep_size`
    : state["used"] === true
      ? `the slot ${name} has disappeared, as after a restore or a failover`
      : undefined
  return { name, fresh: true, gap }
})

/** The server's messages, and answers to it. */
class Feed {
  private readonly messages: Array<LogMessage> = []
  private waiting = 0
  private confirmed = 0n
  private inTransaction = false
  private taken = true
  private readonly client: ClientInternals["connection"]
  private wake: (() => void) | undefined
  failure: ChangeLogLost | undefined

  constructor(client: Client) {
    this.client = (client as unknown as ClientInternals).connection
    const fail = (cause: unknown) => {
      this.failure ??= lost(cause)
      this.wake?.()
    }
    client.on("error", fail)
    client.on("end", () => fail("The connection was closed"))
    this.client.on("copyData", ({ chunk }) => {
      if (chunk[0] === 0x77) this.received(chunk.subarray(25))
      else if (chunk[0] === 0x6b) this.asked(chunk.readBigUInt64BE(1), chunk[17] === 1)
    })
  }

  private received(data: Buffer) {
    const message = decodeLogMessage(data)
    if (message === undefined) return
    if (message._tag === "Begin") this.inTransaction = true
    if (message._tag === "Commit") this.inTransaction = false
    this.messages.push(message)
    this.waiting += message.bytes
    if (this.waiting > maxWaiting) this.client.stream.pause()
    this.wake?.()
  }

  /** A sign of life. What was read without a change in it need not be kept. */
  private asked(end: bigint, answer: boolean) {
    const idle = this.taken && this.messages.length === 0 && !this.inTransaction
    if (idle && end > this.confirmed) this.confirmed = end
    if (answer || idle) this.report()
  }

  confirm(position: bigint) {
    if (position > this.confirmed) this.confirmed = position
    this.report()
  }

  report() {
    if (this.failure !== undefined) return
    const answer = Buffer.alloc(34)
    answer[0] = 0x72
    for (const at of [1, 9, 17]) answer.writeBigUInt64BE(this.confirmed, at)
    this.client.sendCopyFromChunk(answer)
  }

  readonly take = Effect.callback<ReadonlyArray<LogMessage>, ChangeLogLost>((resume) => {
    this.taken = true
    const give = () => {
      if (this.failure !== undefined) return resume(Effect.fail(this.failure))
      if (this.messages.length === 0) return undefined
      this.wake = undefined
      this.taken = false
      const some = this.messages.splice(0, maxMessages)
      for (const { bytes } of some) this.waiting -= bytes
      if (this.waiting <= maxWaiting) this.client.stream.resume()
      return resume(Effect.succeed(some))
    }
    this.wake = give
    give()
    return Effect.sync(() => (this.wake = undefined))
  })
}

const openStream = Effect.fnUntraced(function* (login: Login) {
  const client = yield* connect(login)
  const lock = yield* one(client, `select pg_try_advisory_lock(${changeLogLock}) as mine`)
  if (lock["mine"] !== true) return undefined
  const { fresh, gap, name } = yield* slotOf(client)
  const feed = new Feed(client)
  yield* Effect.callback<void, ChangeLogLost>((resume) => {
    ;(client as unknown as ClientInternals).connection.once("replicationStart", () => resume(Effect.void))
    client
      .query(`START_REPLICATION SLOT ${name} LOGICAL 0/0 (proto_version '1', publication_names '${logPublication}')`)
      .catch((cause: unknown) => {
        feed.failure ??= lost(cause)
        resume(Effect.fail(lost(cause)))
      })
  })
  const timer = setInterval(() => feed.report(), reportMillis)
  yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(timer)))
  const stream: ChangeStream = {
    fresh,
    gap,
    take: feed.take,
    confirm: (position) => Effect.sync(() => feed.confirm(position))
  }
  return stream
})

/** Fails if changes can't be taken from the log of this server. */
const check = Effect.fnUntraced(function* (login: Login) {
  const refused = (problem: string) => new StartError({ message: `SVC_CHANGES=wal ${problem}` })
  const { level } = yield* Effect.scoped(
    Effect.flatMap(connect(login), (client) => one(client, "select current_setting('wal_level') as level"))
  ).pipe(
    Effect.catch(({ message }) =>
      /permission denied|must be superuser or replication role/i.test(message)
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
    if ((yield* changeSource) === "wal") yield* check(login)
    const sessions = yield* MainSessions
    const allowed = yield* Latch.make(true)
    const closed = yield* Latch.make(true)
    const paused = yield* Latch.make(false)

    const open = Effect.gen(function* () {
      yield* allowed.await
      yield* Effect.acquireRelease(closed.close, () => closed.open)
      const stream = yield* Effect.raceFirst(
        openStream(login),
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
    return ChangeLog.of({ open })
  })
).pipe(Layer.provide(MainSessions.layer))
