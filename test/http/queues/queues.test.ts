import { execFile } from "node:child_process"
import { mkdtemp, readFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, type Reply, type Request, sql } from "../../support/client.ts"
import { hs256 } from "../../support/access/jwts.ts"
import { until } from "../../support/service.ts"
import { isWithout } from "../../support/skips.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService
beforeAll(async () => {
  service = await serveInProcess({ SVC_SUPABASE: "true", SVC_DB_SCHEMAS: "public,pgmq_public" })
})
afterAll(() => service[Symbol.asyncDispose]())

const manage = (line: string, body?: unknown) => ask(service, line, { key: service.service_role, body })
const call = (queue: string, verb: string, body: unknown, request: Request = {}) =>
  ask(service, `POST /v1/queues/${queue}/${verb}`, { key: service.service_role, body, ...request })
interface Message {
  readonly msg_id: number
  readonly read_ct: number
  readonly message: unknown
  readonly headers: unknown
  readonly last_read_at: string
}
const messages = ({ json, status, text }: Reply) => {
  assert.strictEqual(status, 200, text)
  return json as ReadonlyArray<Message>
}
const idsOf = (reply: Reply) => messages(reply).map(({ msg_id }) => msg_id)
const created = async (name: string, more = {}) => {
  const reply = await manage("POST /api/queues", { name, ...more })
  assert.strictEqual(reply.status, 201, reply.text)
}
const refused = (reply: Reply, status: number, code: string) =>
  assert.deepStrictEqual([reply.status, (reply.json as { code?: string }).code], [status, code], reply.text)

