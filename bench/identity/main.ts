/**
 * `npm run bench:identity`: people who sign in to the embedded identity provider. Everything runs on a new embedded
 * PostgreSQL in the temporary directory. Linux only, for memory. Exit code 1 if a request fails, /healthz of the operations port takes 100 ms
 * during a flood of sign-ins, or the identity provider makes the start 0.5 s longer or the idle process 20 MiB larger.
 */
import autocannon from "autocannon"
import { randomUUID } from "node:crypto"
import { rm } from "node:fs/promises"
import { get } from "node:http"
import { cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { median, millis, percentiles, printTable, whole } from "../rows/table.ts"
import { freePort } from "../support/freePort.ts"
import { start, stop } from "../support/processes.ts"
import { runProgram } from "../support/program.ts"
import { remote } from "../support/remote.ts"
import { processorTime, resident } from "../support/resources.ts"
import { defaultEntry, ready, type Service } from "../support/service.ts"
import { type FloodProcess } from "./flood.ts"

const help = `npm run bench:identity -- [options]
  --only a,b      only these parts: a b c
  --quick         shorter measurements, for a first look
  --cpu-prof      the service writes a CPU profile when it ends
  --entry FILE    the service's program (default src/main.ts)

  a  sign-ins, checks of sessions and tokens per second
  b  1,000 sign-ins at once, and what other requests wait meanwhile
  c  start and memory, beside SVC_IDENTITY=off`

const setup = () => [
  "create table bench_diary (id int primary key, owner uuid default auth.uid(), text text)",
  "alter table bench_diary enable row level security",
  "create policy own on bench_diary using (owner = auth.uid())"
]

const password = "four common words"
const json = { "content-type": "application/json" }

const post = async (url: string, path: string, body: object, headers: Readonly<Record<string, string>> = {}) => {
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { ...json, ...headers },
    body: JSON.stringify(body)
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Readonly<Record<string, string>>
}

interface Measured {
  readonly what: string
  readonly path: string
  readonly method?: "GET" | "POST"
  readonly connections: number
  readonly headers?: Readonly<Record<string, string>>
  readonly bodies?: ReadonlyArray<object>
}

const measure = async ({ pid, url }: Service, seconds: number, given: Measured) => {
  const { bodies = [undefined], connections, headers = {}, method = "GET", path, what } = given
  const requests = bodies.map((body) =>
    body === undefined ? { path, method, headers } : { path, method, headers, body: JSON.stringify(body) }
  )
  const before = await processorTime(pid)
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    requests
  })
  const cost = ((await processorTime(pid)) - before) / result["2xx"]
  const failures = result.non2xx + result.errors + result.timeouts
  const { latency } = result
  return {
    failures,
    row: [
      what,
      String(connections),
      whole(result["2xx"] / result.duration),
      millis(latency.p50),
      millis(latency.p99),
      millis(cost * 1000),
      String(failures)
    ]
  }
}

/** Part a. */
const compareRates = async (service: Service, quick: boolean) => {
  const { credentials, url } = service
  const people = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => {
      const email = `ann${index}@bench.example`
      const body = { email, password, token: true }
      const { session_token } = await post(url, "/api/auth/register", body, { "x-forwarded-for": `198.18.0.${index}` })
      return { email, cookie: `svc_session=${session_token}` }
    })
  )
  const [{ cookie } = { cookie: "" }] = people
  const own = { cookie, origin: url }
  const { access_token } = await post(url, "/api/auth/token", {}, own)
  const asPerson = { apikey: credentials.anon, authorization: `Bearer ${access_token}` }
  await post(url, "/v1/db/bench_diary", { id: 1, text: "Dear diary" }, asPerson)
  const cases: ReadonlyArray<Measured> = [
    {
      what: "sign in with a password",
      method: "POST",
      path: "/api/auth/login",
      // Of one name at once, fewer than the guesses that need no wait.
      connections: 4,
      headers: json,
      bodies: people.map(({ email }) => ({ identifier: email, password, token: true }))
    },
    { what: "check a session", path: "/api/auth/session", connections: 32, headers: { cookie } },
    { what: "get a token for /v1", method: "POST", path: "/api/auth/token", connections: 32, headers: own },
    { what: "read a row by that token", path: "/v1/db/bench_diary?id=eq.1", connections: 32, headers: asPerson },
    {
      what: "the same by an API key",
      path: "/v1/db/bench_diary?id=eq.1",
      connections: 32,
      headers: { apikey: credentials.service }
    }
  ]
  const measured: Array<Awaited<ReturnType<typeof measure>>> = []
  for (const one of cases) measured.push(await measure(service, quick ? 2 : 6, one))
  printTable(
    ["", "connections", "per s", "p50 ms", "p99 ms", "CPU ms", "failures"],
    measured.map(({ row }) => row),
    1
  )
  return measured.every(({ failures }) => failures === 0)
}

const operationsPort = await freePort()
const maxHealthMillis = 100

/** Part b. */
const probe = (url: string) =>
  new Promise<void>((done, failed) => {
    get(url, { agent: false }, (response) => response.resume().once("end", done)).once("error", failed)
  })

