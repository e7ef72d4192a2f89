import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, it } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { isWithout } from "../../support/skips.ts"
import { freePort } from "../../../bench/support/freePort.ts"
import { postmasterOf, type Service, startService, until } from "../../support/service.ts"

interface Message {
  readonly msg_id: number
  readonly read_ct: number
  readonly message: { readonly n: number }
}

/** What clients were told, and what they asked for. */
interface Journal {
  /** Numbers whose row and message were committed. */
  readonly sent: Set<number>
  readonly received: Map<number, number>
  /** Ids of messages that an acknowledgement was sent for, and those confirmed. */
  readonly asked: Set<number>
  readonly acked: Set<number>
  /** Ids of messages that were received after their acknowledgement was confirmed. */
  readonly undone: Array<number>
}

it("no committed message is lost, and none disappears that was not acknowledged, while the service and PostgreSQL are killed", async () => {
  const dataDir = await makeDataDir()
  const journal: Journal = { sent: new Set(), received: new Map(), asked: new Set(), acked: new Set(), undone: [] }
  let service: Service = await startService({ dataDir })
  const stop = new AbortController()
  const call = async (line: string, body: unknown) => {
    const reply = await ask(service, line, { key: service.service_role, body, signal: AbortSignal.timeout(30_000) })
    if (reply.status >= 300) throw new Error(reply.text)
    return reply.json
  }
  /** Does something over and over, whatever fails. */
  const repeatedly = async (once: () => Promise<unknown>) => {
    while (!stop.signal.aborted) await once().catch(() => sleep(50))
  }
  let n = 0
  const send = async () => {
    const own = ++n
    await call("POST /v1/sql/transaction", {
      statements: [
        { sql: "insert into rows_of (n) values ($1)", params: [own] },
        { sql: "select pgmq.send('loss', jsonb_build_object('n', $1::int))", params: [own] }
      ]
    })
    journal.sent.add(own)
    await sleep(5)
  }
  const consume = async () => {
    const messages = (await call("POST /v1/queues/loss/receive", { max: 5, visibility: 2, wait: 2 })) as Array<Message>
    for (const { message, msg_id } of messages) {
      if (journal.acked.has(msg_id)) journal.undone.push(msg_id)
      journal.received.set(message.n, msg_id)
    }
    if (messages.length === 0) return
    // Some consumers fail.
    const done = messages.filter(() => Math.random() < 0.8)
    if (done.length === 0) return
    for (const { msg_id } of done) journal.asked.add(msg_id)
    const { acked } = (await call("POST /v1/queues/loss/ack", { messages: done })) as { acked: Array<number> }
    for (const id of acked) journal.acked.add(id)
  }
  const more = async (count: number) => {
    const before = journal.acked.size
    assert.isTrue(
      await until(
        () => Promise.resolve(journal.acked.size >= before + count),
        (done) => done,
        60_000
      )
    )
  }
  try {
    await sql(service, "create table rows_of (n int primary key)")
    await call("POST /api/queues", { name: "loss" })
    const running = [
      ...Array.from({ length: 3 }, () => repeatedly(send)),
      ...Array.from({ length: 4 }, () => repeatedly(consume))
    ]
    await more(100)
    for (const kill of ["service", "postgres", "service"]) {
      if (kill === "service") {
        await service.stop("SIGKILL")
        service = await startService({ dataDir })
      } else process.kill(await postmasterOf(service), "SIGKILL")
      await more(100)
    }
    stop.abort()
    await Promise.all(running)
    const left = async () => Number((await sql(service, "select count(*)::int as n from pgmq.q_loss"))[0]?.["n"])
    assert.strictEqual(
      await until(
        async () => {
          await consume()
          return left()
        },
        (count) => count === 0,
        60_000
      ),
      0
    )

    const rows = (await sql(service, "select array_agg(n order by n) as all from rows_of"))[0]?.["all"] as Array<number>
    assert.isAbove(journal.sent.size, 300)
    assert.deepStrictEqual(
      [...journal.sent].filter((own) => !rows.includes(own)),
      [],
      "confirmed transactions"
    )
    const got = [...journal.received.keys()].toSorted((one, other) => one - other)
    assert.deepStrictEqual(got, rows, "a message for each row, and nothing else")
    assert.deepStrictEqual(
      [...journal.received.values()].filter((id) => !journal.asked.has(id)),
      [],
      "gone without an acknowledgement"
    )
    assert.deepStrictEqual(journal.undone, [], "confirmed acknowledgements")
  } finally {
    stop.abort()
    await service[Symbol.asyncDispose]()
    await removeDataDir(dataDir)
  }
}, 240_000)

it.skipIf(isWithout("deno"))(
  "a function processes every message, although the service is killed while it does",
  async () => {
    const dataDir = await makeDataDir()
    const folder = await mkdtemp(join(tmpdir(), "functions-"))
    await mkdir(join(folder, "store"))
    await writeFile(
      join(folder, "store", "index.ts"),
      `Deno.serve(async (request) => {
        const { messages } = await request.json()
        await new Promise((done) => setTimeout(done, 20))
        const headers = { apikey: Deno.env.get("SVC_SERVICE_KEY"), "content-type": "application/json" }
        const body = JSON.stringify(messages.map(({ message }) => ({ n: message, pid: Deno.pid })))
        return await fetch(Deno.env.get("SVC_URL") + "/v1/db/processed", { method: "POST", headers, body })
      })`
    )
    const env = { SVC_FUNCTIONS_DIR: folder, PORT: String(await freePort()) }
    let service: Service = await startService({ dataDir, env })
    const processed = async () =>
      (await sql(service, "select count(distinct n)::int as n, count(*)::int as all from processed"))[0] ?? {}
    try {
      await sql(service, "create table processed (n int, pid int)")
      const consumer = { function: "store", batch: 3, concurrency: 4, visibility: 2 }
      const made = await ask(service, "POST /api/queues", {
        key: service.service_role,
        body: { name: "work", consumer }
      })
      assert.strictEqual(made.status, 201, made.text)
      await sql(
        service,
        "select count(*) from pgmq.send_batch('work', array(select to_jsonb(n) from generate_series(1, 1000) n))"
      )
      for (const least of [50, 200, 400]) {
        await until(processed, ({ n }) => Number(n) >= least, 60_000)
        const [last] = await sql(service, "select pid from processed order by ctid desc limit 1")
        await service.stop("SIGKILL")
        // The process of the function has ended with the service's.
        const command = () => readFile(`/proc/${Number(last?.["pid"])}/cmdline`, "utf8").catch(() => "")
        assert.strictEqual(await until(command, (text) => text === ""), "")
        service = await startService({ dataDir, env })
      }
      await until(
        () => sql(service, "select count(*)::int as n from pgmq.q_work"),
        ([row]) => row?.["n"] === 0,
        60_000
      )
      const done = await processed()
      assert.strictEqual(done["n"], 1000)
      // Only the calls of those moments were made again: 12 messages each.
      assert.isAtMost(Number(done["all"]), 1000 + 3 * 12)
    } finally {
      await service[Symbol.asyncDispose]()
      await removeDataDir(dataDir)
      await rm(folder, { recursive: true, force: true })
    }
  },
  240_000
)