describe("messages", () => {
  it("are sent, received, extended, returned and acknowledged", async () => {
    await created("orders")
    assert.deepStrictEqual((await call("orders", "send", { message: { n: 1 } })).json, { ids: [1] })
    const many = {
      messages: [
        { message: 2, headers: { a: 1 } },
        { message: null, group: "g" }
      ],
      delay: 0
    }
    const sent = await call("orders", "send", many)
    assert.deepStrictEqual([sent.status, sent.json], [201, { ids: [2, 3] }])
    const got = messages(await call("orders", "receive", { max: 10 }))
    assert.deepStrictEqual(
      got.map(({ headers, message, msg_id, read_ct }) => [msg_id, read_ct, message, headers]),
      [
        [1, 1, { n: 1 }, null],
        [2, 1, 2, { a: 1 }],
        [3, 1, null, { "x-pgmq-group": "g" }]
      ]
    )
    assert.deepStrictEqual((await call("orders", "receive", {})).json, [])
    assert.deepStrictEqual((await call("orders", "extend", { messages: got.slice(0, 2), visibility: 0 })).json, {
      extended: [1, 2]
    })
    const again = messages(await call("orders", "receive", { max: 1 }))
    // The first receiver's receipt is of an earlier reading.
    assert.deepStrictEqual((await call("orders", "ack", { messages: [got[0]] })).json, { acked: [] })
    assert.deepStrictEqual((await call("orders", "extend", { messages: [got[0]], visibility: 9 })).json, {
      extended: []
    })
    assert.deepStrictEqual((await call("orders", "ack", { messages: again })).json, { acked: [1] })
    assert.deepStrictEqual((await call("orders", "ack", { messages: again })).json, { acked: [] })
    const kept = { messages: [{ msg_id: 3 }, { msg_id: 99 }], archive: true }
    assert.deepStrictEqual((await call("orders", "ack", kept)).json, { acked: [3] })
    const archive = messages(await manage("GET /api/queues/orders/messages?place=archive"))
    assert.deepStrictEqual(
      archive.map(({ last_read_at, msg_id }) => [msg_id, last_read_at]),
      [[3, got[2]?.last_read_at]]
    )
    assert.match(String(got[2]?.last_read_at), /^\d{4}-/)
  })

  it("keep numbers as they were sent", async () => {
    await created("exact")
    const text = '{"message":{"n":12345678901234567890.10}}'
    assert.strictEqual((await call("exact", "send", text)).status, 201)
    assert.include((await call("exact", "receive", {})).text, "12345678901234567890.10")
    const byManagement = await ask(service, "POST /api/queues/exact/messages", {
      key: service.service_role,
      body: text,
      headers: { "content-type": "application/json" }
    })
    assert.strictEqual(byManagement.status, 201, byManagement.text)
    assert.include((await manage("GET /api/queues/exact/messages")).text, "12345678901234567890.10")
  })

  it("of two acknowledgements at once, one counts", async () => {
    await created("twice")
    await call("twice", "send", { messages: Array.from({ length: 50 }, (_, n) => ({ message: n })) })
    const got = messages(await call("twice", "receive", { max: 50 }))
    const replies = await Promise.all(Array.from({ length: 4 }, () => call("twice", "ack", { messages: got })))
    const acked = replies.flatMap(({ json }) => (json as { acked: ReadonlyArray<number> }).acked)
    assert.deepStrictEqual(
      acked.toSorted((one, other) => one - other),
      got.map(({ msg_id }) => msg_id)
    )
  })

  it("are refused with a clear error where the request is wrong", async () => {
    await created("strict")
    refused(await call("none", "send", { message: 1 }), 404, "QUEUE_NOT_FOUND")
    refused(await call("a%22b", "send", { message: 1 }), 404, "QUEUE_NOT_FOUND")
    refused(await call("x".repeat(48), "receive", {}), 404, "QUEUE_NOT_FOUND")
    for (const body of [
      {},
      { message: 1, delay: -1 },
      '{"message":1,"delay":NaN}',
      { message: 1, delay: 1e12 },
      { message: 1, group: "" },
      { messages: [] },
      { messages: [{}] },
      { messages: Array.from({ length: 1001 }, () => ({ message: 1 })) },
      { message: 1, dely: 1 },
      "[]",
      "{"
    ]) {
      const reply = await call("strict", "send", body)
      assert.strictEqual(reply.status, 400, `${JSON.stringify(body).slice(0, 80)} ${reply.text}`)
    }
    assert.strictEqual((await call("strict", "send", '{"message":"\\u0000"}')).status, 400)
    assert.strictEqual((await call("strict", "send", { message: "x".repeat(1024 * 1024) })).status, 413)
    for (const body of [{ max: 0 }, { max: 101 }, { visibility: -1 }, { wait: 21 }, { wait: 0.5 }]) {
      assert.strictEqual((await call("strict", "receive", body)).status, 400, JSON.stringify(body))
    }
    for (const body of [{ messages: [{ msg_id: 0 }] }, { messages: [{ msg_id: "1" }] }, {}]) {
      assert.strictEqual((await call("strict", "ack", body)).status, 400, JSON.stringify(body))
    }
    assert.strictEqual((await ask(service, "POST /v1/queues/strict/send", { body: { message: 1 } })).status, 401)
  })

  it("are for other callers what grants and policies allow", async () => {
    await created("inbox")
    const payload = JSON.stringify({ sub: "ann", exp: Math.floor(Date.now() / 1000) + 600 })
    const token = hs256(payload, undefined, service.jwtSecret)
    const ann = { key: service.anon, token }
    for (const [verb, body] of [
      ["send", { message: 1 }],
      ["receive", {}],
      ["ack", { messages: [{ msg_id: 1 }] }],
      ["extend", { messages: [{ msg_id: 1 }], visibility: 0 }]
    ] as const) {
      refused(await call("inbox", verb, body, ann), 403, "42501")
      refused(await call("inbox", verb, body, { key: service.anon }), 401, "42501")
    }
    refused(await ask(service, "GET /api/queues", ann), 403, "FORBIDDEN")
    await sql(service, "grant select, insert, update, delete on pgmq.q_inbox to authenticated")
    await sql(
      service,
      "create policy own on pgmq.q_inbox to authenticated using (message ->> 'to' = auth.sub()) with check (message ->> 'to' = auth.sub())"
    )
    await call("inbox", "send", { message: { to: "bob" } })
    assert.deepStrictEqual((await call("inbox", "receive", {}, ann)).json, [])
    refused(await call("inbox", "send", { message: { to: "bob" } }, ann), 403, "42501")
    assert.deepStrictEqual((await call("inbox", "ack", { messages: [{ msg_id: 1 }] }, ann)).json, { acked: [] })
    const waiting = call("inbox", "receive", { wait: 20 }, ann)
    const other = call("inbox", "receive", { wait: 20 })
    assert.deepStrictEqual(idsOf(await other), [1])
    await call("inbox", "send", { message: { to: "ann" } }, ann)
    assert.strictEqual(messages(await waiting).length, 1)
  })
})

