import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { signedToken } from "../isolation/callers.ts"
import { type Random } from "../isolation/random.ts"
import { type Answer, type Balancer } from "./balancer.ts"
import { type Cluster } from "./cluster.ts"
import { type Journal } from "./report.ts"

/** A write: with a response, or with none that says whether it was done. */
export interface Write {
  readonly rows: number
  acknowledgedAt: number | undefined
  /** It had no effect for sure. */
  refused: boolean
}

interface Note {
  readonly id: string
  readonly owner: string
}

/** After a fault is over, requests may still meet its consequences for this long, in ms. */
const settleMillis = 15_000

/** Statuses that say that a server behind the service does not work, beside 503 and 504. */
const storeFailed = (status: number | undefined, text: string) => status === 502 && text.includes('"STORE_UNAVAILABLE"')

/** Requests of every kind, each of which has to be answered right, or by an error that says what does not work. */
export class Load {
  readonly writes = new Map<string, Write>()
  /** Keys of the objects whose upload was acknowledged; the content of an object is its key. */
  readonly objects = new Set<string>()
  /** From now on there are no faults, and no consequences of any. */
  calm = false
  stopping = false
  /** The cookie of a session that does not end. */
  cookie = ""
  readonly key: Readonly<Record<string, string>>
  private readonly cluster: Cluster
  private readonly balancer: Balancer
  private readonly journal: Journal
  private readonly random: Random

  constructor(cluster: Cluster, balancer: Balancer, journal: Journal, random: Random) {
    this.cluster = cluster
    this.balancer = balancer
    this.journal = journal
    this.random = random
    this.key = { apikey: cluster.service_role }
  }

  /** Whether a fault, or what remains of one, may explain what happened from this moment on. */
  private excused(from: number) {
    return !this.calm && this.journal.disturbed(from, Date.now(), settleMillis)
  }

  /** One request; checks how it may end. */
  async send(
    expected: ReadonlyArray<number>,
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: unknown
  ): Promise<Answer | undefined> {
    const { journal } = this
    const from = Date.now()
    const answer = await this.balancer.send(method, path, headers, body)
    if (answer === undefined) {
      journal.saw("no replica is ready")
      if (!this.excused(from)) journal.found("unready", `${method} ${path}: no replica was ready`)
      await sleep(50)
      return undefined
    }
    const { report } = journal
    report.requests++
    report.slowestMillis = Math.max(report.slowestMillis, Date.now() - from)
    const { error, replica, retryAfter, status, text } = answer
    const about = `${method} ${path} to ${replica?.url ?? "the balancer"}, ${Date.now() - from} ms: ${status ?? error} ${text.slice(0, 300)}`
    if (status !== undefined && expected.includes(status)) return answer
    journal.saw(`${status ?? error} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ""}`.trim())
    if (status === undefined || (replica === undefined && status === 502)) {
      const replicas = replica === undefined ? this.cluster.replicas : [replica]
      if (replicas.some(({ killedAt }) => killedAt.some((at) => at >= from - 1_000))) report.cut++
      else journal.found("dropped", about)
    } else if (status === 503 || status === 504 || storeFailed(status, text)) {
      report.unavailable++
      if (status === 503 && !retryAfter) journal.found("noRetryAfter", about)
      if (!this.excused(from)) journal.found("status", `without a fault: ${about}`)
    } else journal.found("status", about)
    return answer
  }

  /** Writes rows of an operation, whose id it returns with the answer. */
  private async write(rows: number, send: (op: string) => Promise<Answer | undefined>, done: number) {
    const op = randomUUID()
    const write: Write = { rows, acknowledgedAt: undefined, refused: false }
    this.writes.set(op, write)
    const answer = await send(op)
    if (answer === undefined) write.refused = true
    else if (answer.status === done) {
      write.acknowledgedAt = Date.now()
      this.journal.report.acknowledged++
      return op
    }
    return undefined
  }

