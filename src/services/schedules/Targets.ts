import { Clock, Effect, Schema } from "effect"
import { needTypes, paramTexts } from "../../domain/sql/Params.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { version } from "../../domain/Version.ts"
import { isSuccess } from "../../domain/webhooks/Delivery.ts"
import { signatureHeaders } from "../../domain/webhooks/Headers.ts"
import { FunctionInvoker } from "../ports/functions/FunctionInvoker.ts"
import { RoleSessions } from "../ports/schedules/RoleSessions.ts"
import { WebhookTransport } from "../ports/WebhookTransport.ts"
import { OwnJobs } from "../OwnJobs.ts"
import { type ClaimedRun } from "./Store.ts"

const StoredFunction = Schema.Struct({
  schema: Schema.String,
  name: Schema.String,
  args: Schema.Record(Schema.String, Schema.Json)
})
const Invocation = Schema.Struct({ name: Schema.String, body: Schema.optionalKey(Schema.Json) })
const Call = Schema.Struct({
  url: Schema.String,
  headers: Schema.Record(Schema.String, Schema.String),
  body: Schema.optionalKey(Schema.Json)
})
const decodeFunction = Schema.decodeUnknownEffect(StoredFunction)
const decodeInvocation = Schema.decodeUnknownEffect(Invocation)
const decodeCall = Schema.decodeUnknownEffect(Call)

/** What an attempt may report while it runs: the session in PostgreSQL, which ends with the run. */
type Begun = (pid: number, start: string) => Effect.Effect<void>

/** A failure as a sentence for the history. */
const sentence = (failure: unknown): string => {
  if (typeof failure === "string") return failure
  const { code, details, error, reason } = failure as Readonly<Record<"code" | "details" | "error" | "reason", unknown>>
  if (typeof reason === "string") return reason
  const more = typeof details === "string" ? `: ${details}` : ""
  return typeof error === "string" ? `${error}${more}${typeof code === "string" ? ` (${code})` : ""}` : String(failure)
}

/** Runs the target of a schedule once; the one place that knows the kinds. Returns the result as text, or undefined if a job had nothing to do; fails with a sentence. */
export const makeScheduleTargets = Effect.gen(function* () {
  const sessions = yield* RoleSessions
  const transport = yield* WebhookTransport
  const own = yield* OwnJobs
  const functions = yield* FunctionInvoker

  const session = (run: ClaimedRun, begun: Begun) =>
    Effect.tap(sessions.open({ name: run.role, oid: run.role_oid ?? "0" }, run.timeout_ms), ({ pid, start }) =>
      begun(pid, start)
    )

  const sql = Effect.fnUntraced(function* (run: ClaimedRun, begun: Begun) {
    const { script } = yield* session(run, begun)
    return yield* script(run.command)
  })

  const storedFunction = Effect.fnUntraced(function* (run: ClaimedRun, begun: Begun) {
    const { args, name, schema } = yield* Effect.orDie(decodeFunction(run.target))
    const names = Object.keys(args)
    const list = names.map((one, at) => `${quoteName(one)} => $${at + 1}`).join(", ")
    const text = `select pg_catalog.json_agg(r)::text from ${quoteName(schema)}.${quoteName(name)}(${list}) r`
    const params = names.map((one) => args[one])
    const { parameterTypes, query } = yield* session(run, begun)
    const texts = yield* paramTexts(params, needTypes(params) ? yield* parameterTypes(text) : [])
    const { rows } = yield* query(text, texts, 1, true)
    return rows[0]?.[0] ?? "null"
  })

  /** What a call sends: the body of the target, or what it is about. */
  const bodyOf = (run: ClaimedRun, body: Schema.Json | undefined) => {
    const scheduled_at = new Date(run.scheduled_at).toISOString()
    const about = { schedule: { id: run.schedule_id, name: run.name }, run_id: Number(run.id), scheduled_at }
    return JSON.stringify(body ?? about)
  }

  const invoked = Effect.fnUntraced(function* (run: ClaimedRun) {
    const { body, name } = yield* Effect.orDie(decodeInvocation(run.target))
    const headers = { "content-type": "application/json", "webhook-id": `run_${run.id}` }
    const reply = yield* functions.invoke(name, { headers, body: bodyOf(run, body) })
    const answer = `${reply.status} ${Buffer.from(reply.body).toString("utf8")}`.trim()
    return reply.status < 300 ? answer : yield* Effect.fail(`The function responded with ${answer}`)
  })

  const http = Effect.fnUntraced(function* (run: ClaimedRun) {
    const { body, headers, url } = yield* Effect.orDie(decodeCall(run.target))
    const id = `run_${run.id}`
    const text = bodyOf(run, body)
    const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
    const seconds = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    const reply = yield* transport.post({
      url,
      body: text,
      headers: {
        "user-agent": `svc-schedules/${version}`,
        ...Object.fromEntries(lower),
        "content-type": "application/json",
        ...signatureHeaders(run.secret, id, seconds, text)
      }
    })
    if (reply.status === null) return yield* Effect.fail(reply.error ?? "The receiver did not respond")
    const answer = `${reply.status}${reply.body ? ` ${reply.body}` : ""}`
    return isSuccess(reply) ? answer : yield* Effect.fail(`The receiver responded with ${answer}`)
  })

  const job = (run: ClaimedRun) =>
    own.all.get(run.name ?? "")?.run(run.scheduled_at) ?? Effect.fail("This process has no such job")

  return (run: ClaimedRun, begun: Begun): Effect.Effect<string | undefined, string> => {
    const target = Effect.suspend((): Effect.Effect<string | undefined, unknown> => {
      switch (run.kind) {
        case "sql":
          return Effect.scoped(sql(run, begun))
        case "stored_function":
          return Effect.scoped(storedFunction(run, begun))
        case "function":
          return invoked(run)
        case "http":
          return http(run)
        case "own":
          return job(run)
        default:
          return Effect.fail(`This version can't run a schedule of the kind "${run.kind}"`)
      }
    })
    return Effect.mapError(target, sentence)
  }
})