describe("a long poll", () => {
  it("gets a message as soon as it is sent, delayed, returned, or expires", async () => {
    await created("poll")
    const receive = () => call("poll", "receive", { wait: 20, visibility: 1 })
    const waiting = receive()
    await call("poll", "send", { message: 1 })
    assert.deepStrictEqual(idsOf(await waiting), [1])
    // Visible again after a second.
    assert.deepStrictEqual(idsOf(await receive()), [1])
    await call("poll", "ack", { messages: [{ msg_id: 1 }] })
    const bySql = receive()
    await sql(service, "select pgmq.send('poll', '2', 1)")
    assert.deepStrictEqual(idsOf(await bySql), [2])
    await sql(service, "select pgmq.set_vt('poll', 2, 600)")
    const returned = receive()
    await sql(service, "select pgmq.set_vt('poll', 2, 0)")
    assert.deepStrictEqual(idsOf(await returned), [2])
    assert.deepStrictEqual((await call("poll", "receive", { wait: 0 })).json, [])
  })

  it("of a client that has disconnected takes no message", async () => {
    await created("gone")
    const controllers = Array.from({ length: 20 }, () => new AbortController())
    const polls = controllers.map(({ signal }) =>
      call("gone", "receive", { wait: 20, visibility: 600 }, { signal }).catch(() => undefined)
    )
    await call("gone", "receive", { wait: 1 })
    for (const controller of controllers) controller.abort()
    await Promise.all(polls)
    await call("gone", "send", { message: 1 })
    assert.deepStrictEqual(idsOf(await call("gone", "receive", { wait: 20 })), [1])
  })

  it("is one of hundreds that hold no connection, and each message goes to one", async () => {
    await created("crowd")
    const polls = Array.from({ length: 300 }, () => call("crowd", "receive", { wait: 20, visibility: 600 }))
    // Others are served meanwhile.
    assert.deepStrictEqual(await sql(service, "select 1 as one"), [{ one: 1 }])
    await call("crowd", "send", { messages: Array.from({ length: 300 }, (_, n) => ({ message: n })) })
    const got = (await Promise.all(polls)).flatMap(idsOf)
    assert.deepStrictEqual(
      got.toSorted((one, other) => one - other),
      Array.from({ length: 300 }, (_, n) => n + 1)
    )
  })

  it("keeps the order of groups", async () => {
    await created("line")
    await call("line", "send", { messages: [1, 2].map((message) => ({ message, group: "a" })) })
    assert.deepStrictEqual(idsOf(await call("line", "receive", { grouped: true })), [1])
    const next = call("line", "receive", { grouped: true, wait: 20 })
    await call("line", "ack", { messages: [{ msg_id: 1 }] })
    assert.deepStrictEqual(idsOf(await next), [2])
  })
})

