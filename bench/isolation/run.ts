import { setTimeout as sleep } from "node:timers/promises"
import { Client } from "pg"
import { type Caller, makeCallers, type Target } from "./callers.ts"
import { type Answer, makeClient } from "./client.ts"
import { allWrittenTables, ddl, hotRows, moreDdl, setupSql } from "./database.ts"
import { type PoisonGroup, poisonGroups } from "./poisons.ts"
import { Random } from "./random.ts"
import { type Finding, type FindingKind, type Mix, numberedPoisons, type Request, Requests } from "./requests.ts"

export interface Options {
  readonly seed: number
  /** Answers to check; those to poisons and hung up requests are not counted. */
  readonly answers: number
  readonly users: number
  /** Requests at once. */
  readonly concurrency: number
  readonly groups: ReadonlyArray<PoisonGroup>
  readonly mix: Mix
  /** Answers between DDL statements; 0: none. After each, the service reads the catalogue, which takes as long as a hundred answers. */
  readonly ddlEvery: number
  /** Answers between the end of a session or a statement from outside; 0: none. */
  readonly killEvery: number
  /** Share of the requests that may be hung up, and are. */
  readonly hangUps: number
  /** Stops at the first findings of this number. */
  readonly maxFindings: number
  /** Ends the run. */
  readonly signal?: AbortSignal
  /** Called about once a second. */
  readonly progress?: (report: Report) => void
}

export const defaults: Options = {
  seed: 1,
  answers: 20_000,
  users: 200,
  concurrency: 48,
  groups: poisonGroups,
  mix: "all",
  ddlEvery: 100,
  killEvery: 600,
  hangUps: 0.05,
  maxFindings: Infinity
}

export interface Report {
  readonly seed: number
  answers: number
  poisons: number
  hungUp: number
  ddl: number
  ddlFailures: number
  kills: number
  /** Failures of requests during which a session was ended or a statement cancelled from outside, and deadlocks. */
  excused: number
  /** Rows of written tables that were audited. */
  audited: number
  seconds: number
  /** Checked answers by kind of request. */
  readonly requests: Record<string, number>
  readonly findings: Record<FindingKind, number>
  /** The first ones of each kind. */
  readonly examples: Array<string>
}

export const findingsOf = ({ findings }: Report) => Object.values(findings).reduce((total, count) => total + count, 0)

const connected = async (url: string) => {
  const client = new Client({ connectionString: url })
  // The server's end would else end this process.
  client.on("error", () => undefined)
  await client.connect()
  return client
}

/** Statuses of requests whose session or statement was ended. */
const ended = new Set([503, 504, 500])
const excuseMillis = 500
/** Answers between the times when a row of `hot_write` is held. */
const holdEvery = 75

/**
 * Hundreds of callers at once, some of which poison their sessions in every way that PostgreSQL offers, while tables and
 * functions change, clients hang up and sessions are ended. Every answer is checked, and the tables in the end.
 */
