import { Effect, Latch, Layer, type Scope } from "effect"
import { Socket, type SocketConstructorOpts } from "node:net"
import { Client, type QueryConfig } from "pg"
import { decodeLogMessage, type LogMessage, parseLsn } from "../../../domain/changes/LogMessage.ts"
import {
  createPublicationSql,
  logPublication,
  passOnSql,
  recordGapSql,
  slotSql,
  writtenSql
} from "../../../domain/changes/LogSql.ts"
import { changeLogLock } from "../../../domain/sql/AdvisoryLocks.ts"
import { samplesOfConnections } from "../../../domain/metrics/Pools.ts"
import { changeSource } from "../../../services/changes/Settings.ts"
import { CurrentMeters } from "../../../services/metrics/Meters.ts"
import { ChangeLog, ChangeLogLost, type ChangeStream, logPaused } from "../../../services/ports/ChangeLog.ts"
import { StartError } from "../../process/StartError.ts"
import { PostgresAddress } from "../Address.ts"
import { atPrimary, type Login, ownSearchPath, pgConfig } from "../Login.ts"
import { MainSessions, type Pausable } from "../MainSessions.ts"

/** Messages that are given at once, and bytes of those that wait, beyond which nothing more is received. */
const maxMessages = 5_000
const maxWaiting = 1024 * 1024
/**
 * When this many messages came at once, or some came `oftenTimes` in a row more often than every `oftenMillis`, more are
 * received only after an interval: many small transactions in one batch take a fraction of the processor time that they
 * take one by one, which their writers have instead.
 */
const manyMessages = 60
const [oftenTimes, oftenMillis] = [5, 10]
const intervalMillis = 25
/** The interval if none of them was a change, but a sign that PostgreSQL has read transactions of other tables. */
const idleMillis = 5
/** PostgreSQL ends the session of a reader that is silent for this long, so that another can take over. */
const senderTimeout = "10s"
/** How often PostgreSQL is asked how much of its log is on disk, and is sent a sign of life. */
const reportMillis = 500

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

/**
 * Settings of the session that passes changes on. Its statement is long, and runs for each transaction of a watched table:
 * planning it takes PostgreSQL several times as long as running it, and compiling it never pays.
 */
const writing = {
  search_path: ownSearchPath,
  timezone: "UTC",
  statement_timeout: "60000",
  idle_session_timeout: "0",
  plan_cache_mode: "force_generic_plan",
  jit: "off"
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
const internals = (client: Client) => client as unknown as ClientInternals

const isForbidden = (message: string) =>
  /permission denied to start|must be superuser or replication role|permission denied to use replication/i.test(message)

const lost = (cause: unknown, user?: string) => {
  const message = cause instanceof Error ? cause.message : String(cause)
  const remedy =
    user !== undefined && isForbidden(message) ? `. As an administrator: alter role "${user}" replication` : ""
  return new ChangeLogLost({ message: message + remedy })
}

/** A session at the primary; `more`: what it is besides. */
const connect = (given: Login, options: Readonly<Record<string, string>>, more: object = {}) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const login = atPrimary(given)
        const client = new Client({
          ...pgConfig(login, options),
          ...more,
          application_name: "svc changes",
          keepAlive: true,
          connectionTimeoutMillis: 5_000
        })
        // An "error" event without a handler would end the process.
        client.on("error", () => undefined)
        await client.connect()
        login.servers?.join(internals(client).connection.stream, login)
        return client
      },
      catch: (cause) => lost(cause, given.user)
    }),
    (client) =>
      Effect.sync(() => {
        // Ending it politely would wait for the stream's end.
        internals(client).connection.stream.destroy()
      })
  )

/** A session of the replication protocol, in which SQL can be run too. */
const connectToLog = (login: Login) =>
  connect(login, settings, {
    replication: "database",
    // While it is paused nothing is read, so that nothing wakes this process.
    stream: () => new Socket({ readableHighWaterMark: 1 } as SocketConstructorOpts)
  })

const rowsOf = (client: Client, query: QueryConfig) =>
  Effect.tryPromise({
    try: async () => (await client.query<Readonly<Record<string, unknown>>>(query)).rows,
    catch: (cause) => lost(cause)
  })

/** The first row, by the simple protocol, which has no parameters. */
const one = (client: Client, text: string) => Effect.map(rowsOf(client, { text }), ([row]) => row ?? {})

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

