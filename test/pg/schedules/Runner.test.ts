import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Schedule, Scope } from "effect"
import { type NewSchedule, type ScheduleId } from "../../../src/domain/schedules/Schedule.ts"
import { RoleSessions } from "../../../src/services/ports/schedules/RoleSessions.ts"
import { type OwnJobs } from "../../../src/services/OwnJobs.ts"
import { Schedules } from "../../../src/services/schedules/Schedules.ts"
import { live, Outside, session } from "../../support/database.ts"
import { eventually } from "../../support/eventually.ts"
import { layerSchedules, replica } from "../../support/schedules/schedules.ts"
import { receiver } from "../../support/webhooks/webhooks.ts"

const sql = (text: string, params?: ReadonlyArray<unknown>) =>
  Effect.flatMap(Outside, (outside) => outside.sql(text, params))

let count = 0
const schedule = (given: Partial<NewSchedule> & Pick<NewSchedule, "target">) =>
  Effect.flatMap(Schedules, (schedules) => schedules.create({ name: `job ${++count}`, cron: "0 0 1 1 *", ...given }))
const statements = (text: string) => ({ type: "sql", sql: text }) as const

const runs = (id: ScheduleId) => Effect.flatMap(Schedules, (schedules) => schedules.runs(id, {}))
const ended = (id: ScheduleId, least = 1) =>
  eventually(runs(id), (all) => all.filter(({ finished_at }) => finished_at !== null).length >= least, 20_000)
const runNow = (id: ScheduleId) => Effect.flatMap(Schedules, (schedules) => schedules.run(id))
const remove = (id: ScheduleId) => Effect.flatMap(Schedules, (schedules) => schedules.remove(id))

