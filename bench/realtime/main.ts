/**
 * `npm run bench:realtime`: from a row's commit to the WebSocket clients, compared to a bare `ws` server that sends the
 * same rows to the same clients in the same run. Everything runs on loopback, on a new embedded PostgreSQL in the
 * temporary directory. Exit code 1 if a message is lost, duplicated or out of order in rows a, b and e.
 */
import { SignJWT } from "jose"
import { randomBytes, randomUUID } from "node:crypto"
import { cpus, loadavg } from "node:os"
import { setTimeout as sleep } from "node:timers/promises"
import { channelOf } from "../../src/domain/realtime/Subscription.ts"
import { type Receipts, type RealtimeClients } from "./clients.ts"
import { type RealtimeFloor } from "./floor.ts"
import { runProgram } from "../support/program.ts"
import { type Remote, remote } from "../support/remote.ts"
import { processorTimes, resident } from "../support/resources.ts"
import { ask, type Service } from "../support/service.ts"
import { millis, printTable, whole } from "../rows/table.ts"
import { makeWriter, stride, type Writer } from "../events/writer.ts"

const help = `npm run bench:realtime -- [options]
  --only a,b      only these parts: a b c d e
  --quick         shorter measurements
  --cpu-prof      the service writes a CPU profile when it ends
  SVC_CHANGES=wal measures changes from the write-ahead log, without the bare server
  --entry FILE    the service's program (default dist/main.mjs)

  a  500 clients, 64 changes per second
  b  2,000 clients, 5 changes per second
  c  500 clients, increasing changes per second, until the 95th percentile exceeds a second or a message is lost
  d  resident memory with 0, 500 and 2,000 idle clients
  e  500 clients with a JWT, 64 changes per second: of an open table; of one whose policy looks up the members of a room,
     with the same JWT for all, and with one for each`

const table = "bench_feed"
const secured = "bench_private"
/** All clients with a JWT, who are members of the room of all rows. */
const users = Array.from({ length: 500 }, () => randomUUID())
const columns = "id bigint generated always as identity primary key, n int, title text, done boolean"
const setup = (password: string) => [
  `create table ${table} (${columns})`,
  `create table ${secured} (${columns}, room int not null default 1)`,
  "create table bench_members (member uuid, room int, primary key (member, room))",
  `insert into bench_members select value::uuid, 1 from json_array_elements_text('${JSON.stringify(users)}')`,
  `alter table ${secured} enable row level security`,
  `create policy ofmembers on ${secured} for select to authenticated
   using (exists (select from bench_members m where m.room = ${secured}.room and m.member = (select auth.uid())))`,
  `create role bench_driver login password '${password}'`,
  `grant insert on ${table}, ${secured} to bench_driver`,
  `create policy driven on ${secured} for insert to bench_driver with check (true)`,
  `grant select on ${table} to anon, authenticated`,
  `grant select on ${secured}, bench_members to authenticated`
]

const secret = randomBytes(32).toString("base64url")
// All clients have one key and one address.
const env = {
  SVC_REALTIME_MAX_PER_CLIENT: "10000",
  SVC_JWT_SECRET: secret,
  SVC_CHANGES: process.env["SVC_CHANGES"] ?? "trigger"
}

/** A server of the feed: the service or the baseline. */
interface FeedServer {
  readonly name: string
  readonly url: string
  readonly headers: Record<string, string>
  /** One for each client, in turn. */
  readonly tokens?: ReadonlyArray<string>
  readonly pid: number
}

interface Bench {
  readonly servers: ReadonlyArray<FeedServer>
  readonly clients: Remote<RealtimeClients>
  readonly writer: Writer
}

interface Row extends Receipts {
  readonly id: string
  readonly name: string
  readonly clientCount: number
  /** Changes per second: requested, and written. */
  readonly rate: number
  readonly written: number
  readonly messages: number
  /** CPU time of the server and of the PostgreSQL that it has started, and elapsed time, in seconds. */
  readonly server: number
  readonly postgres: number
  readonly took: number
}

