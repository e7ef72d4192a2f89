import { readdir, readFile } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, it } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { call } from "../../support/workers.ts"
import { postmasterOf, startService, until } from "../../support/service.ts"

const perSecond = 120
const seconds = 20

/** The server's processes. */
const processesOf = async (postmaster: number) => {
  const all = (await readdir("/proc")).filter((name) => /^\d+$/.test(name))
  const statuses = await Promise.all(all.map((pid) => readFile(`/proc/${pid}/status`, "utf8").catch(() => "")))
  return [postmaster, ...all.filter((_, n) => statuses[n]?.includes(`PPid:\t${postmaster}\n`)).map(Number)]
}

it.runIf(process.platform === "linux")(
  "a suspended PostgreSQL: known flags are evaluated, all else fails within seconds, and nothing piles up",
  { timeout: 150_000 },
  async () => {
    await using service = await startService()
    const headers = { apikey: service.service_role }
    await sql(service, "create table things (id int)")
    const flag = {
      key: "f",
      type: "boolean",
      variants: { on: true, off: false },
      defaultVariant: "on",
      state: "ENABLED"
    }
    await ask(service, "POST /api/flags", { key: service.service_role, body: flag })
    const asks: ReadonlyArray<readonly [string, string, unknown]> = [
      ["POST", "/api/flags/evaluate", { flagKey: "f", context: {} }],
      ["GET", "/v1/db/things", undefined],
      ["POST", "/v1/db/things", { id: 1 }],
      ["POST", "/v1/sql", { sql: "select 1" }],
      ["GET", "/api/flags", undefined],
      ["GET", "/api/keys", undefined]
    ]
    const send = async (n: number) => {
      const [method, path, body] = asks[n % asks.length] as (typeof asks)[number]
      const from = Date.now()
      const { error, status } = await call(service, path, { method, headers, body, timeout: 60_000 })
      return { path, status, error, from, millis: Date.now() - from }
    }
    for (const { path, status } of await Promise.all(asks.map((_, n) => send(n))))
      assert.oneOf(status, [200, 201], path)
    const descriptors = async () => (await readdir(`/proc/${service.pid}/fd`)).length
    const before = await descriptors()

    const stopped = await processesOf(await postmasterOf(service))
    for (const pid of stopped) process.kill(pid, "SIGSTOP")
    const from = Date.now()
    const answers: Array<ReturnType<typeof send>> = []
    let most = 0
    try {
      for (let n = 0; n < seconds * perSecond; n++) {
        answers.push(send(n))
        if (n % perSecond === 0) most = Math.max(most, await descriptors())
        await sleep(Math.max(0, from + (n * 1000) / perSecond - Date.now()))
      }
      await Promise.all(answers)
    } finally {
      for (const pid of stopped) process.kill(pid, "SIGCONT")
    }
    const all = await Promise.all(answers)
    process.stdout.write(`Suspended: ${most} descriptors, slowest ${Math.max(...all.map(({ millis }) => millis))} ms\n`)
    for (const { error, path, status } of all)
      assert.oneOf(status, path.endsWith("evaluate") ? [200] : [503, 504], `${path} ${error}`)
    // Requests wait for 20 s at most, most of them for 4 s.
    assert.isBelow(most - before, 10 * perSecond)
    const recovered = await until(
      () => Promise.all(asks.map((_, n) => send(n))),
      (replies) => replies.every(({ status }) => status === 200 || status === 201)
    )
    for (const { path, status } of recovered) assert.oneOf(status, [200, 201], path)
  }
)
