/**
 * `npm run bench:functions`: the first and later calls of functions, compared to the same code in `deno run` alone, and
 * what runs of schedules cost. Exit code 1 if a call fails or a run is missing.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { Agent, request } from "node:http"
import { cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { findDeno } from "../../src/layers/functions/Program.ts"
import { median, millis, percentiles, printTable, whole } from "../rows/table.ts"
import { freePort } from "../support/freePort.ts"
import { runProgram } from "../support/program.ts"
import { processorTime } from "../support/resources.ts"
import { type Service } from "../support/service.ts"

const help = `npm run bench:functions -- [options]
  --only a,b      only these parts: a b c
  --quick         fewer calls, for a first look
  --cpu-prof      the service writes a CPU profile when it ends
  --entry FILE    the service's program (default dist/main.mjs)

  a  the first call of a function, beside the start of deno run and its first answer
  b  calls of a running function, beside deno run
  c  schedules that run SQL each second`

const code = `Deno.serve(async (request) => {
  const { name } = await request.json()
  return Response.json({ message: "Hello " + name + "!" })
})`
const body = JSON.stringify({ name: "Ann" })
/** Connections that call at the same time. */
const connections = 16

const deno = findDeno(process.env["SVC_FUNCTIONS_DENO"])

/** One call; fails unless the answer is that of the function. */
const call = (url: string, headers: Readonly<Record<string, string>>, agent?: Agent) =>
  new Promise<void>((resolve, reject) => {
    const options = { method: "POST", headers: { ...headers, "content-length": Buffer.byteLength(body) }, agent }
    const sent = request(url, options, (response) => {
      let answer = ""
      response.setEncoding("utf8").on("data", (piece: string) => (answer += piece))
      response.on("end", () =>
        answer === '{"message":"Hello Ann!"}' ? resolve() : reject(new Error(`${response.statusCode} ${answer}`))
      )
    })
    sent.on("error", reject).end(body)
  })

/** The same code in Deno alone, on a port of its own. */
const startAlone = async (file: string) => {
  const port = await freePort()
  const child = spawn(deno ?? "deno", ["run", "--no-prompt", "--quiet", "--allow-net", file], {
    env: { DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}`, DENO_NO_UPDATE_CHECK: "1", DENO_DIR: join(file, "../cache") },
    stdio: "ignore"
  })
  return { child, url: `http://127.0.0.1:${port}/` }
}
const ended = (child: ChildProcess) =>
  new Promise((resolve) => {
    child.once("exit", resolve)
    child.kill("SIGKILL")
  })

/** Milliseconds until the call succeeds, repeated while nothing listens. */
const untilAnswered = async (url: string) => {
  const started = performance.now()
  for (;;) {
    const answered = await call(url, {}).then(
      () => true,
      () => false
    )
    if (answered) return performance.now() - started
    await sleep(2)
  }
}

const cold = async (service: Service, headers: Readonly<Record<string, string>>, file: string, times: number) => {
  console.error("a first calls …")
  const [own, alone]: [Array<number>, Array<number>] = [[], []]
  for (let n = 0; n < times; n++) {
    await deploy(service, `cold${n}`)
    const started = performance.now()
    await call(`${service.url}/v1/functions/cold${n}`, headers)
    own.push(performance.now() - started)
    const { child, url } = await startAlone(file)
    alone.push(await untilAnswered(url))
    await ended(child)
  }
  console.log(
    `\na, median of ${times}: first call of a function ${millis(median(own))} ms, deno run until its first answer ${millis(median(alone))} ms`
  )
}

const deploy = async ({ credentials, url }: Service, name: string) => {
  const response = await fetch(`${url}/api/functions/${name}`, {
    method: "PUT",
    headers: { apikey: credentials.service, "content-type": "application/json" },
    body: JSON.stringify({ files: { "index.ts": code } })
  })
  if (!response.ok) throw new Error(await response.text())
}

const warm = async (
  title: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  count: number,
  pid: number
): Promise<ReadonlyArray<string>> => {
  console.error(`${title} …`)
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  await Promise.all(Array.from({ length: connections }, () => call(url, headers, agent)))
  const times = new Float32Array(count)
  let next = 0
  const [before, started] = [await processorTime(pid), performance.now()]
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (let n = next++; n < count; n = next++) {
        const begun = performance.now()
        await call(url, headers, agent)
        times[n] = performance.now() - begun
      }
    })
  )
  const seconds = (performance.now() - started) / 1000
  const processor = (await processorTime(pid)) - before
  agent.destroy()
  const { p50, p99 } = percentiles(times)
  return [title, whole(count), whole(count / seconds), millis(p50), millis(p99), millis((processor * 1e6) / count)]
}