/** After this time without arrivals, missing messages count as lost, in ms. */
const quietMillis = 3_000

const arrived = async (clients: Remote<RealtimeClients>, wanted: number) => {
  let before = -1
  for (let quiet = 0; quiet < quietMillis; quiet += 100) {
    const received = await clients.call("progress", undefined)
    if (received >= wanted) return
    if (received > before) quiet = 0
    before = received
    await sleep(100)
  }
}

const measure = async (
  { clients, writer }: Bench,
  server: FeedServer,
  { clientCount, id, rate, seconds }: { id: string; clientCount: number; rate: number; seconds: number }
): Promise<Row> => {
  const [before, started] = [await processorTimes(server.pid), performance.now()]
  const { committed, rate: written, sent } = await writer.write(rate, seconds)
  const messages = committed.length * clientCount
  await arrived(clients, messages)
  const [after, took] = [await processorTimes(server.pid), (performance.now() - started) / 1000]
  const receipts = await clients.call("receipts", { sent, committed, stride })
  const spent = { server: after.service - before.service, postgres: after.postgres - before.postgres }
  return { ...receipts, ...spent, id, name: server.name, clientCount, rate, written, messages, took }
}

const connected = async <A>(
  { clients }: Bench,
  { headers, tokens, url }: FeedServer,
  count: number,
  use: () => Promise<A>
): Promise<A> => {
  await clients.call("open", { clients: count, url, headers, tokens: tokens ?? [] })
  await sleep(1_000)
  try {
    return await use()
  } finally {
    await clients.call("close", undefined)
  }
}

const steady = async (bench: Bench, wanted: { id: string; clientCount: number; rate: number; seconds: number }) => {
  const rows: Array<Row> = []
  for (const server of bench.servers) {
    console.error(`${wanted.id} ${server.name} …`)
    rows.push(await connected(bench, server, wanted.clientCount, () => measure(bench, server, wanted)))
  }
  return rows
}

/** The same feed to clients with a JWT, of an open table and of one with row-level security. */
const withPolicies = async (bench: Bench, service: Service, seconds: number) => {
  const [feed] = bench.servers
  if (feed === undefined) return []
  const key = new TextEncoder().encode(secret)
  const tokens = await Promise.all(
    users.map((user) =>
      new SignJWT({ role: "authenticated" })
        .setProtectedHeader({ alg: "HS256" })
        .setSubject(user)
        .setExpirationTime("1h")
        .sign(key)
    )
  )
  const writer = await makeWriter(service.databaseUrl, secured, (first, count) =>
    bench.clients.call("expect", { first, count })
  )
  const rows: Array<Row> = []
  for (const [name, given, by] of [
    ["open table", tokens, bench.writer],
    ["policy, one JWT", tokens.slice(0, 1), writer],
    ["policy, 500 JWTs", tokens, writer]
  ] as const) {
    const server = { ...feed, name, tokens: given }
    console.error(`e ${name} …`)
    const wanted = { id: "e", clientCount: users.length, rate: 64, seconds }
    rows.push(await connected(bench, server, users.length, () => measure({ ...bench, writer: by }, server, wanted)))
  }
  await writer.end()
  return rows
}

const rates = [96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024]

const climb = async (bench: Bench, seconds: number) => {
  const rows: Array<Row> = []
  for (const server of bench.servers) {
    await connected(bench, server, 500, async () => {
      for (const rate of rates) {
        console.error(`c ${server.name} ${rate} …`)
        const row = await measure(bench, server, { id: "c", clientCount: 500, rate, seconds })
        rows.push(row)
        if (row.missing > 0 || row.fromCommit.p95 > 1_000 || row.written < rate * 0.9) break
      }
    })
  }
  return rows
}