  /** The id of a row that was written for sure. */
  append() {
    const headers = { ...this.key, prefer: "return=minimal" }
    return this.write(1, (op) => this.send([201], "POST", "/v1/db/appends", headers, { op, part: 1 }), 201)
  }

  private appendTwo() {
    const insert = (op: string, part: number) => ({ sql: "insert into appends values ($1, $2)", params: [op, part] })
    return this.write(
      2,
      (op) => this.send([200], "POST", "/v1/sql/transaction", this.key, { statements: [insert(op, 1), insert(op, 2)] }),
      200
    )
  }

  async upload() {
    const key = randomUUID()
    const body = { key, content: key, contentType: "text/plain" }
    const answer = await this.send([201], "POST", "/api/storage/buckets/chaos/objects/upload-text", this.key, body)
    if (answer?.status !== 201) return false
    this.objects.add(key)
    return true
  }

  evaluate() {
    return this.send([200], "POST", "/api/flags/evaluate", this.key, { flagKey: "chaos", context: {} })
  }

  describeFlag() {
    return this.send([200], "PUT", "/api/flags/chaos", this.key, { description: randomUUID() })
  }

  account() {
    return this.send([200], "GET", "/api/auth/account", { cookie: this.cookie })
  }

  private notesOf({ replica, text }: Answer): ReadonlyArray<Note> {
    try {
      const rows: unknown = JSON.parse(text)
      if (Array.isArray(rows)) return rows as ReadonlyArray<Note>
    } catch {
      // Reported below.
    }
    this.journal.found("wrong", `200 of ${replica?.url} with ${text.slice(0, 300)}`)
    return []
  }

  /** One caller, with rows of its own, until the run stops. */
  async caller(n: number) {
    const sub = `u${n}`
    const token = signedToken(this.cluster.jwtSecret, sub)
    const headers = { apikey: this.cluster.anon, authorization: `Bearer ${token}` }
    const own: Array<string> = []
    const insertNote = async () => {
      const id = randomUUID()
      const answer = await this.send([201], "POST", "/v1/db/notes", headers, { id })
      if (answer?.status === 201) own.push(id)
    }
    const readNotes = async () => {
      // What this caller wrote, at any replica, and nothing of others.
      const known = own.length
      const strong = { ...headers, prefer: "consistency=strong" }
      const answer = await this.send([200], "GET", "/v1/db/notes?limit=10000", strong)
      if (answer?.status !== 200) return
      const rows = this.notesOf(answer)
      const ids = new Set(rows.map(({ id }) => id))
      for (const { id, owner } of rows)
        if (owner !== sub) this.journal.found("foreign", `the note ${id} of ${owner}, read by ${sub}`)
      for (const id of own.slice(0, known)) if (!ids.has(id)) this.journal.found("lost", `the note ${id} of ${sub}`)
    }
    const readSome = async () => {
      const answer = await this.send([200], "GET", "/v1/db/notes?limit=20&select=id,owner", headers)
      if (answer?.status !== 200) return
      for (const { id, owner } of this.notesOf(answer))
        if (owner !== sub) this.journal.found("foreign", `the note ${id} of ${owner}, read by ${sub}`)
    }
    const acts: ReadonlyArray<readonly [number, () => Promise<unknown>]> = [
      [4, () => this.append()],
      [2, () => this.appendTwo()],
      [2, insertNote],
      [2, readNotes],
      [4, readSome],
      [3, () => this.evaluate()],
      [1, () => this.describeFlag()],
      [1, () => this.upload()],
      [1, () => this.send([200], "GET", "/api/storage/buckets/chaos/objects?max_keys=5", this.key)],
      [1, () => this.account()],
      [1, () => this.send([200], "GET", "/v1/keys", this.key)]
    ]
    while (!this.stopping) {
      await this.random.weighted(acts)()
      await sleep(this.random.below(150))
    }
  }
}
