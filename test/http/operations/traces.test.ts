import { randomBytes } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { type ExportedSpan, startCollector } from "../../support/otlp.ts"
import { until } from "../../support/service.ts"
import { type Receiver, startReceiver } from "../../support/webhooks/receiver.ts"

const kinds = { internal: 1, server: 2, client: 3, producer: 4 }

let collector: Awaited<ReturnType<typeof startCollector>>
let receiver: Receiver
let service: InProcessService
let ended = false
/** What is left is exported at the end. */
const end = async () => {
  if (!ended) await service[Symbol.asyncDispose]()
  ended = true
}
beforeAll(async () => {
  collector = await startCollector()
  receiver = await startReceiver()
  service = await serveInProcess({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
    // Only what callers ask for, so that each trace here is known.
    SVC_TRACE_SAMPLING: "0",
    SVC_SUPABASE: "true",
    SVC_FUNCTIONS_URL: receiver.url,
    WEBHOOK_ALLOW_PRIVATE: "true"
  })
  await sql(service, "create table notes (id int primary key, note text)")
  await sql(service, "create function seen() returns text language sql volatile as 'select current_query()'")
  await sql(
    service,
    `create function caught() returns text language plpgsql as $$
     declare found text;
     begin
       lock table notes;
       for turn in 1..500 loop
         perform pg_stat_clear_snapshot();
         select query into found from pg_stat_activity where query like '%notes%/*traceparent=%' and pid <> pg_backend_pid() and datname = current_database();
         exit when found is not null;
         perform pg_sleep(0.01);
       end loop;
       return found;
     end $$`
  )
})
afterAll(async () => {
  await end()
  await receiver[Symbol.asyncDispose]()
  await collector[Symbol.asyncDispose]()
})

/** A caller's trace. Callers may ask for 10 in a second. */
const trace = (flags = "01") => {
  const [traceId, spanId] = [randomBytes(16).toString("hex"), randomBytes(8).toString("hex")]
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-${flags}` } }
}
const of = ({ traceId }: { readonly traceId: string }) => collector.spans.filter((span) => span.traceId === traceId)
const ancestors = (spans: ReadonlyArray<ExportedSpan>, span: ExportedSpan): ReadonlyArray<ExportedSpan> => {
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId)
  return parent === undefined ? [] : [parent, ...ancestors(spans, parent)]
}
const inTrace = (traceparent: string | undefined) =>
  /^00-([0-9a-f]{32})-([0-9a-f]{16})-(0[01])$/.exec(traceparent ?? "") ?? []

describe("a trace", () => {
  it("leads from its caller to PostgreSQL, webhooks and functions; callers force no more than ten a second", async () => {
    const key = service.service_role
    const asking = Array.from({ length: 60 }, () => trace())
    const not = Array.from({ length: 5 }, () => trace("00"))
    const from = Date.now()
    await Promise.all(
      [...asking, ...not].map(({ headers }) => ask(service, "GET /v1/db/notes", { key: service.anon, headers }))
    )
    const seconds = Math.ceil((Date.now() - from) / 1000) + 1
    const { text: silent } = await ask(service, "POST /v1/db/rpc/seen", { key, headers: trace("00").headers })
    assert.notInclude(silent, "traceparent")

    const [call, read, write, hook, fn] = [trace(), trace(), trace(), trace(), trace()]
    // In the next second there are traces to ask for again.
    const { json: query } = await until(
      () => ask(service, "POST /v1/db/rpc/seen", { key, headers: call.headers, body: {} }),
      ({ text }) => text.includes("traceparent")
    )
    const [, callTrace, callSpan, callFlags] = inTrace(/\/\*traceparent='([^']+)'\*\//.exec(String(query))?.[1])
    assert.deepStrictEqual([callTrace, callFlags], [call.traceId, "01"], String(query))
    // PostgreSQL shows the statement while it waits for the lock, which is held until then.
    const catching = sql(service, "select caught() as query")
    const locked = "select 1 as n from pg_locks where relation = 'notes'::regclass and mode = 'AccessExclusiveLock'"
    await until(
      () => sql(service, locked),
      ({ length }) => length > 0
    )
    const reading = ask(service, "GET /v1/db/notes?order=id", { key, headers: read.headers })
    const [row] = await catching
    assert.strictEqual((await reading).status, 200)
    const [, readTrace, readSpan] = inTrace(/traceparent='([^']+)'/.exec(String(row?.["query"]))?.[1])
    assert.strictEqual(readTrace, read.traceId)
    const body = { id: 1, note: "a-secret-note" }
    for (const status of [201, 409]) {
      const reply = await ask(service, "POST /v1/db/notes", { key, headers: write.headers, body })
      assert.strictEqual(reply.status, status, reply.text)
    }

    const webhook = {
      name: "n",
      table_schema: "public",
      table_name: "notes",
      events: ["INSERT"],
      url: `${receiver.url}/hook`
    }
    const made = await ask(service, "POST /api/webhooks", { key, body: webhook })
    const { id } = made.json as { readonly id: number }
    const tested = await ask(service, `POST /api/webhooks/${id}/test`, { key, headers: hook.headers })
    assert.strictEqual(tested.status, 200, tested.text)
    const [delivered] = await receiver.count("/hook", 1)
    const [, hookTrace, hookSpan, hookFlags] = inTrace(String(delivered?.headers["traceparent"]))
    assert.deepStrictEqual([hookTrace, hookFlags], [hook.traceId, "01"])

    await ask(service, "GET /functions/v1/hello", { key, token: key, headers: fn.headers })
    const [called] = receiver.at("/hello")
    const [, fnTrace, fnSpan] = inTrace(String(called?.headers["traceparent"]))
    assert.strictEqual(fnTrace, fn.traceId)

    await end()
    for (const [from, name, spanId, kind] of [
      [call, "db.statement", callSpan, kinds.client],
      [read, "db.statement", readSpan, kinds.client],
      [hook, "webhook.delivery", hookSpan, kinds.producer],
      [fn, "function.call", fnSpan, kinds.client]
    ] as const) {
      const spans = of(from)
      const span = spans.find((one) => one.spanId === spanId) ?? assert.fail(`no span ${spanId} of ${name}`)
      assert.deepStrictEqual([span.name, span.kind], [name, kind])
      const root = ancestors(spans, span).at(-1)
      assert.deepStrictEqual([root?.kind, root?.parentSpanId], [kinds.server, from.spanId], name)
    }
    const { attributes } = of(read).find(({ spanId }) => spanId === readSpan) ?? assert.fail("the read has no span")
    assert.deepInclude(attributes, { "db.system.name": "postgresql", "svc.role": "service_role" })
    assert.include(attributes["db.query.text"], '"notes"')
    const errors = of(write).flatMap(({ attributes }) => attributes["error.type"] ?? [])
    assert.deepStrictEqual(errors, ["23505"])
    const traced = asking.filter((one) => of(one).length > 0).length
    assert.isAbove(traced, 0)
    assert.isAtMost(traced, 10 * seconds)
    assert.isEmpty(not.flatMap(of))
    // Nor is anything traced that no caller asked for.
    const requests = collector.spans.filter(({ kind }) => kind === kinds.server)
    assert.notInclude(
      requests.map(({ parentSpanId }) => parentSpanId),
      ""
    )
    for (const secret of ["a-secret-note", key, service.anon]) assert.notInclude(collector.text(), secret)
  })
})
