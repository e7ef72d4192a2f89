import { afterAll, assert, beforeAll, test } from "vitest"
import { ask, assertRefused } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { isWithout } from "../../support/skips.ts"
import { until } from "../../support/service.ts"

let service: InProcessService

const it = test.skipIf(isWithout("deno"))

beforeAll(async () => {
  service = await serveInProcess({
    SVC_FUNCTIONS_BLOCKED: "600ms",
    SVC_FUNCTIONS_TIMEOUT: "1500ms",
    SVC_FUNCTIONS_MEMORY: "160",
    SVC_FUNCTIONS_IDLE: "1s",
    SVC_FUNCTIONS_CONCURRENCY: "4",
    SVC_FUNCTIONS_PROCESSES: "3"
  })
  if (!isWithout("deno")) await deploy("good", `Deno.serve(() => new Response(String(Deno.pid)))`)
}, 60_000)
afterAll(() => service[Symbol.asyncDispose]())

const deploy = async (name: string, code: string) => {
  const body = { files: { "index.ts": code } }
  const reply = await ask(service, `PUT /api/functions/${name}`, { key: service.service_role, body })
  assert.strictEqual(reply.status, 201, reply.text)
}
const called = (name: string) => ask(service, `GET /v1/functions/${name}`, { key: service.anon })
const errorOf = ({ json }: { readonly json: unknown }) => (json as { readonly error: string }).error

/** Calls a function that hurts itself, while another one answers all the time. */
const besides = async (name: string) => {
  const bad = called(name)
  const state = { ended: false }
  void bad.then(() => (state.ended = true))
  let answered = 0
  while (!state.ended) {
    assert.strictEqual((await called("good")).status, 200)
    answered++
  }
  assert.isAbove(answered, 3)
  return bad
}

it("ends a function that loops, and no other", async () => {
  await deploy(
    "loop",
    `Deno.serve((request) => { if (!request.url.includes("well")) for (;;); return new Response("well") })`
  )
  const reply = await besides("loop")
  assertRefused(reply, 502, "FUNCTION_FAILED")
  assert.include(errorOf(reply), "SVC_FUNCTIONS_BLOCKED")
  assert.strictEqual(
    (
      await until(
        () => called("loop/well"),
        ({ status }) => status === 200
      )
    ).text,
    "well"
  )
})

it("ends one that takes more and more memory, inside and outside of V8's heap", async () => {
  const leaks = {
    heap: "kept.push({ text: 'x'.repeat(100) + Math.random() })",
    buffers: "kept.push(new Uint8Array(1 << 20).fill(1))"
  }
  for (const [name, leak] of Object.entries(leaks)) {
    await deploy(
      name,
      `const kept = []; Deno.serve(async () => { for (;;) { for (let n = 0; n < 50; n++) ${leak}; await new Promise((done) => setTimeout(done, 1)) } })`
    )
    const reply = await besides(name)
    assert.oneOf(reply.status, [502, 504], reply.text)
    if (name === "buffers") assert.include(errorOf(reply), "SVC_FUNCTIONS_MEMORY")
  }
})

it("ends calls that take too long, and closes what they go on with", async () => {
  await deploy("slow", `Deno.serve(() => new Promise(() => setInterval(() => undefined, 10)))`)
  assertRefused(await besides("slow"), 504, "FUNCTION_TIMEOUT")
  await deploy(
    "endless",
    `Deno.serve(() => new Response(new ReadableStream({ async pull(to) { to.enqueue(new Uint8Array(10)); await new Promise((done) => setTimeout(done, 50)) } })))`
  )
  assert.strictEqual(
    await called("endless").then(
      () => "complete",
      () => "cut"
    ),
    "cut"
  )
})

it("starts one that has ended itself again, ever more slowly", async () => {
  await deploy("exits", `Deno.serve(() => Deno.exit(3))`)
  assert.include(errorOf(await called("exits")), "exited with code 3")
  const refused = await called("exits")
  assertRefused(refused, 502, "FUNCTION_FAILED")
  assert.match(errorOf(refused), /starts again in \d+ s/)
  await deploy("throws", `throw new Error("at the start")`)
  const failed = await called("throws")
  assertRefused(failed, 502, "FUNCTION_FAILED")
  assert.notInclude(failed.text, "at the start") // that is for its log
  await until(
    () => ask(service, "GET /api/functions/throws/logs", { key: service.service_role }),
    ({ text }) => text.includes("at the start") && text.includes("index.ts:1:")
  )
})

it("keeps one that rejects in the background", async () => {
  await deploy(
    "rejects",
    `Deno.serve(() => { setTimeout(() => { throw new Error("late") }, 1); Promise.reject(new Error("soon")); return new Response(String(Deno.pid)) })`
  )
  const { text } = await called("rejects")
  await until(
    () => ask(service, "GET /api/functions/rejects/logs", { key: service.service_role }),
    ({ text }) => text.includes("late") && text.includes("soon")
  )
  assert.strictEqual((await called("rejects")).text, text)
})

it("slows one down that prints without end", async () => {
  await deploy(
    "prints",
    `Deno.serve(async () => { for (;;) { console.log("x".repeat(1000)); Deno.stderr.writeSync(new TextEncoder().encode("y".repeat(1000))); await 0 } })`
  )
  assert.oneOf((await besides("prints")).status, [502, 504])
  const { text } = await until(
    () => ask(service, "GET /api/functions/prints/logs?limit=1000", { key: service.service_role }),
    ({ json }) => (json as Array<unknown>).length > 10
  )
  assert.isBelow(text.length, 4_000_000)
})

it("limits the calls of a function and the processes of all", async () => {
  await deploy("waits", `Deno.serve(() => new Promise((done) => setTimeout(() => done(new Response("done")), 700)))`)
  const statuses = (await Promise.all(Array.from({ length: 8 }, () => called("waits")))).map(({ status }) => status)
  assert.deepStrictEqual(statuses.toSorted(), [200, 200, 200, 200, 503, 503, 503, 503])
  for (const name of ["w1", "w2", "w3"])
    await deploy(name, `Deno.serve(() => new Promise((done) => setTimeout(() => done(new Response("done")), 700)))`)
  const all = await Promise.all(["waits", "w1", "w2", "w3"].map(called))
  assert.deepStrictEqual(all.map(({ status }) => status).toSorted(), [200, 200, 200, 503])
  assertRefused(all.find(({ status }) => status === 503) ?? (await called("w1")), 503, "FUNCTION_BUSY")
})

it("stops an idle one, and starts it with the next call", async () => {
  const { text } = await called("good")
  await until(
    async () => (await import("node:fs")).existsSync(`/proc/${text}`),
    (there) => !there,
    5_000
  )
  const again = await called("good")
  assert.strictEqual(again.status, 200)
  assert.notStrictEqual(again.text, text)
})
