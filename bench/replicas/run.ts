import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { Client } from "pg"
import { signedToken } from "../isolation/callers.ts"
import { Random } from "../isolation/random.ts"
import { defaultEntry } from "../support/service.ts"
import { type Answer, Balancer } from "./balancer.ts"
import { type Cluster, makeCluster } from "./cluster.ts"
import { cause, type FaultKind, faultKinds } from "./faults.ts"
import { makeReceiver, type Receiver, Subscriber } from "./listeners.ts"

export interface Options {
  /** The service's program. */
  readonly entry: string
  readonly replicas: number
  readonly seconds: number
  readonly seed: number
  /** Callers that send one request after the other. */
  readonly callers: number
  readonly kinds: ReadonlyArray<FaultKind>
  /** The number of faults after which the run ends, even if it has not taken `seconds`. */
  readonly faults: number
  readonly progress?: (report: Report) => void
}

export const defaults: Options = {
  entry: defaultEntry,
  replicas: 3,
  seconds: 60,
  seed: 1,
  callers: 24,
  kinds: faultKinds,
  faults: Number.POSITIVE_INFINITY
}

/** A write: with a response, or with none that says whether it was done. */
interface Write {
  readonly rows: number
  acknowledgedAt: number | undefined
  /** It had no effect for sure. */
  refused: boolean
}

export interface Report {
  readonly seed: number
  requests: number
  acknowledged: number
  unavailable: number
  /** Requests in progress at a replica that was killed. */
  cut: number
  readonly faults: Partial<Record<FaultKind, number>>
  realtimeConnections: number
  gaps: number
  webhookRepeats: number
  slowestMillis: number
  /** Each of these is a defect. */
  readonly findings: {
    lost: number
    twice: number
    torn: number
    foreign: number
    status: number
    dropped: number
    notRecovered: number
    webhookMissing: number
    webhookTwice: number
    eventMissing: number
    eventTwice: number
  }
  readonly examples: Array<string>
}

export const findingsOf = ({ findings }: Report) => Object.values(findings).reduce((sum, count) => sum + count, 0)

const setUp = `
  create table appends (op text not null, part int not null);
  create index on appends (op);
  create table notes (id text primary key, owner text not null default current_setting('request.jwt.sub', true));
  alter table notes enable row level security;
  create policy own on notes using (owner = current_setting('request.jwt.sub', true));
  grant select, insert on notes to authenticated`

const flag = {
  key: "chaos",
  type: "boolean",
  variants: { on: true, off: false },
  defaultVariant: "on",
  state: "ENABLED"
}

/** After a fault is over, requests may still meet its consequences for this long, in ms. */
const settleMillis = 15_000

class Run {
  readonly report: Report
  private readonly writes = new Map<string, Write>()
  private readonly random: Random
  private readonly users: ReadonlyArray<{ readonly sub: string; readonly headers: Record<string, string> }>
  private faultUntil = 0
  private stopping = false
  private readonly cluster: Cluster
  private readonly balancer: Balancer
  private readonly key: Record<string, string>
  private readonly options: Options

  constructor(cluster: Cluster, balancer: Balancer, options: Options) {
    this.cluster = cluster
    this.balancer = balancer
    this.options = options
    this.random = new Random(options.seed)
    this.key = { apikey: cluster.service_role }
    this.users = Array.from({ length: options.callers }, (_, n) => ({
      sub: `u${n}`,
      headers: { apikey: cluster.anon, authorization: `Bearer ${signedToken(cluster.jwtSecret, `u${n}`)}` }
    }))
    this.report = {
      seed: options.seed,
      requests: 0,
      acknowledged: 0,
      unavailable: 0,
      cut: 0,
      faults: {},
      realtimeConnections: 0,
      gaps: 0,
      webhookRepeats: 0,
      slowestMillis: 0,
      findings: {
        lost: 0,
        twice: 0,
        torn: 0,
        foreign: 0,
        status: 0,
        dropped: 0,
        notRecovered: 0,
        webhookMissing: 0,
        webhookTwice: 0,
        eventMissing: 0,
        eventTwice: 0
      },
      examples: []
    }
  }

