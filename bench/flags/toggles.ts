/** Latency from a toggle to subscribed SDKs, at the same replica and at another one. */
import { FlagdProvider } from "@openfeature/flagd-provider"
import { type Client, OpenFeature, ProviderEvents } from "@openfeature/server-sdk"
import { randomUUID } from "node:crypto"
import { readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { now } from "../support/clock.ts"
import { newFlag } from "./rules.ts"
import { freePort } from "../support/freePort.ts"
import { start, stop } from "../support/processes.ts"
import { ask, defaultEntry, ready, type Service } from "../support/service.ts"
import { millis, percentiles, printTable } from "../rows/table.ts"

const key = "bench-toggle"

/** Another service on the same database. */
const replica = async ({ databaseUrl, dataDir }: Service) => {
  const own = join(tmpdir(), `svc-bench-${randomUUID()}`)
  const [port, s3, evaluation, ofrep, sync] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort()
  ]
  const secrets: Record<string, string> = JSON.parse(await readFile(join(dataDir, "secrets.json"), "utf8"))
  const owner = new URL(databaseUrl)
  owner.username = "postgres"
  owner.password = secrets["postgres_password"] ?? ""
  const child = start(defaultEntry, [], [], {
    PATH: process.env["PATH"] ?? "",
    PORT: String(port),
    SVC_DATA_DIR: own,
    S3_EMBEDDED_PORT: String(s3),
    FLAGS_PORT: String(evaluation),
    FLAGS_HTTP_PORT: String(ofrep),
    FLAGS_SYNC_PORT: String(sync),
    DATABASE_URL: owner.href,
    LOG_LEVEL: "Warn"
  })
  child.stdout.resume()
  await ready(`http://127.0.0.1:${port}`, () => child.exitCode)
  const end = async () => {
    await stop(child)
    await rm(own, { recursive: true, force: true })
  }
  return { evaluation, sync, end }
}

/** The client of an SDK; `seen` is the time of the first evaluation with the value. */
const follower = async (name: string, options: ConstructorParameters<typeof FlagdProvider>[0]) => {
  await OpenFeature.setProviderAndWait(name, new FlagdProvider(options))
  const client = OpenFeature.getClient(name)
  return { name, seen: (wanted: boolean) => changed(client, wanted) }
}

const changed = (client: Client, wanted: boolean) =>
  new Promise<number>((done) => {
    const look = async () => {
      if ((await client.getBooleanValue(key, !wanted)) !== wanted) return
      client.removeHandler(ProviderEvents.ConfigurationChanged, look)
      done(now())
    }
    client.addHandler(ProviderEvents.ConfigurationChanged, look)
  })

export const measureToggles = async (service: Service, quick: boolean) => {
  const { credentials, flagPorts, url } = service
  await ask(url, credentials.service, "/api/flags", { ...newFlag(key, {}), defaultVariant: "off" })
  const other = await replica(service)
  try {
    const host = "127.0.0.1"
    const followers = [
      await follower("in-process", { host, port: flagPorts.sync, resolverType: "in-process" }),
      await follower("RPC", { host, port: flagPorts.evaluation, resolverType: "rpc" }),
      await follower("in-process, other replica", { host, port: other.sync, resolverType: "in-process" }),
      await follower("RPC, other replica", { host, port: other.evaluation, resolverType: "rpc" })
    ]
    const count = quick ? 20 : 200
    const times = new Map(followers.map(({ name }) => [name, new Float32Array(count)]))
    const answers = new Float32Array(count)
    for (let n = 0; n < count; n++) {
      const on = n % 2 === 0
      const seen = followers.map(async ({ name, seen }) => ({ name, at: await seen(on) }))
      const began = now()
      const answer = await fetch(`${url}/api/flags/${key}`, {
        method: "PUT",
        headers: { apikey: credentials.service, "content-type": "application/json" },
        body: JSON.stringify({ defaultVariant: on ? "on" : "off" })
      })
      if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
      answers[n] = now() - began
      for (const { at, name } of await Promise.all(seen)) times.get(name)?.fill(at - began, n, n + 1)
      await sleep(20)
    }
    const row = (name: string, of: Float32Array) => {
      const { max, p50, p95 } = percentiles(of)
      return [name, millis(p50), millis(p95), millis(max)]
    }
    console.log(
      `\nd: from the request of a change, ${count} times; targets: p95 under 50 here, under 200 at a replica\n`
    )
    const rows = [row("answered", answers), ...Array.from(times, ([name, of]) => row(name, of))]
    printTable(["seen by", "p50 ms", "p95", "max"], rows, 1)
    return true
  } finally {
    await OpenFeature.close()
    await other.end()
  }
}