const schedules = async ({ credentials, pid, url }: Service, count: number, seconds: number) => {
  console.error("c schedules …")
  const manage = async (path: string, method = "GET", payload?: object) => {
    const response = await fetch(`${url}/api/schedules${path}`, {
      method,
      headers: { apikey: credentials.service, "content-type": "application/json" },
      ...(payload !== undefined && { body: JSON.stringify(payload) })
    })
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as unknown
  }
  const ids: Array<number> = []
  for (let n = 0; n < count; n++) {
    const given = { name: `bench ${n}`, cron: "* * * * * *", target: { type: "sql", sql: "select 1" } }
    ids.push(((await manage("", "POST", given)) as { id: number }).id)
  }
  await sleep(2_000)
  const from = Math.ceil(Date.now() / 1000) * 1000
  const before = await processorTime(pid)
  await sleep(seconds * 1000)
  const processor = (await processorTime(pid)) - before
  await sleep(2_000)
  const delays: Array<number> = []
  for (const id of ids) {
    const runs = (await manage(`/${id}/runs?limit=500`)) as ReadonlyArray<{
      readonly scheduled_at: string
      readonly started_at: string | null
      readonly status: string
    }>
    for (const { scheduled_at, started_at, status } of runs) {
      const at = Date.parse(scheduled_at)
      if (status === "succeeded" && started_at !== null && at >= from && at < from + (seconds - 1) * 1000)
        delays.push(Date.parse(started_at) - at)
    }
    await manage(`/${id}`, "DELETE")
  }
  const expected = count * (seconds - 1)
  const { p50, p99 } = percentiles(Float32Array.from(delays))
  console.log(
    `\nc, ${count} schedules of SQL each second: ${whole(delays.length)} of ${whole(expected)} runs, begun ${millis(p50)} ms after their time (p99 ${millis(p99)}), ${millis((processor * 1e6) / (count * seconds))} µs of the service each`
  )
  return delays.length < expected ? 1 : 0
}

const run = async (service: Service, wants: (part: string) => boolean, quick: boolean) => {
  if (deno === undefined) throw new Error("Run npm install deno, or set SVC_FUNCTIONS_DENO to its program")
  console.log(`Node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before`)
  const directory = await mkdtemp(join(tmpdir(), "svc-bench-functions-"))
  const file = join(directory, "index.ts")
  await writeFile(file, code)
  const headers = { apikey: service.credentials.service, "content-type": "application/json" }
  try {
    if (wants("a")) await cold(service, headers, file, quick ? 3 : 10)
    if (wants("b")) {
      await deploy(service, "warm")
      const { child, url } = await startAlone(file)
      await untilAnswered(url)
      const count = quick ? 2_000 : 20_000
      const rows = [
        await warm("b deno run", url, {}, count, child.pid ?? 0),
        await warm("b function", `${service.url}/v1/functions/warm`, headers, count, service.pid),
        await warm("b deno run", url, {}, count, child.pid ?? 0)
      ]
      await ended(child)
      console.log()
      printTable(["", "calls", "per second", "p50 ms", "p99 ms", "µs of the process each"], rows, 1)
    }
    return wants("c") ? await schedules(service, quick ? 5 : 20, quick ? 5 : 15) : 0
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

await runProgram({ help, parts: "abc", service: { setup: () => [], env: { SVC_FUNCTIONS_HOSTS: "*" } }, run })
