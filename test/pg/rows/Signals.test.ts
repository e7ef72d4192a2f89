import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { anon, get, refusal, rpc } from "../../support/requests.ts"

const signalling = (name: string, signal: string) => `
create function ${name}() returns text language plpgsql as $$
declare other int;
begin
  set role none;
  for other in select pid from pg_stat_activity where datname = current_database() and usename = session_user and pid <> pg_backend_pid() loop
    perform ${signal};
  end loop;
  return session_user;
end $$`

layer(layerDatabase({ name: "signals" }), live)("a function of an anonymous caller", (it) => {
  it.effect("can't cancel statements of others, end their sessions, or read the server's memory", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("create function slow() returns int language plpgsql as 'begin perform pg_sleep(1); return 1; end'")
      for (const [name, signal] of [
        ["cancels", "pg_cancel_backend(other)"],
        ["ends", "pg_terminate_backend(other)"],
        ["waits", "pg_terminate_backend(other, 10)"],
        ["logs", "pg_log_backend_memory_contexts(other)"]
      ] as const) {
        yield* sql(signalling(name, signal))
      }
      const working = yield* Effect.forkChild(
        Effect.all([rpc("slow", {}, { actor: anon }), rpc("slow", {}, { actor: anon })], { concurrency: 2 })
      )
      yield* Effect.sleep("300 millis")
      for (const name of ["cancels", "ends", "waits", "logs"]) {
        assert.match(yield* refusal(rpc(name, {}, { actor: anon })), /^40[13] 42501$/, name)
      }
      assert.deepStrictEqual(yield* Fiber.join(working), [1, 1])
    })
  )

  it.effect("keeps its own limits: an abandoned statement is still cancelled", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql(
        "create function endless() returns int language plpgsql as 'begin perform pg_sleep(60); return 1; end'; create table things (id int); grant select on things to anon"
      )
      const caller = yield* Effect.forkChild(rpc("endless", {}, { actor: anon }))
      yield* Effect.sleep("300 millis")
      yield* Fiber.interrupt(caller)
      const running = Effect.map(
        sql(
          "select from pg_stat_activity where datname = current_database() and state = 'active' and query ~ 'endless' and pid <> pg_backend_pid()"
        ),
        (rows) => rows.length
      )
      yield* Effect.repeat(running, { until: (n) => n === 0, times: 40, schedule: Schedule.spaced("50 millis") })
      assert.strictEqual(yield* running, 0)
      assert.deepStrictEqual(yield* get("things", { actor: anon }), [])
    })
  )
})
