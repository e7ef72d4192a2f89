import { Clock, Effect, Redacted } from "effect"
import { type ErrorCode } from "../../../../domain/codes/ErrorCode.ts"
import { DatabaseError, type Unavailable } from "../../../../domain/errors.ts"
import { type HookTarget, hookUri } from "../../../../domain/identity/hooks/Target.ts"
import { standardSignature } from "../../../../domain/webhooks/Headers.ts"
import { supabaseEnabled } from "../../../supabase/Settings.ts"
import { Db, serviceActor } from "../../../ports/Db.ts"
import { LateFunctionInvoker } from "../../../ports/functions/LateFunctionInvoker.ts"
import { type WebhookAnswer, WebhookTransport } from "../../../ports/WebhookTransport.ts"

/** The time that an SQL function has, and a call by HTTP with all its attempts, in ms, as at Supabase. Its caller waits. */
const sqlMillis = 2000
const httpMillis = 5000
/** Attempts at a receiver that does not answer or is busy, and the pause between them, in ms. */
const attempts = 3
const pauseMillis = 2000
/** The longest answer of a receiver, in bytes. */
const maxAnswer = 200 * 1024

/** The failure of a hook. What the hook is asked about must not happen then. */
export const hookFailed = (error: string, status = 500, code: ErrorCode = "unexpected_failure") =>
  new DatabaseError({ error, code, status })

const json = /^application\/json\s*(?:;|$)/i

/**
 * Calls the target of a hook with an event, and returns the JSON of its answer; null is an answer without a body. Fails, with
 * a log line for the operator, unless the target has answered in time and as it should.
 */
export const makeHookCalls = Effect.gen(function* () {
  const { main } = yield* Db
  const transport = yield* WebhookTransport
  const functions = yield* LateFunctionInvoker
  const runner = (yield* Effect.orDie(supabaseEnabled)) ? "auth.svc_run_hook" : "svc_ddl.run_hook"

  const parsed = (uri: string, text: string) =>
    Effect.try({
      try: () => JSON.parse(text) as unknown,
      catch: () => hookFailed("Error unmarshaling JSON output.")
    }).pipe(Effect.tapError(() => Effect.logError(`The answer of the hook ${uri} is not JSON`)))

  const bySql = Effect.fnUntraced(function* (target: Extract<HookTarget, { _tag: "SqlFunction" }>, event: string) {
    const uri = hookUri(target)
    const broken = hookFailed(`Error running hook URI: ${uri}`)
    const [text] = yield* main
      .run(serviceActor, {
        text: `select ${runner}($1, $2, $3)::text`,
        params: [target.schema, target.name, event],
        access: "write",
        prepare: false
      })
      .pipe(
        Effect.catchTag("DatabaseError", ({ code, error }) =>
          // The message may repeat data of users.
          Effect.andThen(
            Effect.logError(`The hook ${uri} failed, SQLSTATE ${code}${code.startsWith("42") ? `: ${error}` : ""}`),
            Effect.fail(broken)
          )
        ),
        Effect.timeoutOrElse({
          duration: sqlMillis,
          orElse: () =>
            Effect.andThen(
              Effect.logError(`The hook ${uri} was cancelled after ${sqlMillis / 1000} s`),
              Effect.fail(broken)
            )
        })
      )
    return typeof text === "string" ? yield* parsed(uri, text) : null
  })

  /** The response of a function, as that of a receiver. One that is busy is called again. */
  const byFunction = (name: string, headers: Readonly<Record<string, string>>, body: string) =>
    functions.invoke(name, { headers, body }).pipe(
      Effect.tapError(({ error }) => Effect.logError(`The function ${name}, a hook, did not respond: ${error}`)),
      Effect.match({
        onSuccess: ({ body, headers, status }): WebhookAnswer => ({
          status,
          contentType: headers["content-type"],
          body: body.length > maxAnswer ? null : body,
          error: null,
          retryAfter: headers["retry-after"]
        }),
        onFailure: ({ _tag }): WebhookAnswer => ({
          status: _tag === "Unavailable" ? 503 : 500,
          contentType: undefined,
          body: null,
          error: null,
          retryAfter: "1"
        })
      })
    )

  const byHttp = Effect.fnUntraced(function* (
    target: Exclude<HookTarget, { _tag: "SqlFunction" }>,
    event: string,
    id: string
  ) {
    const uri = hookUri(target)
    const failing = (logged: string, failure: DatabaseError) =>
      Effect.andThen(Effect.logError(`The hook ${uri} failed: ${logged}`), Effect.fail(failure))
    const slow = (seconds: number) =>
      hookFailed(`Failed to reach hook within maximum time of ${seconds.toFixed(6)} seconds`, 422, "hook_timeout")

    const attempt = Effect.gen(function* () {
      const seconds = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const signatures = target.secrets.map((secret) =>
        standardSignature(Redacted.value(secret), `msg_${id}`, seconds, event)
      )
      const headers = {
        "content-type": "application/json",
        accept: "application/json",
        "webhook-id": `msg_${id}`,
        "webhook-timestamp": String(seconds),
        ...(signatures.length === 0 ? {} : { "webhook-signature": signatures.join(" ") })
      }
      return yield* target._tag === "DenoFunction"
        ? byFunction(target.name, headers, event)
        : transport.call({ url: target.url, body: event, headers }, maxAnswer)
    })

    const called = Effect.gen(function* () {
      for (let tried = 1; ; tried += 1) {
        const { body, contentType, error, retryAfter, status } = yield* attempt
        const busy = (status === 429 || status === 503) && retryAfter !== undefined
        if (tried < attempts && (error !== null || busy)) {
          yield* Effect.sleep(pauseMillis)
          continue
        }
        if (error !== null) {
          const failure = hookFailed("Failed to reach hook after maximum retries", 422, "hook_timeout_after_retry")
          return yield* failing(error, failure)
        }
        if (status === 204) return null
        if (status !== 200 && status !== 202) {
          const known: Readonly<Record<number, string>> = {
            400: "Invalid payload sent to hook",
            401: "Hook requires authorization token",
            429: "Service currently unavailable due to hook",
            503: "Service currently unavailable due to hook"
          }
          return yield* failing(
            `status ${status}`,
            hookFailed(known[status ?? 0] ?? `Unexpected status code returned from hook: ${status}`)
          )
        }
        if (contentType === undefined || !json.test(contentType)) {
          const failure = hookFailed(
            `Invalid JSON response. Received content-type: ${(contentType ?? "none").slice(0, 100)}`,
            400,
            "hook_payload_invalid_content_type"
          )
          return yield* failing("the answer must have the Content-Type application/json", failure)
        }
        if (body === null) {
          const failure = hookFailed(
            `Payload size exceeded size limit of ${maxAnswer} bytes`,
            422,
            "hook_payload_over_size_limit"
          )
          return yield* failing(`the answer is longer than ${maxAnswer} bytes`, failure)
        }
        return yield* parsed(uri, Buffer.from(body).toString("utf8"))
      }
    })
    return yield* Effect.timeoutOrElse(called, {
      duration: httpMillis,
      orElse: () => failing(`no complete answer within ${httpMillis / 1000} s`, slow(httpMillis / 1000))
    })
  })

  /** `id`: of the event, the same for every attempt. */
  return (target: HookTarget, event: string, id: string): Effect.Effect<unknown, DatabaseError | Unavailable> =>
    target._tag === "SqlFunction" ? bySql(target, event) : byHttp(target, event, id)
})