/** The server's messages, and answers to it. */
class Feed {
  private readonly messages: Array<LogMessage> = []
  private waiting = 0
  /** Up to where changes were passed on, and up to where that is on PostgreSQL's disk. */
  private passed = 0n
  private confirmed = 0n
  /** What was passed on when PostgreSQL had written its log up to `written`. */
  private written = { passed: 0n, at: 0n }
  private settling = false
  private inTransaction = false
  private taken = true
  private resting = false
  /** When messages came last, and how many times too often. */
  private came = { at: 0, often: 0 }
  private woken = false
  private readonly client: ClientInternals["connection"]
  private wake: (() => void) | undefined
  failure: ChangeLogLost | undefined

  constructor(client: Client) {
    this.client = internals(client).connection
    client.on("error", (cause) => this.fail(cause))
    client.on("end", () => this.fail("The connection was closed"))
    this.client.on("copyData", ({ chunk }) => {
      if (chunk[0] === 0x77) this.received(chunk.subarray(25))
      else if (chunk[0] === 0x6b) this.asked(chunk.readBigUInt64BE(1), chunk[17] === 1)
      if (this.woken) return
      this.woken = true
      // After all messages that have arrived with this one.
      setImmediate(() => {
        this.woken = false
        this.pace()
        this.wake?.()
      })
    })
  }

  fail(cause: unknown) {
    this.failure ??= lost(cause)
    this.wake?.()
  }

  private received(data: Buffer) {
    const message = decodeLogMessage(data)
    if (message === undefined) return
    if (message._tag === "Begin") this.inTransaction = true
    if (message._tag === "Commit") this.inTransaction = false
    this.messages.push(message)
    this.waiting += message.bytes
    if (this.waiting > maxWaiting) this.client.stream.pause()
  }

  /** Rests if messages come often. */
  private pace() {
    const now = performance.now()
    const { at, often } = this.came
    this.came = { at: now, often: Math.max(0, often - (now - at) / oftenMillis) + 1 }
    if (this.came.often > oftenTimes) this.rest(this.messages.length === 0 ? idleMillis : intervalMillis)
  }

  private rest(millis: number) {
    if (this.resting) return
    this.resting = true
    this.client.stream.pause()
    setTimeout(() => {
      this.resting = false
      this.receive()
    }, millis)
  }

  private receive() {
    if (!this.resting && this.waiting <= maxWaiting) this.client.stream.resume()
  }

  /** A sign of life. What was read without a change in it need not be kept. */
  private asked(end: bigint, answer: boolean) {
    const idle = this.taken && this.messages.length === 0 && !this.inTransaction
    if (idle && end > this.passed) {
      if (this.settled) this.confirmed = end
      this.passed = end
    }
    if (answer) this.report()
  }

  confirm(position: bigint) {
    if (position > this.passed) this.passed = position
  }

  /** Whether all that was passed on is on disk. */
  private get settled() {
    return this.passed === this.confirmed
  }

  /** `ask`: how far PostgreSQL has written its log, and how much of that is on disk. */
  async settle(ask: () => Promise<{ readonly written: bigint; readonly flushed: bigint }>) {
    if (this.settled || this.settling) return
    this.settling = true
    try {
      const { passed } = this
      const { flushed, written } = await ask()
      if (flushed >= this.written.at && this.written.passed > this.confirmed) this.confirmed = this.written.passed
      this.written = { passed, at: written }
    } catch (cause) {
      this.fail(cause)
    } finally {
      this.settling = false
    }
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
      if (some.length >= manyMessages) this.rest(intervalMillis)
      this.receive()
      return resume(Effect.succeed(some))
    }
    this.wake = give
    give()
    return Effect.sync(() => (this.wake = undefined))
  })
}

const openStream = Effect.fnUntraced(function* (login: Login, opened: (count: number) => void) {
  const client = yield* connectToLog(login)
  yield* Effect.acquireRelease(
    Effect.sync(() => opened(2)),
    () => Effect.sync(() => opened(0))
  )
  const lock = yield* one(client, `select pg_try_advisory_lock(${changeLogLock}) as mine`)
  if (lock["mine"] !== true) return undefined
  const writer = yield* connect(login, writing)
  const name = yield* slotOf(client, writer)
  const feed = new Feed(client)
  yield* Effect.callback<void, ChangeLogLost>((resume) => {
    internals(client).connection.once("replicationStart", () => resume(Effect.void))
    client
      .query(`START_REPLICATION SLOT ${name} LOGICAL 0/0 (proto_version '1', publication_names '${logPublication}')`)
      .catch((cause: unknown) => {
        feed.failure ??= lost(cause)
        resume(Effect.fail(lost(cause)))
      })
  })
  const ask = async () => {
    const { rows } = await writer.query<{ readonly written: string; readonly flushed: string }>(writtenSql)
    return { written: parseLsn(rows[0]?.written ?? ""), flushed: parseLsn(rows[0]?.flushed ?? "") }
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
    /** Of the process that reads: the session of the log, and the one that passes changes on. */
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