describe("management", () => {
  it("creates, changes, lists, purges and deletes queues, and records it", async () => {
    await created("jobs", { unlogged: true, max_reads: 1 })
    refused(await manage("POST /api/queues", { name: "Jobs" }), 409, "QUEUE_EXISTS")
    assert.strictEqual((await manage("POST /api/queues", { name: "no.good" })).status, 400)
    assert.strictEqual((await manage("POST /api/queues", { name: "x".repeat(43), max_reads: 1 })).status, 400)
    assert.strictEqual((await manage("PATCH /api/queues/jobs", { max_reads: 0 })).status, 400)
    await manage("POST /api/queues/jobs/messages", { message: "bad", headers: { h: 1 } })
    await manage("POST /api/queues/jobs/messages", { message: "later", delay: 60 })
    await call("jobs", "receive", { visibility: 0 })
    assert.deepStrictEqual((await call("jobs", "receive", {})).json, [])
    const numbers = async () => {
      const { created_at, oldest_age, ...rest } = (await manage("GET /api/queues/jobs")).json as Record<string, unknown>
      assert.match(String(created_at), /^\d{4}-.*Z$/)
      assert.isAtLeast(Number(oldest_age), 0)
      return rest
    }
    const counts = {
      name: "jobs",
      unlogged: true,
      max_reads: 1,
      depth: 1,
      visible: 0,
      in_flight: 0,
      dead: 1,
      exact: true,
      consumer: null
    }
    assert.deepStrictEqual(await numbers(), counts)
    const dead = messages(await manage("GET /api/queues/jobs/messages?place=dead"))
    assert.deepInclude(dead[0]?.headers, { h: 1 })
    assert.deepStrictEqual((await manage("POST /api/queues/jobs/put-back", { msg_ids: [999] })).json, { count: 0 })
    assert.deepStrictEqual((await manage("POST /api/queues/jobs/put-back", {})).json, { count: 1 })
    assert.deepStrictEqual(
      messages(await call("jobs", "receive", {})).map(({ headers, message }) => [message, headers]),
      [["bad", { h: 1 }]]
    )
    assert.deepInclude((await manage("PATCH /api/queues/jobs", { max_reads: null })).json, { max_reads: null })
    assert.deepStrictEqual((await manage("POST /api/queues/jobs/purge")).json, { count: 2 })
    const names = ((await manage("GET /api/queues")).json as ReadonlyArray<{ name: string }>).map(({ name }) => name)
    assert.includeMembers(names, ["jobs", "jobs_dead"])
    assert.strictEqual((await manage("DELETE /api/queues/jobs")).status, 200)
    refused(await manage("DELETE /api/queues/jobs"), 404, "QUEUE_NOT_FOUND")
    refused(await manage("POST /api/queues/jobs/put-back", {}), 404, "QUEUE_NOT_FOUND")
    const { entries } = (await manage("GET /api/audit?subject=queue:jobs")).json as {
      entries: ReadonlyArray<{ action: string; outcome: string }>
    }
    const done = entries.filter(({ outcome }) => outcome === "done").map(({ action }) => action)
    assert.includeMembers(done, ["queue.create", "queue.update", "queue.purge", "queue.put_back", "queue.remove"])
  })
})

describe("numbers", () => {
  it("of long queues are estimates, in a time that does not grow with them", async () => {
    await created("long", { max_reads: 1 })
    const send = (queue: string, from: number, to: number, delay: number) =>
      sql(
        service,
        `select count(*) from pgmq.send_batch('${queue}', array(select to_jsonb(n) from generate_series(${from}, ${to}) n), ${delay})`
      )
    const numbers = async () => (await manage("GET /api/queues/long")).json as Record<string, unknown>
    await send("long", 1, 10_000, 0)
    await send("long", 1, 50, 600)
    await sql(service, "delete from pgmq.q_long where msg_id <= 50")
    assert.deepInclude(await numbers(), { exact: true, depth: 10_000, visible: 9_950, in_flight: 0, dead: 0 })
    await send("long", 10_001, 30_000, 0)
    // Never analysed, and then analysed.
    assert.deepInclude(await numbers(), { exact: false, depth: 30_000, visible: 29_950 })
    await sql(service, "delete from pgmq.q_long where msg_id > 100 and msg_id <= 10050")
    await sql(service, "vacuum analyze pgmq.q_long").catch(() => undefined)
    const { depth, exact } = await numbers()
    assert.strictEqual(exact, false)
    assert.isAtLeast(Number(depth), 10_000)
    assert.isAtMost(Number(depth), 30_000)
  })
})