  private found(kind: keyof Report["findings"], example: string) {
    this.report.findings[kind]++
    if (this.report.examples.length < 30) this.report.examples.push(`${kind}: ${example}`)
  }

  /** One request; checks how it may end. */
  private async send(expected: number, method: string, path: string, headers: Record<string, string>, body?: unknown) {
    const from = Date.now()
    const answer = await this.balancer.send(method, path, headers, body)
    if (answer === undefined) {
      await sleep(50)
      return undefined
    }
    this.report.requests++
    this.report.slowestMillis = Math.max(this.report.slowestMillis, Date.now() - from)
    const { error, replica, status, text } = answer
    const about = `${method} ${path} at ${new Date().toISOString()}: ${status ?? error} ${text.slice(0, 200)}`
    if (status === expected) return answer
    if (status === undefined) {
      if (replica.killedAt.some((at) => at >= from - 1_000)) this.report.cut++
      else this.found("dropped", about)
    } else if (status === 503 || status === 504) {
      this.report.unavailable++
      if (from > this.faultUntil) this.found("status", `without a fault: ${about}`)
    } else this.found("status", about)
    return answer
  }

  private async write(rows: number, send: (op: string) => Promise<Answer | undefined>, done: ReadonlyArray<number>) {
    const op = randomUUID()
    const write: Write = { rows, acknowledgedAt: undefined, refused: false }
    this.writes.set(op, write)
    const answer = await send(op)
    if (answer === undefined) write.refused = true
    else if (done.includes(answer.status ?? 0)) {
      write.acknowledgedAt = Date.now()
      this.report.acknowledged++
    }
    return op
  }

  private async caller(n: number) {
    const { headers, sub } = this.users[n] as (typeof this.users)[number]
    const prefer = { ...this.key, prefer: "return=minimal" }
    const own: Array<string> = []
    const acts: ReadonlyArray<readonly [number, () => Promise<unknown>]> = [
      [4, () => this.write(1, (op) => this.send(201, "POST", "/v1/db/appends", prefer, { op, part: 1 }), [201])],
      [
        2,
        () => {
          const insert = (op: string, part: number) => ({
            sql: "insert into appends values ($1, $2)",
            params: [op, part]
          })
          const send = (op: string) =>
            this.send(200, "POST", "/v1/sql/transaction", this.key, { statements: [insert(op, 1), insert(op, 2)] })
          return this.write(2, send, [200])
        }
      ],
      [
        2,
        async () => {
          const id = randomUUID()
          const answer = await this.send(201, "POST", "/v1/db/notes", headers, { id })
          if (answer?.status === 201) own.push(id)
        }
      ],
      [
        4,
        async () => {
          const answer = await this.send(200, "GET", "/v1/db/notes", headers)
          if (answer?.status !== 200) return
          const rows = JSON.parse(answer.text) as ReadonlyArray<{ readonly id: string; readonly owner: string }>
          const ids = new Set(rows.map(({ id }) => id))
          for (const { id, owner } of rows) if (owner !== sub) this.found("foreign", `${id} of ${owner} at ${sub}`)
          for (const id of own) if (!ids.has(id)) this.found("lost", `the note ${id}`)
        }
      ],
      [3, () => this.send(200, "POST", "/api/flags/evaluate", this.key, { flagKey: "chaos", context: {} })],
      [1, () => this.send(200, "PUT", "/api/flags/chaos", this.key, { description: randomUUID() })],
      [1, () => this.send(200, "GET", "/api/storage/buckets", this.key)]
    ]
    while (!this.stopping) {
      await this.random.weighted(acts)()
      await sleep(this.random.below(100))
    }
  }

  private async faults(until: number) {
    const { faults, kinds, progress } = this.options
    for (let next = 0; next < faults && Date.now() < until; next++) {
      // Each kind once, then any.
      const kind = kinds[next] ?? this.random.of(kinds)
      this.faultUntil = Number.POSITIVE_INFINITY
      await cause(kind, this.cluster, this.random)
      this.report.faults[kind] = (this.report.faults[kind] ?? 0) + 1
      this.faultUntil = Date.now() + settleMillis
      progress?.(this.report)
      await sleep(this.random.below(2_000))
    }
  }

