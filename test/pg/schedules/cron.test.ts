import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { type ScheduleId } from "../../../src/domain/schedules/Schedule.ts"
import { Schedules } from "../../../src/services/schedules/Schedules.ts"
import { live, Outside, session } from "../../support/database.ts"
import { eventually } from "../../support/eventually.ts"
import { layerSchedules, replica } from "../../support/schedules/schedules.ts"

const sql = (text: string, params?: ReadonlyArray<unknown>) =>
  Effect.flatMap(Outside, (outside) => outside.sql(text, params))
const refusal = <R>(ask: (text: string) => Effect.Effect<unknown, never, R>, text: string) =>
  ask(text).pipe(
    Effect.as("nothing was refused"),
    Effect.catchDefect((defect) => Effect.succeed(String(defect)))
  )

layer(layerSchedules({ name: "schedules_cron", settings: { SVC_SUPABASE: "true" } }), live)("cron", (it) => {
  it.effect("schedules, alters and unschedules jobs as pg_cron does", () =>
    Effect.gen(function* () {
      yield* replica
      yield* sql("create table cron_ran (word text)")
      const [named] = yield* sql(
        "select cron.schedule('each second', '1 second', $$insert into cron_ran values ('a'); delete from cron_ran where false$$) as id"
      )
      const id = Number(named?.["id"])
      const details = yield* eventually(
        sql(
          "select status, return_message, command, username from cron.job_run_details where jobid = $1 and status = 'succeeded'",
          [id]
        ),
        (rows) => rows.length >= 2
      )
      assert.deepInclude(details[0], { status: "succeeded", return_message: "DELETE 0", username: "postgres" })
      assert.deepStrictEqual(yield* sql("select cron.schedule('each second', '0 3 $ * *', 'select 1') as id"), [
        { id: String(id) }
      ])
      const [job] = yield* sql("select * from cron.job where jobid = $1", [id])
      assert.deepInclude(job, {
        schedule: "0 3 $ * *",
        command: "select 1",
        jobname: "each second",
        active: true,
        nodename: "localhost"
      })
      const record = yield* (yield* Schedules).find(id as ScheduleId)
      assert.deepInclude(record, { origin: "cron", timezone: "GMT", overlap: "queue" })
      assert.match(record.next_runs[0] ?? "", /T03:00:00.000Z$/)
      yield* sql("select cron.alter_job(job_id := $1, active := false, schedule := '*/5 1-5 * jan-mar mon,wed')", [id])
      assert.deepInclude((yield* sql("select * from cron.job where jobid = $1", [id]))[0], { active: false })
      assert.deepStrictEqual((yield* (yield* Schedules).find(id as ScheduleId)).next_runs, [])
      yield* sql("delete from cron.job_run_details where end_time < now()")
      assert.deepStrictEqual(yield* sql("select from cron.job_run_details where jobid = $1", [id]), [])
      const [unnamed] = yield* sql("select cron.schedule('@daily', 'vacuum') as id")
      assert.deepStrictEqual(yield* sql("select cron.unschedule($1::bigint) as done", [unnamed?.["id"]]), [
        { done: true }
      ])
      assert.deepStrictEqual(yield* sql("select cron.unschedule('each second') as done"), [{ done: true }])
      assert.deepStrictEqual(yield* sql("select from cron.job"), [])
    })
  )

  it.effect("refuses what pg_cron refuses", () =>
    Effect.gen(function* () {
      for (const wrong of [
        "",
        "* * * *",
        "60 * * * *",
        "* * 32 * *",
        "0 0 * 13 *",
        "0 0 * * 8",
        "60 seconds",
        "0 seconds",
        "1,,2 * * * *",
        "5-1 * * * *",
        "*/0 * * * *",
        "$ * * * *",
        "* * * * * *",
        "@reboot",
        "x"
      ]) {
        assert.include(
          yield* refusal((text) => sql(text, [wrong]), "select cron.schedule($1, 'select 1')"),
          "invalid schedule",
          wrong
        )
      }
      assert.include(yield* refusal(sql, "select cron.unschedule('none')"), "could not find valid entry")
      assert.include(yield* refusal(sql, "select cron.alter_job(99999, active := false)"), "does not exist")
      assert.include(
        yield* refusal(sql, "select cron.schedule_in_database('a', '* * * * *', 'select 1', 'other')"),
        "not supported"
      )
    })
  )

  it.effect("keeps roles apart, and runs a job as the role that made it", () =>
    Effect.gen(function* () {
      yield* replica
      const anon = yield* session
      yield* sql("select cron.schedule('admin', '0 0 1 1 *', 'select 1')")
      yield* anon("set role authenticated")
      assert.include(
        yield* refusal(anon, "select cron.schedule('* * * * *', 'select 1')"),
        "permission denied for schema cron"
      )
      yield* sql("grant usage on schema cron to authenticated")
      assert.deepStrictEqual(yield* anon("select * from cron.job"), [])
      assert.include(yield* refusal(anon, "select cron.unschedule('admin')"), "could not find")
      for (const way of [
        "insert into cron.job (schedule, command, username) values ('1 second', 'select 1', 'postgres')",
        "select cron.alter_job(cron.schedule('mine', '0 0 1 1 *', 'select 1'), username := 'postgres')",
        "update cron.job set username = 'postgres'"
      ]) {
        yield* anon("select cron.schedule('mine', '0 0 1 1 *', 'select 1')")
        assert.include(yield* refusal(anon, way), "check option", way)
      }
      for (const way of ["select * from svc.schedules", "delete from svc.schedule_runs"]) {
        assert.include(yield* refusal(anon, way), "permission denied", way)
      }
      assert.include(yield* refusal(anon, "insert into svc.schedule_runs default values"), "permission denied")
      yield* sql("create table admins_only (word text)")
      yield* sql("revoke all on admins_only from authenticated, anon")
      const [mine] = yield* anon(
        "select cron.schedule('mine', '1 second', 'reset role; insert into admins_only values (1)') as id"
      )
      const runs = yield* eventually(
        sql("select status, return_message from cron.job_run_details where jobid = $1 and end_time is not null", [
          mine?.["id"]
        ]),
        (rows) => rows.length > 0
      )
      assert.deepInclude(runs[0], {
        status: "failed",
        return_message: "permission denied for table admins_only (42501)"
      })
      // A definer's function makes jobs of its owner, whoever calls it, as with pg_cron; an invoker's of its caller.
      yield* sql("create role svc_test_maker nologin")
      yield* Effect.addFinalizer(() =>
        sql("drop owned by svc_test_maker").pipe(Effect.andThen(sql("drop role svc_test_maker")))
      )
      yield* sql("grant usage on schema cron to svc_test_maker")
      yield* sql("grant create on schema public to svc_test_maker")
      yield* sql(
        "set role svc_test_maker; create function public.makes() returns bigint language sql security definer as $$select cron.schedule('made', '0 0 1 1 *', 'select 1')$$; reset role"
      )
      yield* sql("select public.makes()")
      assert.deepStrictEqual(yield* sql("select username from cron.job where jobname = 'made'"), [
        { username: "svc_test_maker" }
      ])
      // Functions on the search path of the caller do not get into the functions of schema cron.
      yield* anon("create temp table job (jobid bigint)")
      yield* anon("set search_path = pg_temp, public")
      assert.strictEqual((yield* anon("select count(*)::int as n from cron.job"))[0]?.["n"], 1)
      yield* anon("select cron.unschedule('mine')")
    })
  )
})
