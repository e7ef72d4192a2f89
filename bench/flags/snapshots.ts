/** Snapshots, built from rows as in the service, and loaded by the service from PostgreSQL. */
import { setTimeout as sleep } from "node:timers/promises"
import { type FlagRows, FlagSnapshot } from "../../src/domain/flags/sets/Snapshot.ts"
import { now } from "../support/clock.ts"
import { rules } from "./rules.ts"
import { ask, type Service } from "../support/service.ts"
import { median, millis, printTable, whole } from "../rows/table.ts"

const variants = JSON.stringify({ on: true, off: false })
const kinds = Object.values(rules)
const environmentOf = (n: number) =>
  JSON.stringify({ state: "ENABLED", targeting: kinds[n % kinds.length], defaultVariant: "off" })

const rowsOf = (count: number, revision: number): FlagRows => ({
  revision,
  deleted: 0,
  revisions: { dev: revision, staging: revision, production: revision },
  flags: Array.from({ length: count }, (_, n) => ({
    key: `flag-${n}`,
    variants,
    environments: { dev: environmentOf(n), staging: environmentOf(n + 1), production: environmentOf(n + 2) }
  })),
  segments: [],
  flagKeys: undefined,
  segmentKeys: undefined
})

/** Total ms, and ms of the longest step, which blocks the event loop. */
const build = (from: FlagSnapshot, rows: FlagRows) => {
  const began = now()
  const steps = from.advance(rows, "v2")
  let longest = 0
  for (;;) {
    const step = now()
    const { done, value } = steps.next()
    longest = Math.max(longest, now() - step)
    if (done === true) return { snapshot: value.next, took: now() - began, longest }
  }
}

const timed = (use: () => unknown) => {
  const began = now()
  use()
  return now() - began
}

const built = (count: number) => {
  const full = Array.from({ length: 7 }, () => build(FlagSnapshot.empty, rowsOf(count, 1)))
  const [{ snapshot } = { snapshot: FlagSnapshot.empty }] = full
  const one = Array.from({ length: 7 }, (_, n) => build(snapshot, { ...rowsOf(1, n + 2) }))
  const first = timed(() => snapshot.sets.production.configuration)
  const all = () => timed(() => snapshot.sets.production.evaluateAll({ targetingKey: "somebody" }, 0))
  all() // Warm-up: compiles the rules.
  const evaluated = median(Array.from({ length: 7 }, all))
  const again = timed(() => build(snapshot, rowsOf(1, 9)).snapshot.sets.production.configuration)
  return [
    whole(count),
    millis(median(full.map(({ took }) => took))),
    millis(Math.max(...full.map(({ longest }) => longest))),
    millis(median(one.map(({ took }) => took))),
    millis(first),
    millis(again),
    millis(evaluated)
  ]
}

/** Inserts many flags into the service's own tables at once. */
const changed = [
  "update svc.flag_environments set revision = (select revision + 1 from svc.flag_revision)",
  "update svc.flag_revision set revision = revision + 1",
  "select pg_notify('svc_flags', revision::text) from svc.flag_revision"
]
const fill = (count: number) => [
  `insert into svc.flags (key, type, variants, dev, staging, production, uses, revision)
   select 'flag-' || n, 'boolean', '${variants}', e.e, e.e, e.e, '{}', r.revision + 1
   from generate_series(1, ${count}) n, (select '${environmentOf(1)}'::json as e) e, svc.flag_revision r`,
  ...changed
]
const empty = ["delete from svc.flags", "update svc.flag_revision set deleted = revision + 1", ...changed]

/** The slowest response to a client that sends requests continuously. */
const pinged = async (url: string, whileIt: Promise<unknown>) => {
  const left = { over: false }
  void whileIt.finally(() => (left.over = true))
  let slowest = 0
  while (!left.over) {
    const began = now()
    await (await fetch(`${url}/healthz`)).arrayBuffer()
    slowest = Math.max(slowest, now() - began)
  }
  return slowest
}

const revisionOf = async ({ credentials, url }: Service) => {
  const answer = await fetch(`${url}/api/flags/status`, { headers: { apikey: credentials.service } })
  return ((await answer.json()) as { readonly revision: number }).revision
}

const read = async (service: Service, count: number) => {
  const before = await revisionOf(service)
  const statements = fill(count).map((sql) => ({ sql }))
  const calm = await pinged(service.url, sleep(500))
  let began = now()
  const seen = (async () => {
    await ask(service.url, service.credentials.service, "/v1/sql/transaction", { statements })
    began = now()
    while ((await revisionOf(service)) === before) await sleep(1)
  })()
  const slowest = await pinged(service.url, seen)
  const took = now() - began
  await ask(service.url, service.credentials.service, "/v1/sql/transaction", {
    statements: empty.map((sql) => ({ sql }))
  })
  return [whole(count), millis(took), millis(slowest), millis(calm)]
}

export const measureSnapshots = async (service: Service) => {
  console.log("\nb: snapshots, in ms; targets: 1,000 flags under 20, 10,000 under 250, no step over 50\n")
  const head = ["flags", "built", "longest step", "one changed", "document", "again", "all evaluated"]
  printTable(head, [1_000, 10_000].map(built), 0)
  console.log(
    "\n   read by the service after the commit; the slowest response to concurrent pings, during it and before\n"
  )
  const rows = [await read(service, 1_000), await read(service, 10_000)]
  printTable(["flags", "read", "slowest response", "before"], rows, 0)
  return true
}