export const runIsolation = async (target: Target, options: Options): Promise<Report> => {
  const random = new Random(options.seed)
  const requests = new Requests(random, options.users, options.groups, options.mix)
  const callers = makeCallers(target, options.users)
  const report: Report = {
    seed: options.seed,
    answers: 0,
    poisons: 0,
    hungUp: 0,
    ddl: 0,
    ddlFailures: 0,
    kills: 0,
    excused: 0,
    audited: 0,
    seconds: 0,
    requests: {},
    findings: { foreign: 0, missing: 0, leftover: 0, error: 0, lost: 0, duplicate: 0 },
    examples: []
  }
  const record = ({ kind, text }: Finding, about: string) => {
    report.findings[kind] += 1
    if (report.findings[kind] <= 10) report.examples.push(`${kind}: ${text} (${about})`)
  }
  const outside = await connected(target.databaseUrl)
  const client = makeClient(target.url)
  /** When each end of a session or statement from outside was over; Infinity while it is under way. */
  const kills: Array<number> = []
  const started = performance.now()
  let running = true
  const done = () =>
    !running ||
    options.signal?.aborted === true ||
    report.answers >= options.answers ||
    findingsOf(report) >= options.maxFindings

  /** Sends a request of a caller; returns the answer if it was counted. */
  const send = async (caller: Caller, request: Request, hangUpAfter?: number) => {
    const began = performance.now()
    const headers = { ...caller.headers, ...request.headers }
    const about = `${request.name}: ${caller.kind} ${caller.sub}, ${request.method} ${decodeURIComponent(request.path)}`
    let answer: Answer | undefined
    try {
      answer = await client.send({ ...request, headers, hangUpAfter })
    } catch (error) {
      record({ kind: "error", text: String(error) }, about)
      return
    }
    if (answer === undefined) {
      report.hungUp += 1
      return
    }
    if (request.poison === true) {
      report.poisons += 1
      return
    }
    report.answers += 1
    report.requests[request.name] = (report.requests[request.name] ?? 0) + 1
    if (answer.status < 300) {
      const finding = checked(request, answer)
      if (finding !== undefined) record(finding, about)
      return
    }
    const killed = ended.has(answer.status) && kills.some((over) => over > began - excuseMillis)
    // PostgreSQL's answer to two writes of the same rows in different orders: one of them is not made.
    const deadlocked = answer.status === 409 && answer.text.includes('"40P01"')
    // What may have run user code by new definitions is not repeated by the service.
    const doubtful = answer.status === 503 && answer.text.includes('"EXECUTION_IN_DOUBT"')
    if (killed || deadlocked || doubtful) report.excused += 1
    else record({ kind: "error", text: `${answer.status} ${answer.text.slice(0, 300)}` }, about)
  }

  const loop = async () => {
    while (!done()) {
      const caller = random.of(callers)
      if (caller.busy) {
        await sleep(0)
        continue
      }
      caller.busy = true
      const request = requests.next(caller)
      const hangUp = request.mayHangUp && random.chance(options.hangUps)
      await send(caller, request, hangUp ? random.below(12) : undefined)
      caller.busy = false
    }
  }

  /** Repeats after so many answers, until the run is done. By answers, not by time: a slow machine would do less between. */
  const every = async (answers: number, act: (turn: number) => Promise<void>) => {
    if (answers === 0) return
    for (let turn = 0; ; turn++) {
      const next = report.answers + answers
      while (report.answers < next && !done()) await sleep(5)
      if (done()) return
      await act(turn)
    }
  }

  const changes =
    options.mix === "writes" ? [...ddl.filter((make) => make(true, 0).includes("changing_write")), ...moreDdl] : ddl
  const turns = changes.map(() => false)
  const change = async () => {
    const at = random.below(changes.length)
    const turn = !turns[at]
    try {
      await outside.query(`begin; set local lock_timeout = '2s'; ${changes[at]?.(turn, options.users)}; commit`)
      turns[at] = turn
      report.ddl += 1
    } catch (error) {
      await outside.query("rollback")
      report.ddlFailures += 1
      if (report.ddlFailures <= 5) report.examples.push(`DDL failed: ${String(error)} (${at}, ${turn})`)
    }
  }

  /** Makes writers wait for a row. */
  const hold = async () => {
    const row = `select 1 from hot_write where id = ${random.below(hotRows)} for update`
    await holder.query(`begin; ${row}; select pg_sleep(${random.next() / 10}); commit`)
  }

  const holder = await connected(target.databaseUrl)
  const killer = await connected(target.databaseUrl)
  const kill = async (turn: number) => {
    const how = turn % 2 === 0 ? "terminate" : "cancel"
    const at = kills.push(Infinity) - 1
    const { rows } = await killer.query(
      `select pg_${how}_backend(pid) from (select pid from pg_stat_activity where datname = current_database()
         and application_name like 'svc rows%' order by random() limit 1) one`
    )
    kills[at] = performance.now()
    report.kills += rows.length
  }

  /** Undoes the DDL of this run, so that the next one finds the tables as they were. */
  const restore = async () => {
    for (const [at, turn] of turns.entries()) {
      if (turn) await outside.query(`begin; ${changes[at]?.(false, options.users)}; commit`)
    }
  }

  try {
    await outside.query("update hot_write set writer = '', stamp = ''")
    for (const caller of new Map(callers.map((caller) => [caller.kind, caller])).values()) {
      for (const schema of ["public", "other"]) await send(caller, requests.stateOf(caller, schema))
    }
    const ticker = setInterval(() => {
      report.seconds = (performance.now() - started) / 1000
      options.progress?.(report)
    }, 1000)
    await Promise.all([
      ...Array.from({ length: options.concurrency }, loop),
      every(options.ddlEvery, change),
      every(holdEvery, hold),
      every(options.killEvery, kill)
    ]).finally(() => {
      running = false
      clearInterval(ticker)
    })
    await sleep(300)
    await restore()
    await audit(outside, callers, requests.stamps, report, record)
  } finally {
    running = false
    client.close()
    await Promise.all([outside, holder, killer].map((client) => client.end()))
  }
  report.seconds = (performance.now() - started) / 1000
  return report
}

const checked = (request: Request, answer: Answer): Finding | undefined => {
  try {
    if (answer.headers["x-poison"] !== undefined)
      return { kind: "leftover", text: "response.headers of another caller" }
    return request.check(answer)
  } catch (error) {
    return { kind: "error", text: `${String(error)} in ${answer.status} ${answer.text.slice(0, 200)}` }
  }
}

/** Compares the written tables with what the callers know. */
const audit = async (
  outside: Client,
  callers: ReadonlyArray<Caller>,
  stamps: ReadonlyMap<string, string>,
  report: Report,
  record: (finding: Finding, about: string) => void
) => {
  const { rows: hot } = await outside.query("select * from hot_write where stamp <> ''")
  for (const row of hot) {
    if (stamps.get(row.stamp) !== row.writer) record({ kind: "foreign", text: JSON.stringify(row) }, "hot_write")
  }
  for (const table of allWrittenTables) {
    const { rows } = await outside.query(`select * from ${table}`)
    report.audited += rows.length
    const versions = new Map(rows.map(({ id, version }) => [Number(id), Number(version)]))
    const notes = new Set<string>()
    for (const row of rows) {
      const { last_writer: last, note, owner, writer } = row
      const text = JSON.stringify(row)
      if (owner !== writer) record({ kind: "foreign", text: `written for another: ${text}` }, table)
      if (last !== null && last !== owner) record({ kind: "foreign", text: `changed by another: ${text}` }, table)
      if (notes.has(note)) record({ kind: "duplicate", text }, table)
      notes.add(note)
    }
    for (const caller of callers) {
      const lost = [...(caller.kept.get(table) ?? [])].filter(([id, version]) => versions.get(id) !== version)
      if (lost.length > 0) record({ kind: "lost", text: `rows ${lost.join()} of ${caller.sub}` }, table)
    }
  }
}

/** Creates the tables and functions of the run, once, in an empty database. */
export const setUp = async ({ databaseUrl }: Pick<Target, "databaseUrl">, users: number) => {
  const outside = await connected(databaseUrl)
  try {
    await outside.query(setupSql(users))
    await outside.query(
      "insert into poisons select n, statement from json_to_recordset($1) as _(n int, statement text)",
      [JSON.stringify(numberedPoisons)]
    )
    await outside.query(`insert into hot_write select n, '', '' from generate_series(0, ${hotRows - 1}) n`)
    await outside.query("analyze")
  } finally {
    await outside.end()
  }
}