  /** Sends requests while faults happen, then without. */
  async play() {
    const callers = this.users.map((_, n) => this.caller(n))
    await this.faults(Date.now() + this.options.seconds * 1_000)
    // Everything is as before: within seconds nothing fails any more.
    await sleep(3_000)
    this.faultUntil = 0
    const before = this.report.findings.status
    await sleep(2_000)
    this.stopping = true
    await Promise.all(callers)
    this.report.findings.notRecovered = this.report.findings.status - before
    this.report.findings.status = before
  }

  /** Compares what was acknowledged with what is there, and with what was published. */
  async compare(receiver: Receiver, subscriber: Subscriber) {
    const client = new Client({ connectionString: this.cluster.databaseUrl })
    await client.connect()
    const { rows } = await client.query<{ op: string; count: number; parts: number }>(
      "select op, count(*)::int as count, count(distinct part)::int as parts from appends group by op"
    )
    await client.end()
    const stored = new Map(rows.map((row) => [row.op, row]))
    for (const op of stored.keys()) if (!this.writes.has(op)) this.found("foreign", `the row ${op}`)
    // Deliveries that were interrupted are tried again within seconds.
    const delivered = () => rows.every(({ op, parts }) => (receiver.deliveries.get(op)?.size ?? 0) >= parts)
    for (const deadline = Date.now() + 60_000; !delivered() && Date.now() < deadline; await sleep(200));
    for (const [op, { acknowledgedAt, refused, rows }] of this.writes) {
      const { count, parts } = stored.get(op) ?? { count: 0, parts: 0 }
      if (count > parts || (refused && count > 0)) this.found("twice", `${op}: ${count} rows`)
      if (count !== 0 && count < rows) this.found("torn", `${op}: ${count} of ${rows} rows`)
      if (acknowledgedAt !== undefined && count === 0) this.found("lost", op)
      if (count === 0) continue
      const ids = receiver.deliveries.get(op)?.size ?? 0
      if (ids < count) this.found("webhookMissing", `${op}: ${ids} of ${count}`)
      if (ids > count) this.found("webhookTwice", `${op}: ${ids} of ${count}`)
      const explained = subscriber.gaps.some((at) => at >= (acknowledgedAt ?? 0))
      const heard = Array.from({ length: rows }, (_, n) => subscriber.heard.has(`${op} ${n + 1}`)).every(Boolean)
      if (!heard && acknowledgedAt !== undefined && !explained) this.found("eventMissing", op)
    }
    this.report.webhookRepeats = receiver.repeats()
    this.report.findings.eventTwice = subscriber.repeats
    this.report.gaps = subscriber.gaps.length
    this.report.realtimeConnections = subscriber.connections
  }
}

const prepare = async ({ databaseUrl, service_role }: Cluster, balancer: Balancer, receiver: Receiver) => {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(setUp)
  await client.end()
  const post = async (path: string, body: unknown) => {
    const answer = await balancer.send("POST", path, { apikey: service_role }, body)
    if (answer?.status !== 201) throw new Error(`POST ${path}: ${answer?.status} ${answer?.text}`)
  }
  await post("/api/flags", flag)
  await post("/api/webhooks", { name: "ops", table_name: "appends", url: receiver.url, events: ["INSERT"] })
  await post("/api/realtime/subscribe", { table: "appends" })
  // Every replica has loaded the flag, and listens.
  await sleep(1_000)
}

/** Replicas under faults and load. The report has what was found, with examples. */
export const runReplicas = async (options: Options): Promise<Report> => {
  await using cluster = await makeCluster(options.replicas, options.entry)
  const balancer = new Balancer(cluster)
  const receiver = await makeReceiver()
  const subscriber = new Subscriber()
  try {
    await prepare(cluster, balancer, receiver)
    const run = new Run(cluster, balancer, options)
    const subscribed = subscriber.run(balancer, cluster.service_role)
    await sleep(500)
    await run.play()
    // Events arrive within milliseconds.
    await sleep(1_000)
    await run.compare(receiver, subscriber)
    subscriber.close()
    await subscribed
    return run.report
  } finally {
    subscriber.close()
    balancer.close()
    receiver.close()
  }
}
