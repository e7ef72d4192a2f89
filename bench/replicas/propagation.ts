import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { type Random } from "../isolation/random.ts"
import { ask } from "./balancer.ts"
import { type Cluster } from "./cluster.ts"
import { type Load } from "./load.ts"
import { type Replica } from "./servers/replica.ts"
import { type Journal } from "./report.ts"

/** In ms: what is revoked is dead, and, as the machine has other work too, a flag is changed everywhere. */
const bound = 1_000
/** What the consequences of a fault may delay, in ms. */
const settleMillis = 5_000
const patience = 90_000

type Headers = Readonly<Record<string, string>>

const post = (replica: Replica, path: string, headers: Headers, body: unknown, method = "POST") =>
  ask(replica.url + path, method, headers, body, () => replica)

/** A new person, who has signed in. */
export const signUp = async (load: Load) => {
  // Attempts are limited by address.
  const from = `10.${Array.from(randomUUID().slice(0, 6).match(/../g) ?? [], (two) => Number.parseInt(two, 16)).join(".")}`
  const body = { email: `${randomUUID()}@example.com`, password: randomUUID(), token: true }
  const answer = await load.send([201], "POST", "/api/auth/register", { "x-forwarded-for": from }, body)
  if (answer?.status !== 201) return undefined
  const { session, session_token } = JSON.parse(answer.text) as {
    readonly session: { readonly identity: { readonly id: string } }
    readonly session_token: string
  }
  return { cookie: `svc_session=${session_token}`, identity: session.identity.id }
}

/** Whether, and how soon, what changes at one replica holds at the others, which it asks directly. */
export class Propagation {
  private readonly cluster: Cluster
  private readonly load: Load
  private readonly journal: Journal
  private readonly random: Random

  constructor(cluster: Cluster, load: Load, journal: Journal, random: Random) {
    this.cluster = cluster
    this.load = load
    this.journal = journal
    this.random = random
  }

  private get ready() {
    return this.cluster.replicas.filter(({ ready }) => ready)
  }

  private calm(from: number) {
    return !this.journal.disturbed(from, Date.now(), settleMillis)
  }

  /** Asks a replica until it answers as it should; undefined: it did not for long, or can't. */
  private async until(holds: () => Promise<boolean>, pause: number) {
    const from = Date.now()
    while (!this.load.stopping && Date.now() - from < patience) {
      if (await holds()) return Date.now() - from
      await sleep(pause)
    }
    return undefined
  }

  /** Changes a flag, and asks the other replicas until it holds there. */
  async flag(value: boolean) {
    const [first, ...others] = this.shuffled()
    if (first === undefined || others.length === 0) return
    const from = Date.now()
    const change = { defaultVariant: value ? "on" : "off" }
    if ((await post(first, "/api/flags/speed", this.load.key, change, "PUT")).status !== 200) return
    const holds = async (replica: Replica) => {
      const answer = await post(replica, "/api/flags/evaluate", this.load.key, { flagKey: "speed", context: {} })
      return answer.status === 200 && (JSON.parse(answer.text) as { readonly value: boolean }).value === value
    }
    await Promise.all(
      others.map(async (replica) => {
        const millis = await this.until(() => holds(replica), 5)
        if (millis === undefined) {
          if (!this.load.stopping) this.journal.found("flagLate", `not at ${replica.url} within ${patience} ms`)
        } else if (this.calm(from)) {
          this.journal.propagated("flags", millis)
          if (millis > bound) this.journal.found("flagLate", `${millis} ms at ${replica.url}`)
        }
      })
    )
  }