layer(layerSchedules({ name: "schedule_runner" }), live)("schedules", (it) => {
  it.effect("run once at each time, whatever the number of replicas, and notify them when they change", () =>
    Effect.gen(function* () {
      yield* sql("create table ticks (at timestamptz default clock_timestamp())")
      yield* replica
      yield* replica
      yield* replica
      const { id } = yield* schedule({ cron: "* * * * * *", target: statements("insert into ticks default values") })
      const done = (yield* ended(id, 4)).filter(({ status }) => status !== "pending" && status !== "running")
      yield* remove(id)
      assert.deepStrictEqual([...new Set(done.map(({ status }) => status))], ["succeeded"])
      const times = done.map(({ scheduled_at }) => Date.parse(scheduled_at) / 1000)
      assert.strictEqual(new Set(times).size, times.length)
      assert.isTrue(
        times.every((at, index) => index === 0 || (times[index - 1] ?? 0) - at === 1),
        times.join()
      )
      assert.strictEqual(done[0]?.result, "INSERT 0 1")
      const [row] = yield* sql(
        "select count(*)::int as n, count(distinct date_trunc('second', at))::int as seconds from ticks"
      )
      assert.strictEqual(row?.["n"], row?.["seconds"])
    })
  )

  it.effect("have no more rights than their role, whatever their SQL does", () =>
    Effect.gen(function* () {
      yield* replica
      yield* sql("create role svc_test_reports nologin")
      yield* Effect.addFinalizer(() =>
        sql("drop owned by svc_test_reports").pipe(Effect.andThen(sql("drop role if exists svc_test_reports")))
      )
      yield* sql("create table secrets (word text)")
      yield* sql("revoke all on secrets from public, anon, authenticated")
      yield* sql("create table reports (line text)")
      yield* sql("grant insert on reports to svc_test_reports")
      const attempt = (text: string, role = "svc_test_reports") =>
        Effect.gen(function* () {
          const { id } = yield* schedule({ role, target: statements(text) })
          yield* runNow(id)
          const [run] = yield* ended(id)
          yield* remove(id)
          return run?.error ?? run?.result
        })
      assert.strictEqual(yield* attempt("insert into reports values (current_user)"), "INSERT 0 1")
      assert.strictEqual((yield* sql("select line from reports"))[0]?.["line"], "svc_test_reports")
      for (const way of [
        "select * from secrets",
        "reset role; select * from secrets",
        "set role none; select * from secrets",
        "set session authorization default; select * from secrets",
        "reset session authorization; select * from secrets",
        "do $$ begin perform set_config('role', 'none', false); perform * from public.secrets; end $$",
        "select * from svc.settings",
        "reset role; select * from svc.settings"
      ]) {
        assert.include(yield* attempt(way), "permission denied", way)
      }
      for (const way of ["set role postgres", "set role none; set role authenticated", "set role anon"]) {
        assert.include(yield* attempt(way), "permission denied to set role", way)
      }
      assert.include(yield* attempt("reset role; set role authenticated", "anon"), "permission denied to set role")
      // What a session changes of its own login is undone.
      yield* attempt(
        "do $$ begin perform set_config('role', 'none', false); execute format('alter role %I password ''x''', session_user); end $$"
      )
      yield* attempt(
        "do $$ begin perform set_config('role', 'none', false); execute format('alter role %I set search_path = svc', session_user); end $$"
      )
      assert.strictEqual(yield* attempt("insert into reports values ('again')"), "INSERT 0 1")
      const shown = yield* attempt("do $$ begin raise exception '%', current_setting('search_path'); end $$")
      assert.notInclude(shown, "svc")
    })
  )

  it.effect("end with a sentence when their role is dropped, also if another one gets its name", () =>
    Effect.gen(function* () {
      yield* replica
      yield* sql("create role svc_test_gone nologin")
      const { id } = yield* schedule({ role: "svc_test_gone", target: statements("select 1") })
      yield* runNow(id)
      yield* ended(id)
      yield* sql("drop role svc_test_gone")
      yield* sql("create role svc_test_gone nologin superuser")
      yield* Effect.addFinalizer(() => sql("drop role svc_test_gone"))
      yield* runNow(id)
      const [run] = yield* ended(id, 2)
      assert.deepInclude(run, { status: "failed", error: 'The role "svc_test_gone" was dropped' })
    })
  )

  it.effect("are refused for a role that does not exist", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(schedule({ role: "nobody_has_this", target: statements("select 1") }))
      assert.strictEqual(refused.code, "SCHEDULE_ROLE")
      const never = yield* Effect.flip(schedule({ cron: "0 0 31 2 *", target: statements("select 1") }))
      assert.strictEqual(never.code, "SCHEDULE_TIMES")
    })
  )

  it.effect("that overlap are skipped, wait, or run together", () =>
    Effect.gen(function* () {
      yield* replica
      const slow = statements("select pg_sleep(2.5)")
      const skip = yield* schedule({ cron: "* * * * * *", overlap: "skip", target: slow })
      const allow = yield* schedule({ cron: "* * * * * *", overlap: "allow", target: slow })
      const queue = yield* schedule({ cron: "* * * * * *", overlap: "queue", target: slow })
      const skipped = yield* eventually(runs(skip.id), (all) => all.some(({ status }) => status === "skipped"), 20_000)
      assert.include(skipped.find(({ status }) => status === "skipped")?.error, "had not ended")
      const running = (all: ReadonlyArray<{ readonly status: string }>) =>
        all.filter(({ status }) => status === "running").length
      yield* eventually(runs(allow.id), (all) => running(all) > 1, 20_000)
      const queued = yield* ended(queue.id, 2)
      assert.isAtMost(running(queued), 1)
      const long = yield* schedule({ target: statements("select pg_sleep(20)") })
      yield* runNow(long.id)
      assert.strictEqual((yield* Effect.flip(runNow(long.id))).code, "SCHEDULE_RUNNING")
      for (const { id } of [skip, allow, queue, long]) yield* remove(id)
    })
  )

  it.effect("are retried, and end after their timeout", () =>
    Effect.gen(function* () {
      yield* replica
      const failing = yield* schedule({ retries: 1, target: statements("select 1/0") })
      const long = yield* schedule({ timeout: 1, target: statements("select pg_sleep(60)") })
      yield* runNow(failing.id)
      yield* runNow(long.id)
      const [timedOut] = yield* ended(long.id)
      assert.strictEqual(timedOut?.status, "failed")
      assert.match(String(timedOut?.error), /timeout|over 1 s/)
      assert.deepStrictEqual(
        yield* sql(
          "select pid from pg_stat_activity where query like '%pg_sleep(60)%' and pid <> pg_backend_pid() and state = 'active'"
        ),
        []
      )
      const [failed] = yield* ended(failing.id)
      assert.deepInclude(failed, { status: "failed", attempt: 2, error: "division by zero (22012)" })
    })
  )

  it.effect("call functions and receivers", () =>
    Effect.gen(function* () {
      yield* replica
      const sink = yield* receiver
      yield* sql("create function add(a int, b int default 1) returns int language sql as 'select a + b'")
      yield* sql(
        "create function joined(words text[], more jsonb) returns text language sql as 'select words::text || more'"
      )
      const typed = yield* schedule({
        target: { type: "stored_function", name: "joined", args: { words: ["a", "b c"], more: { d: [1] } } }
      })
      yield* runNow(typed.id)
      const fn = yield* schedule({ target: { type: "stored_function", name: "add", args: { b: 40, a: 2 } } })
      const call = yield* schedule({ target: { type: "http", url: `${sink.url}/tick`, secret: "hush" } })
      yield* runNow(fn.id)
      yield* runNow(call.id)
      const [one] = yield* Effect.promise(() => sink.count("/tick", 1))
      assert.deepInclude(one?.json as object, { schedule: { id: Number(call.id), name: call.name } })
      assert.match(String(one?.headers["webhook-signature"]), /^v1,/)
      assert.match(String(one?.headers["webhook-id"]), /^run_\d+$/)
      assert.strictEqual((yield* ended(fn.id))[0]?.result, "[42]")
      assert.strictEqual((yield* ended(typed.id))[0]?.result, '["{a,\\"b c\\"}{\\"d\\": [1]}"]')
      assert.strictEqual((yield* ended(call.id))[0]?.status, "succeeded")
      sink.answer = () => ({ status: 500, body: "broken" })
      yield* runNow(call.id)
      assert.deepInclude((yield* ended(call.id, 2))[0], {
        status: "failed",
        error: "The receiver responded with 500 broken"
      })
    })
  )

  it.effect("of a killed process are ended by another, with their statements, and repeated only if they may be", () =>
    Effect.gen(function* () {
      const once = yield* schedule({ target: statements("select pg_sleep(70)") })
      const again = yield* schedule({ retries: 1, target: statements("select pg_sleep(0.1)") })
      for (const { id } of [once, again]) yield* runNow(id)
      // A claim of a process that is gone, whose session PostgreSQL still has.
      const [me] = yield* sql(
        "select oid::text as oid, rolname::text as name from pg_roles where rolname = current_user"
      )
      const sessions = yield* RoleSessions
      const ghost = yield* sessions.open({ name: String(me?.["name"]), oid: String(me?.["oid"]) }, 60_000)
      yield* sql(
        `update svc.schedule_runs set status = 'running', attempt = 1, claim = gen_random_uuid(), started_at = now(),
           lease_until = now() - interval '1 second', backend_pid = $1, backend_start = $2::timestamptz`,
        [ghost.pid, ghost.start]
      )
      yield* replica
      assert.deepInclude((yield* ended(once.id))[0], {
        status: "interrupted",
        error: "The process that ran it has ended"
      })
      assert.deepInclude((yield* ended(again.id))[0], { status: "succeeded", attempt: 2 })
      yield* eventually(sql("select from pg_stat_activity where pid = $1", [ghost.pid]), (left) => left.length === 0)
    })
  )

  it.effect("are interrupted at a shutdown, and end with their schedule", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      yield* Scope.provide(replica, scope)
      const { id } = yield* schedule({ target: statements("select pg_sleep(50)") })
      yield* runNow(id)
      yield* eventually(runs(id), ([run]) => run?.status === "running")
      yield* Scope.close(scope, Exit.void)
      assert.deepInclude((yield* runs(id))[0], { status: "interrupted", error: "The service was shutting down" })
    })
  )

  it.effect("run a thousand at one second, each once", () =>
    Effect.gen(function* () {
      const at = new Date(Date.now() + 6_000)
      const times = `${at.getUTCSeconds()} ${at.getUTCMinutes()} ${at.getUTCHours()} ${at.getUTCDate()} ${at.getUTCMonth() + 1} *`
      const add = (jobs: OwnJobs["Service"]) =>
        Effect.forEach(
          Array.from({ length: 1000 }, (_, n) => `many ${n + 1}`),
          (name) =>
            jobs.add({
              name,
              summary: "",
              times,
              timeout: 60,
              run: () => Effect.succeed("done")
            }),
          { discard: true }
        )
      yield* add(yield* replica)
      yield* add(yield* replica)
      const done = yield* eventually(
        sql(
          "select schedule_id, status, attempt from svc.schedule_runs r join svc.schedules s on s.id = r.schedule_id where name like 'many %' and finished_at is not null"
        ),
        (all) => all.length >= 1000,
        30_000
      )
      assert.strictEqual(done.length, 1000)
      assert.isTrue(done.every(({ attempt, status }) => attempt === 1 && status === "succeeded"))
    })
  )

  it.effect("are not held up by a transaction that has locked another", () =>
    Effect.gen(function* () {
      yield* replica
      const held = yield* schedule({ cron: "* * * * * *", target: statements("select 1") })
      const other = yield* schedule({ cron: "* * * * * *", target: statements("select 2") })
      const locker = yield* session
      yield* locker("begin")
      yield* locker("select from svc.schedules where id = $1 for update", [held.id])
      const before = (yield* runs(other.id)).length
      yield* ended(other.id, before + 2)
      yield* locker("rollback")
      yield* ended(held.id, 1)
      for (const { id } of [held, other]) yield* remove(id)
    })
  )

  it.effect("survive an end of all sessions, as of a restart of PostgreSQL", () =>
    Effect.gen(function* () {
      yield* replica
      const { id } = yield* schedule({ cron: "* * * * * *", target: statements("select 3") })
      yield* ended(id, 1)
      yield* sql(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
      )
      const before = (yield* runs(id).pipe(Effect.retry({ times: 20, schedule: Schedule.spaced("250 millis") }))).length
      const all = yield* ended(id, before + 2)
      assert.strictEqual(all[0]?.status === "failed", false)
      assert.strictEqual(new Set(all.map(({ scheduled_at }) => scheduled_at)).size, all.length)
    })
  )
})
