/** The service under test: its own process, its own embedded PostgreSQL, thrown away afterwards. */
import { SignJWT } from "jose"
import { randomBytes, randomUUID } from "node:crypto"
import { readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { freePort, start, stop } from "./processes.ts"
import { type Credentials, type Scenario, setup, user } from "./scenarios.ts"

export interface Service {
  readonly url: string
  readonly pid: number
  readonly credentials: Credentials
  /** For the bare drivers: the same database, a login of their own. */
  readonly databaseUrl: string
  readonly stop: () => Promise<void>
}

/** A service on an empty database of its own must not see what this shell is set up for. */
const ours = /^(SVC_|DATABASE_URL|DASHBOARD_URL|PUBLIC_URL|OAUTH2_|IDP_|S3_|FLAGS_|OTEL_|PG)/

/** Starts the service, makes tables and credentials. `profileDir`: where a CPU profile is written at the end. */
export const startService = async (entry: string, profileDir: string | undefined): Promise<Service> => {
  const dataDir = join(tmpdir(), `svc-bench-${randomUUID()}`)
  const secret = randomBytes(32).toString("base64url")
  const [port, pgPort] = [await freePort(), await freePort()]
  const inherited = Object.entries(process.env).filter(([name]) => !ours.test(name))
  const child = start(
    entry,
    [],
    [
      "--max-semi-space-size=12", // as npm start
      ...(profileDir === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileDir}`])
    ],
    {
      ...Object.fromEntries(inherited),
      PORT: String(port),
      HOST: "127.0.0.1",
      SVC_DATA_DIR: dataDir,
      SVC_PG_PORT: String(pgPort),
      SVC_JWT_SECRET: secret,
      LOG_LEVEL: "Warn"
    }
  )
  let said = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-4000)))
  const end = async () => {
    await stop(child)
    await rm(dataDir, { recursive: true, force: true })
  }
  try {
    const url = `http://127.0.0.1:${port}`
    await ready(url, () => child.exitCode)
    const keys: Record<string, string> = JSON.parse(await readFile(join(dataDir, "keys.json"), "utf8"))
    const jwt = await new SignJWT({ role: "authenticated" })
      .setProtectedHeader({ alg: "HS256" })
      .setSubject(user)
      .setExpirationTime("1h")
      .sign(new TextEncoder().encode(secret))
    const credentials = { anon: keys["anon"] ?? "", service: keys["service_role"] ?? "", jwt }
    const password = randomBytes(16).toString("hex")
    await makeTables(url, credentials.service, password)
    const databaseUrl = `postgres://bench_driver:${password}@127.0.0.1:${pgPort}/postgres`
    return { url, pid: child.pid ?? 0, credentials, databaseUrl, stop: end }
  } catch (error) {
    await end()
    console.error(said)
    throw error
  }
}

/** The first start makes a database cluster, which takes a few seconds. */
const ready = async (url: string, exitCode: () => number | null) => {
  for (let tries = 0; tries < 600; tries++) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined)
    if (answer?.status === 200) return
    if (exitCode() !== null) throw new Error(`The service ended with ${exitCode()} before it was ready`)
    await sleep(100)
  }
  throw new Error("The service was not ready within a minute")
}

const makeTables = async (url: string, key: string, password: string) => {
  for (const sql of setup(password)) {
    const answer = await fetch(`${url}/v1/sql`, {
      method: "POST",
      headers: { apikey: key, "content-type": "application/json" },
      body: JSON.stringify({ sql })
    })
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()} to: ${sql}`)
  }
}

/** One request of a scenario, retried for a few seconds: the service hears of new tables a moment later. */
export const sample = async (service: Service, scenario: Scenario) => {
  let last = ""
  for (let tries = 0; tries < 50; tries++) {
    const response = await fetch(service.url + (scenario.paths[0] ?? ""), {
      method: scenario.method,
      headers: { ...scenario.headers(service.credentials), "accept-encoding": "identity" },
      ...(scenario.body === undefined ? {} : { body: scenario.body })
    })
    const body = await response.text()
    if (response.ok && scenario.right(body)) {
      // What node:http writes by itself is left to it.
      const own = new Set(["date", "connection", "keep-alive", "transfer-encoding"])
      const headers = Object.fromEntries([...response.headers].filter(([name]) => !own.has(name)))
      return { status: response.status, headers, body }
    }
    last = `${response.status} ${body.slice(0, 500)}`
    await sleep(100)
  }
  throw new Error(`Scenario ${scenario.id} does not answer as it should: ${last}`)
}