const memory = async ({ clients, servers }: Bench, seconds: number) => {
  const rows: Array<ReadonlyArray<string>> = []
  for (const { headers, name, pid, url } of servers) {
    console.error(`d ${name} …`)
    let open = 0
    let idle = 0
    for (const count of [0, 500, 2_000]) {
      await clients.call("open", { clients: count - open, url, headers, tokens: [] })
      open = count
      await sleep(seconds * 1000)
      const mebibytes = await resident(pid)
      if (count === 0) idle = mebibytes
      const each = count === 0 ? "" : millis(((mebibytes - idle) * 1024) / count)
      rows.push(["d", name, whole(count), whole(mebibytes), each])
    }
    await clients.call("close", undefined)
  }
  console.log()
  printTable(["", "", "clients", "MiB", "KiB a client"], rows, 2)
}

const print = (rows: ReadonlyArray<Row>) => {
  const head = ["", "", "clients", "changes/s", "written/s", "messages", "lost", "p50 ms", "p95", "p99", "max"]
  const more = ["p95 from INSERT", "CPU", "PostgreSQL", "µs a message", "clients' CPU"]
  const share = (used: number, took: number) => `${whole((100 * used) / took)} %`
  console.log()
  printTable(
    [...head, ...more],
    rows.map((row) => [
      row.id,
      row.name,
      whole(row.clientCount),
      whole(row.rate),
      whole(row.written),
      whole(row.messages),
      whole(row.missing + row.twice + row.disordered),
      ...[row.fromCommit.p50, row.fromCommit.p95, row.fromCommit.p99, row.fromCommit.max].map(millis),
      millis(row.fromSent.p95),
      share(row.server, row.took),
      share(row.postgres, row.took),
      millis((row.server * 1e6) / (row.messages - row.missing)),
      share(row.processor, row.took)
    ]),
    2
  )
}

const run = async (service: Service, wants: (part: string) => boolean, quick: boolean) => {
  for (const name of [table, secured]) {
    await ask(service.url, service.credentials.service, "/api/realtime/subscribe", { table: name })
  }
  const clients = remote<RealtimeClients>("realtime/clients.ts")
  const floor = remote<RealtimeFloor>("realtime/floor.ts")
  const floorUrl = await floor.call("start", { channel: channelOf("public", table), databaseUrl: service.databaseUrl })
  const url = `${service.url.replace("http", "ws")}/realtime`
  const servers = [
    { name: "service", url, headers: { apikey: service.credentials.anon }, pid: service.pid },
    // It listens to what the trigger sends.
    ...(env.SVC_CHANGES === "wal" ? [] : [{ name: "bare ws", url: floorUrl, headers: {}, pid: floor.pid }])
  ]
  const writer = await makeWriter(service.databaseUrl, table, (first, count) =>
    clients.call("expect", { first, count })
  )
  const bench: Bench = { servers, clients, writer }
  console.log(
    `Node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before; times from the commit to the client`
  )
  // Warm-up.
  for (const server of servers) {
    await connected(bench, server, 50, () => measure(bench, server, { id: "", clientCount: 50, rate: 100, seconds: 3 }))
  }
  if (wants("d")) await memory(bench, quick ? 3 : 10)
  const seconds = quick ? 5 : 30
  const rows: Array<Row> = []
  if (wants("a")) rows.push(...(await steady(bench, { id: "a", clientCount: 500, rate: 64, seconds })))
  if (wants("b")) rows.push(...(await steady(bench, { id: "b", clientCount: 2_000, rate: 5, seconds })))
  if (wants("c")) rows.push(...(await climb(bench, quick ? 3 : 10)))
  if (wants("e")) rows.push(...(await withPolicies(bench, service, seconds)))
  if (rows.length > 0) print(rows)
  await Promise.all([writer.end(), clients.stop(), floor.stop()])
  const bad = rows.filter(
    ({ disordered, id, missing, name, twice }) => id !== "c" && name !== "bare ws" && missing + twice + disordered > 0
  )
  return bad.length > 0 ? 1 : 0
}

await runProgram({ help, parts: "abcde", service: { setup, env }, run })
