/**
 * `npm run bench:queues`: messages a second that are sent, received and acknowledged over HTTP, compared to the same
 * functions called in SQL by bare drivers, on the same new embedded PostgreSQL. Exit code 1 if a message is lost, or
 * received twice.
 */
import { Agent, request } from "node:http"
import { cpus, loadavg } from "node:os"
import { Client } from "pg"
import { millis, percentiles, printTable, whole } from "../rows/table.ts"
import { runProgram } from "../support/program.ts"
import { processorTime } from "../support/resources.ts"
import { type Service } from "../support/service.ts"

const help = `npm run bench:queues -- [options]
  --only a,b      only these parts: a b c
  --quick         a tenth of the messages, for a first look
  --cpu-prof      the service writes a CPU profile when it ends
  --entry FILE    the service's program (default dist/main.mjs)

  a  over HTTP, 1, 10 and 100 messages with each request
  b  in SQL, by bare drivers, the same
  c  from sending to a waiting request, one message at a time`

const setup = (password: string) => [
  `create role bench_driver login bypassrls password '${password}'`,
  "select pgmq.create('bench')",
  "grant usage on schema pgmq to bench_driver",
  "grant select, insert, update, delete on pgmq.q_bench to bench_driver"
]

/** Connections that send, and as many that receive. */
const connections = 8

/** The three steps, by a connection of its own. */
interface Worker {
  readonly send: (first: number, count: number) => Promise<unknown>
  readonly receive: (
    count: number
  ) => Promise<ReadonlyArray<{ readonly msg_id: number; readonly message: { readonly n: number } }>>
  readonly acknowledge: (ids: ReadonlyArray<number>) => Promise<unknown>
  readonly end: () => unknown
}

const numbers = (first: number, count: number) => Array.from({ length: count }, (_, n) => ({ n: first + n }))

const overHttp = ({ credentials, url }: Service): Worker => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const post = (verb: string, body: unknown) =>
    new Promise<unknown>((resolve, reject) => {
      const text = JSON.stringify(body)
      const headers = {
        apikey: credentials.service,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(text)
      }
      const sent = request(`${url}/v1/queues/bench/${verb}`, { method: "POST", agent, headers }, (response) => {
        let answer = ""
        response.setEncoding("utf8").on("data", (piece: string) => (answer += piece))
        response.on("end", () =>
          (response.statusCode ?? 500) < 300 ? resolve(JSON.parse(answer)) : reject(new Error(answer))
        )
      })
      sent.on("error", reject).end(text)
    })
  return {
    send: (first, count) => post("send", { messages: numbers(first, count).map((message) => ({ message })) }),
    receive: async (count) =>
      (await post("receive", { max: count, wait: 1, visibility: 600 })) as Awaited<ReturnType<Worker["receive"]>>,
    acknowledge: (ids) => post("ack", { messages: ids.map((msg_id) => ({ msg_id })) }),
    end: () => agent.destroy()
  }
}

const inSql = async ({ databaseUrl }: Service): Promise<Worker> => {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  return {
    send: (first, count) =>
      client.query({
        name: "send",
        text: "select pgmq.send_batch('bench', array(select value from jsonb_array_elements($1::jsonb)))",
        values: [JSON.stringify(numbers(first, count))]
      }),
    receive: async (count) => {
      const text = "select msg_id::float8 as msg_id, message from pgmq.read('bench', 600, $1)"
      return (await client.query({ name: "read", text, values: [count] })).rows
    },
    acknowledge: (ids) =>
      client.query({ name: "delete", text: "select pgmq.delete('bench', $1::int8[])", values: [ids] }),
    end: () => client.end()
  }
}

interface Measured {
  readonly title: string
  readonly count: number
  readonly seconds: number
  readonly lost: number
  readonly again: number
  readonly processor: number
}

/** Sends and consumes at the same time, until all is acknowledged. */
const measure = async (
  service: Service,
  title: string,
  count: number,
  batch: number,
  make: () => Promise<Worker> | Worker
): Promise<Measured> => {
  console.error(`${title} …`)
  const workers = await Promise.all(Array.from({ length: 2 * connections }, make))
  const seen = new Uint8Array(count)
  let [next, received, again] = [0, 0, 0]
  const send = async (worker: Worker) => {
    for (;;) {
      const first = next
      const size = Math.min(batch, count - first)
      if (size <= 0) return
      next += size
      await worker.send(first, size)
    }
  }
  const consume = async (worker: Worker) => {
    for (let empty = 0; received < count && empty < 1_000;) {
      const messages = await worker.receive(batch)
      empty = messages.length === 0 ? empty + 1 : 0
      if (messages.length === 0) continue
      for (const { message } of messages) {
        if (seen[message.n] === 1) again++
        seen[message.n] = 1
      }
      received += messages.length
      await worker.acknowledge(messages.map(({ msg_id }) => msg_id))
    }
  }
  const [before, started] = [await processorTime(service.pid), performance.now()]
  await Promise.all(workers.map((worker, n) => (n < connections ? send(worker) : consume(worker))))
  const seconds = (performance.now() - started) / 1000
  const processor = (await processorTime(service.pid)) - before
  await Promise.all(workers.map((worker) => worker.end()))
  return { title, count, seconds, lost: seen.filter((times) => times === 0).length, again, processor }
}

const latency = async (service: Service, count: number) => {
  console.error("c a waiting request …")
  const [sender, receiver] = [overHttp(service), overHttp(service)]
  const times = new Float32Array(count)
  for (let n = 0; n < count; n++) {
    const waiting = receiver.receive(1)
    await new Promise((resolve) => setTimeout(resolve, 20))
    const started = performance.now()
    await sender.send(n, 1)
    const messages = await waiting
    times[n] = performance.now() - started
    await receiver.acknowledge(messages.map(({ msg_id }) => msg_id))
  }
  for (const worker of [sender, receiver]) worker.end()
  const { max, p50, p95, p99 } = percentiles(times)
  console.log(
    `\nc, from sending to the answer of a waiting request: ${[p50, p95, p99, max].map(millis).join(", ")} ms (p50, p95, p99, max)`
  )
}

const run = async (service: Service, wants: (part: string) => boolean, quick: boolean) => {
  console.log(
    `Node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before; ${connections} senders, ${connections} receivers`
  )
  const rows: Array<Measured> = []
  const sizes = [
    [1, 10_000],
    [10, 50_000],
    [100, 100_000]
  ] as const
  for (const [part, title, make] of [
    ["a", "HTTP", () => overHttp(service)],
    ["b", "SQL", () => inSql(service)]
  ] as const) {
    if (!wants(part)) continue
    for (const [batch, count] of sizes)
      rows.push(await measure(service, `${part} ${title}, ${batch} each`, count / (quick ? 10 : 1), batch, make))
  }
  if (rows.length > 0) {
    console.log()
    printTable(
      ["", "messages", "lost", "again", "seconds", "per second", "µs of the service each"],
      rows.map(({ again, count, lost, processor, seconds, title }) => [
        title,
        whole(count),
        whole(lost),
        whole(again),
        seconds.toFixed(1),
        whole(count / seconds),
        millis((processor * 1e6) / count)
      ]),
      1
    )
  }
  if (wants("c")) await latency(service, quick ? 50 : 200)
  return rows.some(({ again, lost }) => lost > 0 || again > 0) ? 1 : 0
}

await runProgram({ help, parts: "abc", service: { setup }, run })