  /** Revokes something at one replica, and asks all of them until they refuse it. */
  private async revoked(
    what: "keys" | "sessions",
    revoke: (replica: Replica) => Promise<boolean>,
    accepts: (replica: Replica) => Promise<boolean>
  ) {
    const replicas = this.shuffled()
    const [first] = replicas
    if (first === undefined) return
    // All of them know it.
    await Promise.all(replicas.map(accepts))
    const from = Date.now()
    if (!(await revoke(first))) return
    const answeredAt = Date.now()
    await Promise.all(
      replicas.map(async (replica) => {
        let accepted = answeredAt
        const refuses = async () => {
          const sentAt = Date.now()
          if (!(await accepts(replica))) return true
          accepted = sentAt
          // While the replica can't ask the database, it goes on with the keys that it knows, and says so in its docs.
          const { calmSince } = this.journal
          return calmSince !== undefined && sentAt - Math.max(answeredAt, calmSince + settleMillis) > bound
        }
        await this.until(refuses, 20)
        if (this.load.stopping) return
        // It does not come back to life.
        await sleep(bound)
        if (await accepts(replica)) accepted = Date.now()
        const late = accepted - answeredAt
        const finding = what === "keys" ? "keyAfterRevocation" : "sessionAfterRevocation"
        const { calmSince } = this.journal
        const excused = this.load.stopping || calmSince === undefined || accepted - calmSince < settleMillis + bound
        if (late > bound && !excused) this.journal.found(finding, `accepted by ${replica.url} after ${late} ms`)
        else if (this.calm(from)) this.journal.propagated(what, late)
      })
    )
  }

  async key() {
    const answer = await this.load.send([201], "POST", "/api/keys", this.load.key, { keyType: "service_role" })
    if (answer?.status !== 201) return
    const { key, secret } = JSON.parse(answer.text) as {
      readonly key: { readonly id: number }
      readonly secret: string
    }
    await this.revoked(
      "keys",
      async (replica) =>
        (await post(replica, `/api/keys/${key.id}`, this.load.key, undefined, "DELETE")).status === 200,
      async (replica) => {
        const { status } = await post(
          replica,
          "/api/flags/evaluate",
          { apikey: secret },
          { flagKey: "speed", context: {} }
        )
        return status === 200
      }
    )
  }

  async session() {
    const person = await signUp(this.load)
    if (person === undefined) return
    const { cookie, identity } = person
    await this.revoked(
      "sessions",
      async (replica) => {
        const path = `/api/identities/${identity}/sessions`
        return (await post(replica, path, this.load.key, undefined, "DELETE")).status === 200
      },
      async (replica) => (await post(replica, "/api/auth/account", { cookie }, undefined, "GET")).status === 200
    )
  }

  /** Sends more calls with a key than its limit allows, to all replicas at once. */
  async rate(limit: number) {
    const body = { keyType: "service_role", rate_limit: limit }
    const answer = await this.load.send([201], "POST", "/api/keys", this.load.key, body)
    if (answer?.status !== 201) return
    const { secret } = JSON.parse(answer.text) as { readonly secret: string }
    const { replicas } = this.cluster
    const from = Date.now()
    // Calls of /v1 count.
    const path = "/v1/db/migrated?limit=1"
    const call = (replica: Replica) => post(replica, path, { apikey: secret }, undefined, "GET")
    let admitted = 0
    for (let sent = 0; sent < 1.5 * limit + 10; sent += 2 * replicas.length) {
      const answers = await Promise.all([...replicas, ...replicas].map(call))
      admitted += answers.filter(({ status }) => status === 200).length
    }
    // What a replica may admit without asking; all of it while the database does not answer.
    const more = limit < 50 ? 0 : (replicas.length * limit) / 50
    const allowed = this.calm(from) ? limit + more : replicas.length * limit
    if (Date.now() - from < 55_000 && admitted > allowed)
      this.journal.found("rateExceeded", `${admitted} of ${limit} a minute at ${replicas.length} replicas`)
  }

  private shuffled() {
    return this.ready
      .map((replica) => [this.random.next(), replica] as const)
      .toSorted(([one], [other]) => one - other)
      .map(([, replica]) => replica)
  }

  /** One measurement after the other, until the run stops. */
  async run() {
    for (let round = 0; !this.load.stopping; round++) {
      await this.flag(round % 2 === 0)
      if (round % 4 === 0) await this.key()
      if (round % 8 === 2) await this.session()
      if (round % 16 === 5) await this.rate(20)
      if (round % 32 === 13) await this.rate(300)
      await sleep(200 + this.random.below(300))
    }
  }
}