const flood = async ({ pid, url }: Service) => {
  const flooder = remote<FloodProcess>("identity/flood.ts")
  // The first ones load the library, and are slow as all code that has not run before.
  // The first hash loads the library.
  await flooder.call("run", { url, count: 300 })
  const before = await resident(pid)
  let peak = before
  const running = flooder.call("run", { url, count: 1000 })
  // On new connections, as probes are: the main port accepts them in turn with those of the flood.
  const probes = [
    { of: "the main port", at: `${url}/healthz`, times: [] as Array<number> },
    { of: "the operations port", at: `http://127.0.0.1:${operationsPort}/healthz`, times: [] as Array<number> }
  ] as const
  const from = performance.now()
  const ended = running.then(() => true)
  const soon = () => sleep(5).then(() => false)
  while (!(await Promise.race([ended, soon()]))) {
    await Promise.all(
      probes.map(async ({ at, times }) => {
        const began = performance.now()
        await probe(at)
        times.push(performance.now() - began)
      })
    )
    peak = Math.max(peak, await resident(pid))
  }
  const seconds = (performance.now() - from) / 1000
  const statuses = await running
  await flooder.stop()
  const counts = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`)
  console.log(`1,000 sign-ins at once: ${counts.join(", ")} in ${seconds.toFixed(1)} s`)
  for (const { of, times } of probes) {
    const { max, p50, p99 } = percentiles(Float32Array.from(times))
    const figures = `p50 ${millis(p50)}, p99 ${millis(p99)}, max ${millis(max)} ms`
    console.log(`/healthz of ${of} meanwhile (${times.length}): ${figures}`)
  }
  console.log(`resident: ${whole(before)} MiB before, at most ${whole(peak)} MiB`)
  return Math.max(...probes[1].times) < maxHealthMillis && statuses["0"] === undefined
}

const maxStartMillis = 500
const maxIdleMib = 20

/** Part c: starts on a prepared data directory, with and without the identity provider in turn. */
const compareStarts = async (quick: boolean) => {
  const dataDir = join(tmpdir(), `svc-bench-${randomUUID()}`)
  const one = async (identity: "embedded" | "off") => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const ports = {
      PORT: String(port),
      S3_EMBEDDED_PORT: "0",
      FLAGS_PORT: "0",
      FLAGS_HTTP_PORT: "0",
      FLAGS_SYNC_PORT: "0"
    }
    const began = performance.now()
    const child = start(
      defaultEntry,
      [],
      ["--max-semi-space-size=12", "--no-allocation-site-pretenuring", "--heap-growing-percent=100"],
      {
        PATH: process.env["PATH"],
        ...ports,
        SVC_DATA_DIR: dataDir,
        SVC_IDENTITY: identity,
        SVC_SHUTDOWN_DELAY: "0s",
        LOG_LEVEL: "Warn"
      }
    )
    child.stdout.resume()
    await ready(url, () => child.exitCode)
    const readyMillis = performance.now() - began
    const processorMillis = (await processorTime(child.pid ?? 0)) * 1000
    await sleep(2_000)
    const idle = await resident(child.pid ?? 0)
    let used = Number.NaN
    if (identity === "embedded") {
      await post(url, "/api/auth/register", { email: `${randomUUID()}@bench.example`, password })
      for (const path of ["/api/auth/login/passkey", "/.well-known/openid-configuration", "/auth/login"]) {
        await (await fetch(`${url}${path}`)).text()
      }
      await sleep(1_000)
      used = await resident(child.pid ?? 0)
    }
    await stop(child)
    return { readyMillis, processorMillis, idle, used }
  }
  try {
    await one("off")
    const rounds = {
      embedded: [] as Array<Awaited<ReturnType<typeof one>>>,
      off: [] as Array<Awaited<ReturnType<typeof one>>>
    }
    for (let round = 0; round < (quick ? 2 : 5); round++) {
      for (const identity of ["off", "embedded"] as const) rounds[identity].push(await one(identity))
    }
    const of = (identity: keyof typeof rounds) => ({
      ready: median(rounds[identity].map(({ readyMillis }) => readyMillis)),
      processor: median(rounds[identity].map(({ processorMillis }) => processorMillis)),
      idle: median(rounds[identity].map(({ idle }) => idle)),
      used: median(rounds[identity].map(({ used }) => used))
    })
    const [off, embedded] = [of("off"), of("embedded")]
    printTable(
      ["SVC_IDENTITY", "ready ms", "processor ms", "idle MiB", "MiB once used"],
      [
        ["off", whole(off.ready), whole(off.processor), whole(off.idle), ""],
        ["embedded", whole(embedded.ready), whole(embedded.processor), whole(embedded.idle), whole(embedded.used)]
      ],
      1
    )
    // Processor time, because a start on a busy machine takes any time.
    return embedded.processor - off.processor < maxStartMillis && embedded.idle - off.idle < maxIdleMib
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}

await runProgram({
  help,
  parts: "abc",
  service: { setup, env: { SVC_OPERATIONS_PORT: String(operationsPort) } },
  run: async (service, wants, quick) => {
    console.log(`${cpus().length} × ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}, Node ${process.version}\n`)
    let good = true
    if (wants("a")) good = (await compareRates(service, quick)) && good
    if (wants("b")) good = (await flood(service)) && good
    if (wants("c")) good = (await compareStarts(quick)) && good
    return good ? 0 : 1
  }
})
