/**
 * Other servers beside the service, in slices in turn: pREST (`SVC_BENCH_PREST`) on the same PostgreSQL, and PocketBase
 * (`SVC_BENCH_POCKETBASE`) with its own SQLite. The variables name their programs.
 */
import { execFileSync, spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { type LoadOptions, type LoadResult } from "./load.ts"
import { rows, scenarios } from "./scenarios.ts"
import { millis, printTable, whole } from "./table.ts"
import { freePort } from "../support/freePort.ts"
import { load, stop } from "../support/processes.ts"
import { processorTimes } from "../support/resources.ts"
import { ask, type Service } from "../support/service.ts"

const kinds = ["one row", "20 rows", "insert"] as const
type Request = Omit<LoadOptions, "seconds">
interface Peer extends AsyncDisposable {
  readonly name: string
  readonly pid: number
  readonly requests: Readonly<Record<(typeof kinds)[number], Request>>
}

const json = { "content-type": "application/json" }
const body = JSON.stringify({ title: "Water the plants", done: false })
const ids = Array.from({ length: 97 }, (_, n) => 1 + n * 101)

const running = async (program: string, options: ReadonlyArray<string>, env: NodeJS.ProcessEnv, url: string) => {
  const child = spawn(program, options, { env, stdio: ["ignore", "ignore", "inherit"], detached: true })
  const end = () => stop(child)
  for (let tries = 0; tries < 100; tries++) {
    if (await fetch(url).catch(() => undefined)) return { pid: child.pid ?? 0, end }
    await sleep(100)
  }
  await end()
  throw new Error(`${program} did not answer at ${url}`)
}

const service = ({ credentials, pid, url }: Service): Peer => {
  const of = (id: string): Request => {
    const scenario = scenarios.find((one) => one.id === id)
    if (scenario === undefined) throw new Error(`There is no scenario ${id}`)
    const { headers, method, paths } = scenario
    return { url, method, paths, headers: headers(credentials), ...(scenario.body && { body: scenario.body }) }
  }
  return {
    name: "svc",
    pid,
    requests: { "one row": of("a"), "20 rows": of("c"), insert: of("d") },
    [Symbol.asyncDispose]: async () => undefined
  }
}

const prest = async (program: string, { credentials, databaseUrl, url }: Service): Promise<Peer> => {
  const grant = "grant insert on bench_inserted to bench_driver"
  await ask(url, credentials.service, "/v1/sql", { sql: grant })
  const port = await freePort()
  const { hostname, password, pathname, port: pgPort, username } = new URL(databaseUrl)
  const own = `http://127.0.0.1:${port}`
  const { end, pid } = await running(
    program,
    [],
    {
      PATH: process.env["PATH"],
      PREST_HTTP_HOST: "127.0.0.1",
      PREST_HTTP_PORT: String(port),
      PREST_PG_HOST: hostname,
      PREST_PG_PORT: pgPort,
      PREST_PG_USER: username,
      PREST_PG_PASS: password,
      PREST_PG_DATABASE: pathname.slice(1),
      PREST_SSL_MODE: "disable",
      PREST_PG_SSL_MODE: "disable",
      PREST_PG_MAXOPENCONN: "32",
      PREST_PG_MAXIDLECONN: "32",
      PREST_ACCESS_RESTRICT: "false",
      PREST_AUTH_ENABLED: "false",
      PREST_CACHE_ENABLED: "false"
    },
    `${own}/_health`
  )
  const table = (name: string) => `/${pathname.slice(1)}/public/${name}`
  const get = (paths: ReadonlyArray<string>): Request => ({ url: own, method: "GET", paths, headers: {} })
  return {
    name: "pREST",
    pid,
    requests: {
      "one row": get(ids.map((id) => `${table("bench")}?id=${id}&_select=id,title,done`)),
      "20 rows": get(
        ids.map((id) => `${table("bench")}?id=$gt.${id}&_select=id,title,done&_order=id&_page_size=20&_page=1`)
      ),
      insert: { url: own, method: "POST", paths: [table("bench_inserted")], headers: json, body }
    },
    [Symbol.asyncDispose]: end
  }
}

const pocketBase = async (program: string): Promise<Peer> => {
  const directory = await mkdtemp(join(tmpdir(), "svc-bench-pocketbase-"))
  const [email, password] = ["bench@example.com", "a password of the bench"]
  const files = [`--dir=${directory}`]
  execFileSync(program, ["superuser", "upsert", email, password, ...files], { stdio: "ignore" })
  const own = `http://127.0.0.1:${await freePort()}`
  const { end, pid } = await running(
    program,
    ["serve", "--http", new URL(own).host, ...files],
    process.env,
    `${own}/api/health`
  )
  const call = async (path: string, content: object, token = "") => {
    const answer = await fetch(own + path, {
      method: "POST",
      headers: { ...json, authorization: token },
      body: JSON.stringify(content)
    })
    if (!answer.ok) throw new Error(`PocketBase: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as Readonly<Record<string, string>>
  }
  const { token = "" } = await call("/api/collections/_superusers/auth-with-password", { identity: email, password })
  const rules = { listRule: "", viewRule: "", createRule: "" }
  const fields = [
    { name: "title", type: "text" },
    { name: "done", type: "bool" }
  ]
  for (const name of ["bench", "bench_inserted"])
    await call("/api/collections", { name, type: "base", fields, ...rules }, token)
  const made: Array<string> = []
  for (let n = 0; n < rows; n += 50) {
    const some = Array.from({ length: 50 }, (_, k) => ({ title: `Task number ${n + k}`, done: (n + k) % 3 === 0 }))
    const answers = await Promise.all(some.map((one) => call("/api/collections/bench/records", one)))
    made.push(...answers.map(({ id = "" }) => id))
  }
  const get = (paths: ReadonlyArray<string>): Request => ({ url: own, method: "GET", paths, headers: {} })
  const records = "/api/collections/bench/records"
  return {
    name: "PocketBase",
    pid,
    requests: {
      "one row": get(ids.map((id) => `${records}/${made[id]}`)),
      "20 rows": get(ids.map((id) => `${records}?perPage=20&skipTotal=1&page=${1 + (id % 100)}`)),
      insert: { url: own, method: "POST", paths: ["/api/collections/bench_inserted/records"], headers: json, body }
    },
    [Symbol.asyncDispose]: async () => {
      await end()
      await rm(directory, { recursive: true, force: true })
    }
  }
}

/** Errors and empty responses are fast, and must not be measured. */
const check = async ({ name, requests }: Peer) => {
  for (const [kind, found] of [
    ["one row", 1],
    ["20 rows", 20],
    ["insert", 0]
  ] as const) {
    const { body, headers, method, paths, url } = requests[kind]
    const response = await fetch(url + (paths[0] ?? ""), { method, headers, ...(body && { body }) })
    const text = await response.text()
    if (!response.ok || text.split("Task number").length - 1 !== found)
      throw new Error(`${name}, ${kind}: ${response.status} ${text.slice(0, 300)}`)
  }
}

const mean = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0) / values.length

/** Returns the number of failures. */
export const measurePeers = async (measured: Service, seconds: number) => {
  const { SVC_BENCH_POCKETBASE, SVC_BENCH_PREST } = process.env
  await using others = new AsyncDisposableStack()
  const peers: Array<Peer> = [service(measured)]
  if (SVC_BENCH_PREST) peers.push(others.use(await prest(SVC_BENCH_PREST, measured)))
  if (SVC_BENCH_POCKETBASE) peers.push(others.use(await pocketBase(SVC_BENCH_POCKETBASE)))
  if (peers.length === 1) {
    console.log("\npeers: name their programs in SVC_BENCH_PREST and SVC_BENCH_POCKETBASE")
    return 0
  }
  for (const peer of peers) await check(peer)
  const lines: Array<ReadonlyArray<string>> = []
  let failures = 0
  for (const kind of kinds) {
    console.error(`peers: ${kind} …`)
    const results = new Map<Peer, Array<LoadResult & { readonly spent: number }>>(peers.map((peer) => [peer, []]))
    for (let slice = 0; slice < 3; slice++) {
      for (const peer of peers) {
        const before = await processorTimes(peer.pid)
        const result = await load({ ...peer.requests[kind], seconds: slice === 0 ? 1 : seconds })
        const after = await processorTimes(peer.pid)
        failures += result.failures
        // The first slice warms up.
        if (slice > 0) results.get(peer)?.push({ ...result, spent: after.service - before.service })
      }
    }
    const rateOf = (peer: Peer) => mean((results.get(peer) ?? []).map(({ rate }) => rate))
    for (const peer of peers) {
      const all = results.get(peer) ?? []
      const count = all.reduce((sum, one) => sum + one.count, 0)
      lines.push([
        kind,
        peer.name,
        whole(rateOf(peer)),
        whole((1e6 * all.reduce((sum, { spent }) => sum + spent, 0)) / count),
        millis(Math.max(...all.map(({ p99 }) => p99))),
        peer === peers[0] ? "" : `${(rateOf(peers[0] ?? peer) / rateOf(peer)).toFixed(2)} times`
      ])
    }
  }
  console.log("\npeers: in slices in turn; µs: processor time of the server for one response, without PostgreSQL\n")
  printTable(["", "", "a second", "µs", "p99 ms", "svc"], lines, 2)
  return failures
}
