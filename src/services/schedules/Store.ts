import { Effect, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { dueTimes } from "../../domain/schedules/Plan.ts"
import { fromPgCron, parseTimes } from "../../domain/schedules/Times.ts"
import { schedulesLock } from "../../domain/sql/AdvisoryLocks.ts"
import { queryRows } from "../OwnTables.ts"
import { type OwnJob } from "../OwnJobs.ts"

/** How long a run belongs to a process that does not renew it: the process was killed. */
export const runLeaseSeconds = 30
/** Schedules that one round plans. */
const batch = 500
/** The delay before the first retry, which doubles with each, and the longest one, in seconds. */
const [retryDelay, longestDelay] = [5, 600] as const

/** Kept runs of a schedule, and for how long. */
const kept = { runs: 1_000, days: 30 } as const

export const ClaimedRun = Schema.Struct({
  id: Schema.String,
  schedule_id: Schema.Int,
  name: Schema.NullOr(Schema.String),
  kind: Schema.String,
  command: Schema.String,
  target: Schema.Unknown,
  secret: Schema.NullOr(Schema.String),
  role: Schema.String,
  role_oid: Schema.NullOr(Schema.String),
  timeout_ms: Schema.Int,
  retries: Schema.Int,
  attempt: Schema.Int,
  cause: Schema.String,
  scheduled_at: Schema.Finite
})
export type ClaimedRun = typeof ClaimedRun.Type

const Due = Schema.Struct({
  id: Schema.Int,
  origin: Schema.String,
  role: Schema.String,
  expression: Schema.String,
  timezone: Schema.String,
  overlap: Schema.Literals(["skip", "queue", "allow"]),
  catch_up: Schema.Literals(["skip", "once", "all"]),
  next_at: Schema.NullOr(Schema.Finite),
  busy: Schema.Boolean,
  pending: Schema.Boolean,
  now: Schema.Finite
})
type Due = typeof Due.Type

const Backend = Schema.Struct({ pid: Schema.NullOr(Schema.Int), start: Schema.NullOr(Schema.String) })

/** Own jobs run in a process that has them; $1 has their names. */
const known = "(s.origin <> 'own' or s.name = any($1::text[]))"

/** A run may begin unless its schedule is running, or this process has no room ($2). */
const ready = `r.status = 'pending' and ($2::int4 > 0 or s.origin = 'own')
  and (s.overlap = 'allow' or not exists (
    select from svc.schedule_runs o where o.schedule_id = s.id and o.status = 'running'))`

const waitSql = `select (extract(epoch from min(at) - clock_timestamp()) * 1000)::float8 as wait from (
  select min(coalesce(s.next_at, clock_timestamp())) as at from svc.schedules s
    where s.active and (s.next_at is null or isfinite(s.next_at)) and ${known}
  union all select min(r.due_at) from svc.schedule_runs r join svc.schedules s on s.id = r.schedule_id where ${ready} and ${known}
  union all select min(lease_until) from svc.schedule_runs where status = 'running') times`

/** Rows that a transaction of their owner has locked wait, and hold up no other. */
const dueSql = `select s.id, s.origin, s.role, s.expression, s.timezone, s.overlap, s.catch_up,
    (extract(epoch from s.next_at) * 1000)::float8 as next_at,
    exists (select from svc.schedule_runs r where r.schedule_id = s.id and r.status in ('pending', 'running')) as busy,
    exists (select from svc.schedule_runs r where r.schedule_id = s.id and r.status = 'pending') as pending,
    (extract(epoch from clock_timestamp()) * 1000)::float8 as now
  from svc.schedules s
  where s.active and (s.next_at is null or s.next_at <= clock_timestamp()) and ${known}
  order by s.next_at nulls first limit ${batch} for update skip locked`

const planSql = `update svc.schedules s set problem = p.problem,
    next_at = coalesce(to_timestamp(p.next / 1000), 'infinity')
  from jsonb_to_recordset($1::text::jsonb) as p (id int, problem text, next float8) where s.id = p.id`

const addSql = `insert into svc.schedule_runs (schedule_id, origin, role, cause, scheduled_at, due_at, status, finished_at, error)
  select p.id, p.origin, p.role, 'time', to_timestamp(p.at / 1000), clock_timestamp(),
    case when p.error is null then 'pending' else 'skipped' end, case when p.error is not null then now() end, p.error
  from jsonb_to_recordset($1::text::jsonb) as p (id int, origin text, role text, at float8, error text)
  on conflict (schedule_id, scheduled_at) where cause = 'time' do nothing`

/** A run that may be repeated is, others end. */
const endLostSql = `with lost as (
    select id from svc.schedule_runs where status = 'running' and lease_until < clock_timestamp() for update skip locked)
  update svc.schedule_runs r set claim = null, lease_until = null, due_at = clock_timestamp(),
    status = case when r.attempt <= s.retries then 'pending' else 'interrupted' end,
    finished_at = case when r.attempt <= s.retries then null else clock_timestamp() end,
    error = 'The process that ran it has ended'
  from svc.schedules s, lost, svc.schedule_runs before
  where r.id = lost.id and s.id = r.schedule_id and before.id = r.id
  returning before.backend_pid as pid, before.backend_start::text as start`

/** One run of a schedule at a time, unless it allows more. */
const claimSql = `with candidates as (
    select r.id, r.due_at, s.origin = 'own' as own, s.overlap = 'allow'
      or row_number() over (partition by s.id order by r.due_at, r.scheduled_at, r.id) = 1 as first
    from svc.schedule_runs r join svc.schedules s on s.id = r.schedule_id
    where ${ready} and ${known} and r.due_at <= clock_timestamp()),
  chosen as (
    select id from (select id, own, row_number() over (partition by own order by due_at, id) as place
                    from candidates where first) ranked where own or place <= $2::int4),
  locked as (select r.id from svc.schedule_runs r join chosen using (id) for update of r skip locked)
  update svc.schedule_runs r set status = 'running', attempt = r.attempt + 1, claim = $3::text::uuid, error = null,
    lease_until = clock_timestamp() + interval '${runLeaseSeconds} seconds', started_at = clock_timestamp()
  from svc.schedules s, locked where r.id = locked.id and s.id = r.schedule_id and r.status = 'pending'
  returning r.id::text as id, r.schedule_id, s.name, s.kind, s.command, s.target, s.secret, s.role,
    s.role_oid::text as role_oid, s.timeout_ms, s.retries, r.attempt, r.cause,
    (extract(epoch from r.scheduled_at) * 1000)::float8 as scheduled_at`

const registerSql = [
  `insert into svc.schedules (name, origin, kind, expression, timezone, role, overlap, catch_up, timeout_ms)
   select p.name, 'own', 'own', p.times, 'UTC', current_user, 'skip', p.catch_up, p.timeout * 1000
   from jsonb_to_recordset($1::text::jsonb) as p (name text, times text, catch_up text, timeout int)
   on conflict (name) where origin = 'own' do nothing`,
  `update svc.schedules s set expression = p.times
   from jsonb_to_recordset($1::text::jsonb) as p (name text, times text)
   where s.origin = 'own' and s.name = p.name and s.expression <> p.times`,
  `update svc.schedules s set catch_up = p.catch_up, timeout_ms = p.timeout * 1000
   from jsonb_to_recordset($1::text::jsonb) as p (name text, catch_up text, timeout int)
   where s.origin = 'own' and s.name = p.name and (s.catch_up, s.timeout_ms) <> (p.catch_up, p.timeout * 1000)`
]

const missed = "Missed: no process of the service was running"
const overlapping = "The previous run had not ended"

/** What becomes of a schedule whose time has come, and the runs that are added. */
const planned = ({ busy, catch_up, expression, id, next_at, now, origin, overlap, pending, role, timezone }: Due) => {
  const parsed = parseTimes(origin === "cron" ? fromPgCron(expression) : expression, timezone)
  if (Result.isFailure(parsed)) return { plan: { id, problem: parsed.failure, next: null }, runs: [] }
  if (next_at === null) return { plan: { id, problem: null, next: parsed.success.next(now) ?? null }, runs: [] }
  const due = dueTimes(parsed.success, next_at, catch_up, now)
  const waits = (overlap === "skip" && busy) || (overlap === "queue" && pending)
  const run = (at: number, error: string | null) => ({ id, origin, role, at, error })
  return {
    plan: { id, problem: null, next: due.next ?? null },
    runs: [
      ...(due.missed === undefined ? [] : [run(due.missed, missed)]),
      ...due.run.map((at) => run(at, waits ? overlapping : null))
    ]
  }
}

/** svc.schedules and svc.schedule_runs, as the runner uses them. `names`: the own jobs of this process. */
export const makeScheduleStore = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const due = queryRows(sql, Due)
  const claimed = queryRows(sql, ClaimedRun)
  const backends = queryRows(sql, Backend)

  /** ms until something is to be done; undefined: nothing is. */
  const wait = (names: ReadonlyArray<string>, room: number) =>
    Effect.map(sql.unsafe<{ readonly wait: number | null }>(waitSql, [names, room]), ([row]) => row?.wait ?? undefined)

  /**
   * Adds the runs whose time has come, and claims as many as there is room for. One process at a time, so that all agree
   * on what is running. `moved`: whether anything was done.
   */
  const round = (names: ReadonlyArray<string>, room: number, claim: string) =>
    Effect.gen(function* () {
      yield* sql.unsafe(`select pg_advisory_xact_lock(${schedulesLock})`)
      const lost = yield* backends(endLostSql)
      const plans = (yield* due(dueSql, [names])).map(planned)
      if (plans.length > 0) {
        yield* sql.unsafe(planSql, [JSON.stringify(plans.map(({ plan }) => plan))])
        const runs = plans.flatMap(({ runs }) => runs)
        if (runs.length > 0) yield* sql.unsafe(addSql, [JSON.stringify(runs)])
      }
      const runs = yield* claimed(claimSql, [names, room, claim])
      return { runs, lost, moved: lost.length + plans.length + runs.length > 0 }
    }).pipe(sql.withTransaction)

  /** Ends the statements of runs whose process was killed: PostgreSQL notices that only when it sends rows. */
  const terminate = (lost: ReadonlyArray<typeof Backend.Type>) =>
    Effect.forEach(
      lost.filter(({ pid }) => pid !== null),
      ({ pid, start }) =>
        sql.unsafe(
          "select pg_terminate_backend(pid) from pg_stat_activity where pid = $1 and backend_start = $2::text::timestamptz",
          [pid, start]
        ),
      { discard: true }
    )

  const begun = (run: ClaimedRun, claim: string) => (pid: number, start: string) =>
    Effect.ignore(
      sql.unsafe(
        "update svc.schedule_runs set backend_pid = $3, backend_start = $4::text::timestamptz where id = $1::text::int8 and claim = $2::text::uuid",
        [run.id, claim, pid, start]
      )
    )

  /** Keeps the runs of this process, and returns those that still are. */
  const renew = (ids: ReadonlyArray<string>, claim: string) =>
    Effect.map(
      sql.unsafe<{ readonly id: string }>(
        `with mine as (select id from svc.schedule_runs where id = any($1::text[]::int8[]) and claim = $2::text::uuid
           for update skip locked), renewed as (
           update svc.schedule_runs set lease_until = clock_timestamp() + interval '${runLeaseSeconds} seconds'
           where id in (select id from mine))
         select id::text as id from svc.schedule_runs where id = any($1::text[]::int8[]) and claim = $2::text::uuid`,
        [ids, claim]
      ),
      (rows) => rows.map(({ id }) => id)
    )

  /** Records the end of an attempt; one that failed is retried if any are left. `final`: it is not. */
  const finish = (
    run: ClaimedRun,
    claim: string,
    {
      error,
      result,
      status
    }: {
      readonly status: "succeeded" | "failed" | "interrupted"
      readonly result: string | null
      readonly error: string | null
    }
  ) => {
    const again = status !== "succeeded" && run.attempt <= run.retries
    const delay = again ? Math.min(longestDelay, retryDelay * 2 ** (run.attempt - 1)) : 0
    return sql.unsafe(
      `update svc.schedule_runs set status = $3, result = $4, error = $5, claim = null, lease_until = null,
         backend_pid = null, backend_start = null, due_at = clock_timestamp() + make_interval(secs => $6::float8),
         finished_at = case when $3 <> 'pending' then clock_timestamp() end
       where id = $1::text::int8 and claim = $2::text::uuid`,
      [run.id, claim, again ? "pending" : status, result, error, delay]
    )
  }

  /** Deletes a run that had nothing to do. */
  const forget = (run: ClaimedRun, claim: string) =>
    sql.unsafe("delete from svc.schedule_runs where id = $1::text::int8 and claim = $2::text::uuid", [run.id, claim])

  const register = (jobs: ReadonlyArray<OwnJob>) => {
    const text = JSON.stringify(
      jobs.map(({ catchUp = false, name, timeout, times }) => ({
        name,
        timeout,
        times,
        catch_up: catchUp ? "once" : "skip"
      }))
    )
    return sql.withTransaction(Effect.forEach(registerSql, (one) => sql.unsafe(one, [text]), { discard: true }))
  }

  /** Deletes old runs, and returns their number. */
  const prune = Effect.map(
    sql.unsafe(
      `delete from svc.schedule_runs where status not in ('pending', 'running') and id in (
         select id from svc.schedule_runs where finished_at < now() - interval '${kept.days} days'
         union all
         select old.id from svc.schedules s cross join lateral (select id from svc.schedule_runs r
           where r.schedule_id = s.id order by id desc offset ${kept.runs} limit 10000) old)
       returning id`
    ),
    ({ length }) => length
  )

  return { wait, round, terminate, begun, renew, finish, forget, register, prune }
})
