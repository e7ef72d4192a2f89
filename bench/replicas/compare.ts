import { Client } from "pg"
import { setTimeout as sleep } from "node:timers/promises"
import { type Balancer } from "./balancer.ts"
import { type Cluster } from "./cluster.ts"
import { type Receiver, type Subscriber } from "./listeners.ts"
import { type Load } from "./load.ts"
import { type Journal } from "./report.ts"

interface Stored {
  readonly op: string
  readonly count: number
  readonly parts: number
  /** When it was committed, in ms. */
  readonly at: number
}

/**
 * Every event was received, or a gap in its place: after the commit, and before any event that was committed later.
 * PostgreSQL sends notifications in the order of commits.
 */
const compareEvents = (subscriber: Subscriber, stored: ReadonlyArray<Stored>, journal: Journal) => {
  const { gaps, heard, name, repeats } = subscriber
  const inOrder = stored.toSorted((one, other) => one.at - other.at)
  // The time at which the first of all later events was received.
  let laterHeardAt = Number.POSITIVE_INFINITY
  for (const { at, op, parts } of inOrder.toReversed()) {
    const times = Array.from({ length: parts }, (_, n) => heard.get(`${op} ${n + 1}`))
    const explained = gaps.some((gap) => gap >= at - 1 && gap <= laterHeardAt)
    if (!explained && times.includes(undefined)) {
      const before = gaps.findLast((gap) => gap < at) ?? 0
      const later = Number.isFinite(laterHeardAt)
        ? `a later event after ${Math.round(laterHeardAt - at)} ms`
        : "no later event"
      journal.found(
        "eventMissing",
        `${op} at ${new Date(at).toISOString()} by ${name}; ${later}, the gap before ${Math.round(at - before)} ms earlier`
      )
    }
    for (const time of times) if (time !== undefined) laterHeardAt = Math.min(laterHeardAt, time)
  }
  for (const op of repeats) journal.found("eventTwice", `${op} by ${name}`)
}

/** Every object that was acknowledged is there, with its content. */
const compareObjects = async (load: Load, balancer: Balancer, journal: Journal) => {
  const left = [...load.objects]
  journal.report.objects = left.length
  const read = async () => {
    for (let key = left.pop(); key !== undefined; key = left.pop()) {
      const path = "/api/storage/buckets/chaos/objects/presign-download"
      const signed = await balancer.send("POST", path, load.key, { key })
      const url = signed?.status === 200 ? (JSON.parse(signed.text) as { readonly url: string }).url : undefined
      const answer = url === undefined ? undefined : await fetch(url).catch(() => undefined)
      const text = await answer?.text().catch(() => "")
      if (answer?.status !== 200 || text !== key)
        journal.found("objectLost", `${key}: ${signed?.status} ${signed?.text.slice(0, 200)}, ${answer?.status}`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, read))
}

export interface Outcome {
  readonly cluster: Cluster
  readonly balancer: Balancer
  readonly load: Load
  readonly journal: Journal
  readonly receiver: Receiver
  readonly subscribers: ReadonlyArray<Subscriber>
}

/** Compares what was acknowledged with what is there, and with what was published. */
export const compare = async ({ balancer, cluster, journal, load, receiver, subscribers }: Outcome) => {
  const client = new Client({ connectionString: cluster.databaseUrl })
  await client.connect()
  const { rows } = await client.query<Stored>(`
    select op, count(*)::int as count, count(distinct part)::int as parts,
      extract(epoch from max(pg_xact_commit_timestamp(xmin))) * 1000.0 as at
    from appends group by op`)
  await client.end()
  const stored = new Map(rows.map((row) => [row.op, { ...row, at: Number(row.at) }]))
  for (const op of stored.keys()) if (!load.writes.has(op)) journal.found("foreign", `the row ${op}`)
  // Deliveries that were interrupted are tried again within seconds.
  const delivered = () => rows.every(({ op, parts }) => (receiver.deliveries.get(op)?.size ?? 0) >= parts)
  for (const deadline = Date.now() + 60_000; !delivered() && Date.now() < deadline; await sleep(200));
  for (const [op, { acknowledgedAt, refused, rows }] of load.writes) {
    const { count, parts } = stored.get(op) ?? { count: 0, parts: 0 }
    if (count > parts || (refused && count > 0)) journal.found("twice", `${op}: ${count} rows`)
    if (count !== 0 && count < rows) journal.found("torn", `${op}: ${count} of ${rows} rows`)
    if (acknowledgedAt !== undefined && count === 0) journal.found("lost", op)
    if (count === 0) continue
    const ids = receiver.deliveries.get(op)?.size ?? 0
    if (ids < count) journal.found("webhookMissing", `${op}: ${ids} of ${count}`)
    if (ids > count) journal.found("webhookTwice", `${op}: ${ids} of ${count}`)
  }
  // Deliveries in flight during a fault may be repeated. They take less than 20 s.
  for (const firstAt of receiver.repeats)
    if (!journal.disturbed(firstAt - 5_000, firstAt + 5_000, 20_000))
      journal.found("webhookRepeated", `received first at ${new Date(firstAt).toISOString()}, without a fault`)
  for (const subscriber of subscribers) compareEvents(subscriber, [...stored.values()], journal)
  await compareObjects(load, balancer, journal)
  const { report } = journal
  report.webhooks = receiver.deliveries.size
  report.webhookRepeats = receiver.repeats.length
  report.events = subscribers.reduce((sum, { heard }) => sum + heard.size, 0)
  report.gaps = subscribers.reduce((sum, { gaps }) => sum + gaps.length, 0)
  report.realtimeConnections = subscribers.reduce((sum, { connections }) => sum + connections, 0)
}