describe("a consumer", () => {
  it("is set, changed and removed with its queue, and recorded", async () => {
    const consumer = { function: "mail", batch: 10, concurrency: 2, visibility: 60, grouped: true }
    await created("consumed", { consumer })
    assert.deepInclude((await manage("GET /api/queues/consumed")).json, { consumer })
    const changed = await manage("PATCH /api/queues/consumed", { consumer: { function: "other" } })
    const defaults = { function: "other", batch: 1, concurrency: 1, visibility: 30, grouped: false }
    assert.deepInclude(changed.json, { consumer: defaults, max_reads: null })
    for (const wrong of [
      { function: "../etc" },
      { function: "mail", batch: 0 },
      { function: "mail", batch: 101 },
      { function: "mail", concurrency: 0 },
      { function: "mail", visibility: 0 },
      { function: "mail", visibility: 86_401 },
      { function: "mail", more: 1 },
      { batch: 1 },
      "mail"
    ]) {
      const reply = await manage("PATCH /api/queues/consumed", { consumer: wrong })
      assert.strictEqual(reply.status, 400, `${JSON.stringify(wrong)} ${reply.text}`)
    }
    refused(await manage("PATCH /api/queues/nowhere", { consumer }), 404, "QUEUE_NOT_FOUND")
    assert.deepInclude((await manage("PATCH /api/queues/consumed", { consumer: null })).json, { consumer: null })
    await manage("PATCH /api/queues/consumed", { consumer })
    await manage("DELETE /api/queues/consumed")
    assert.deepStrictEqual(await sql(service, "select count(*)::int as n from svc.queue_consumers"), [{ n: 0 }])
    await created("consumed")
    assert.deepInclude((await manage("GET /api/queues/consumed")).json, { consumer: null })
    const { entries } = (await manage("GET /api/audit?subject=queue:consumed")).json as {
      entries: ReadonlyArray<{ after: unknown }>
    }
    assert.isTrue(entries.some(({ after }) => JSON.stringify(after).includes('"function":"other"')))
  })
})

describe("a branch", () => {
  it("has queues of its own, in which a request waits as well", async () => {
    await created("branched")
    await call("branched", "send", { message: "of main" })
    const made = await manage("POST /api/branches", { label: "queues", ttlHours: 1 })
    assert.strictEqual(made.status, 201, made.text)
    const headers = { "x-svc-branch": String((made.json as { id: number }).id) }
    const own = messages(await call("branched", "receive", { visibility: 600 }, { headers }))
    assert.deepStrictEqual(
      own.map(({ message }) => message),
      ["of main"]
    )
    const waiting = call("branched", "receive", { wait: 20 }, { headers })
    await call("branched", "send", { message: "of the branch" }, { headers })
    assert.deepStrictEqual(
      messages(await waiting).map(({ message }) => message),
      ["of the branch"]
    )
    assert.deepStrictEqual(
      messages(await call("branched", "receive", { max: 9 })).map(({ message }) => message),
      ["of main"]
    )
    refused(await call("branched", "send", { message: 1 }, { key: service.anon, headers }), 403, "BRANCH_CLOSED")
  })
})

describe("Supabase's clients", () => {
  it("send and read by pgmq_public", async () => {
    await created("todo")
    const rpc = async (name: string, body: unknown) => {
      const reply = await ask(service, `POST /v1/db/rpc/${name}`, {
        key: service.service_role,
        body,
        headers: { "content-profile": "pgmq_public" }
      })
      assert.strictEqual(reply.status, 200, reply.text)
      return reply.json
    }
    assert.deepStrictEqual(await rpc("send", { queue_name: "todo", message: { a: 1 }, sleep_seconds: 0 }), [1])
    assert.deepStrictEqual(await rpc("send_batch", { queue_name: "todo", messages: [{ a: 2 }, { a: 3 }] }), [2, 3])
    const [first] = (await rpc("read", { queue_name: "todo", sleep_seconds: 30, n: 1 })) as ReadonlyArray<Message>
    assert.deepInclude(first, { msg_id: 1, read_ct: 1, message: { a: 1 } })
    assert.deepInclude(((await rpc("pop", { queue_name: "todo" })) as ReadonlyArray<Message>)[0], { msg_id: 2 })
    assert.strictEqual(await rpc("archive", { queue_name: "todo", message_id: 1 }), true)
    assert.strictEqual(await rpc("delete", { queue_name: "todo", message_id: 3 }), true)
  })
})

describe("docs/queues.md", () => {
  it.skipIf(isWithout("deno"))(
    "has a function consume messages",
    async () => {
      const [, section = ""] = (await readFile("docs/queues.md", "utf8")).split("## Functions as consumers")
      const [, script = ""] = /```sh\n(.*?)```/s.exec(section) ?? []
      const env = { ...process.env, URL: service.url, SERVICE_KEY: service.service_role }
      const { stdout } = await promisify(execFile)("timeout", ["30", "bash", "-e", "-c", script], {
        env,
        cwd: await mkdtemp(join(tmpdir(), "queues-"))
      })
      assert.include(stdout, "Welcome, Ann!")
      const left = () => manage("GET /api/queues/welcomes")
      const reply = await until(left, ({ json }) => (json as { depth: number }).depth === 0)
      assert.deepInclude(reply.json, { depth: 0, dead: 0 })
    },
    40_000
  )

  it("has a quick start that works as it is written", async () => {
    const [, start = ""] = (await readFile("docs/queues.md", "utf8")).split(/^## /m)
    const blocks = [...start.matchAll(/```(sh|sql)\n(.*?)```/gs)].map(([, kind, text = ""]) => ({ kind, text }))
    assert.deepStrictEqual(
      blocks.map(({ kind }) => kind),
      ["sh", "sql", "sh"]
    )
    const env = { ...process.env, URL: service.url, SERVICE_KEY: service.service_role }
    let output = ""
    for (const { kind, text } of blocks) {
      if (kind === "sh") output = (await promisify(execFile)("bash", ["-e", "-c", text], { env })).stdout
      else
        for (const statement of text.split(/;\n\n(?!.*\$\$;)|;\n$/).filter((one) => one.trim() !== ""))
          await sql(service, statement)
    }
    assert.match(output, /"message":\{"to": "ann@example.com", "order": 1\}.*\{"acked" : \[1\]\}/s)
    assert.deepInclude((await manage("GET /api/queues/mails")).json, { depth: 0, max_reads: 5 })
  })
})

describe("a schema pgmq that is not the service's own", () => {
  it("is refused with what it lacks", async () => {
    await sql(service, "alter schema pgmq rename to away")
    await sql(service, "create schema pgmq")
    refused(await manage("GET /api/queues"), 501, "QUEUE_EXTENSION")
    refused(await manage("POST /api/queues", { name: "new" }), 501, "QUEUE_EXTENSION")
    refused(await call("orders", "send", { message: 1 }), 404, "QUEUE_NOT_FOUND")
    refused(await call("orders", "receive", {}), 404, "QUEUE_NOT_FOUND")
    await sql(
      service,
      "create table pgmq.meta (queue_name varchar, is_partitioned boolean, is_unlogged boolean, created_at timestamptz)"
    )
    assert.deepStrictEqual((await manage("GET /api/queues")).json, [])
    refused(await manage("POST /api/queues", { name: "new" }), 501, "QUEUE_EXTENSION")
    refused(await manage("POST /api/queues", { name: "new", max_reads: 2 }), 501, "QUEUE_EXTENSION")
    await sql(service, "drop schema pgmq cascade")
    await sql(service, "alter schema away rename to pgmq")
    assert.strictEqual((await manage("GET /api/queues")).status, 200)
  })
})
