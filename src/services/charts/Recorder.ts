import { Clock, Effect, Layer, Random } from "effect"
import { SqlClient } from "effect/sql"
import { chartSteps } from "../../domain/charts/Points.ts"
import { logFailure, onOwnTables } from "../OwnTables.ts"
import { RequestLog } from "../requests/RequestLog.ts"

const minuteMillis = 60_000
const minuteOf = (at: number) => Math.floor(at / minuteMillis)
const isoOf = (minute: number) => new Date(minute * minuteMillis).toISOString()
/** Minutes whose counts the process still has: those that the database was unreachable for are made up. */
const made = 58
/** ms after the end of a minute until its counts are recorded, and how much later at most, so that replicas do not meet. */
const [late, spread] = [1_000, 4_000]

const steps = chartSteps.map(({ step }) => step)
/** A row for each step, the beginning of which contains the minute $1. */
const places = `select step, to_timestamp(floor(extract(epoch from $1::timestamptz) / step) * step) as at
  from unnest(array[${steps.join(", ")}]) as step`

/** Adds what this process has counted. */
const addSql = `insert into svc.chart_points as p (step, at, requests, refused, errors, latencies)
  select step, at, $2::int8, $3::int8, $4::int8, $5::text::int8[] from (${places}) s
  on conflict (step, at) do update set requests = p.requests + excluded.requests, refused = p.refused + excluded.refused,
    errors = p.errors + excluded.errors, latencies = (
      select coalesce(array_agg(coalesce(a, 0) + coalesce(b, 0) order by n), '{}')
      from unnest(p.latencies, excluded.latencies) with ordinality as t (a, b, n))`

/** One process of all measures each minute: the first to mark it. */
const claimSql = `insert into svc.chart_points as p (step, at, sampled) values (60, $1::timestamptz, true)
  on conflict (step, at) do update set sampled = true where not p.sampled returning 1 as one`

/** The size of a database is the sum of its files' sizes, so it is not measured every minute. */
const measureSql = `with m as materialized (
    select count(*)::int as connections, count(*) filter (where state = 'active' and pid <> pg_backend_pid())::int as active,
      count(*) filter (where state = 'active' and pid <> pg_backend_pid() and query_start < now() - interval '1 second')::int as slow,
      case when extract(minute from $1::timestamptz)::int % 10 = 0 then pg_database_size(current_database()) end as bytes
    from pg_stat_activity where backend_type = 'client backend')
  insert into svc.chart_points as p (step, at, connections, active, slow, database_bytes)
  select step, at, connections, active, slow, bytes from (${places}) s cross join m
  on conflict (step, at) do update set connections = greatest(p.connections, excluded.connections),
    active = greatest(p.active, excluded.active), slow = greatest(p.slow, excluded.slow),
    database_bytes = coalesce(excluded.database_bytes, p.database_bytes)`

const pruneSql = `delete from svc.chart_points where ${chartSteps
  .map(({ hours, step }) => `step = ${step} and at < now() - interval '${hours + 1} hours'`)
  .join(" or ")}`

/** Records what a process has counted, and what PostgreSQL reports. */
export const makeChartRecorder = Effect.fnUntraced(function* (begun: number) {
  const sql = yield* SqlClient.SqlClient
  const log = yield* RequestLog
  /** The last minute that is recorded. */
  let recorded = minuteOf(begun) - 1

  const add = Effect.fnUntraced(function* (minute: number) {
    const tally = log.minute(minute)
    if (tally === undefined) return
    const { errors, refused, requests } = tally.counts
    const latencies = `{${tally.latencies.toJSON().join(",")}}`
    yield* sql.unsafe(addSql, [isoOf(minute), requests, refused, errors, latencies])
  })

  /** Adds the minutes from the last recorded one on. */
  const addUpTo = Effect.fnUntraced(function* (last: number) {
    for (let minute = Math.max(recorded + 1, last - made); minute <= last; minute++) {
      yield* add(minute)
      recorded = minute
    }
  })

  const measure = Effect.fnUntraced(function* (minute: number) {
    const mine = yield* sql.unsafe(claimSql, [isoOf(minute)])
    if (mine.length === 0) return
    yield* sql.unsafe(measureSql, [isoOf(minute)])
    if (minute % 10 === 0) yield* sql.unsafe(pruneSql)
  })

  return {
    /** Records the minutes that have ended. */
    round: (now: number) =>
      onOwnTables(Effect.andThen(addUpTo(minuteOf(now) - 1), sql.withTransaction(measure(minuteOf(now) - 1)))),
    /** Records the current minute, too: counts are added, and this process counts nothing more. */
    finish: (now: number) => onOwnTables(addUpTo(minuteOf(now)))
  }
})

/** Records every minute what this process has counted, and once for all processes what PostgreSQL reports. */
export const layerChartRecorder = Layer.effectDiscard(
  Effect.gen(function* () {
    const recorder = yield* makeChartRecorder(yield* Clock.currentTimeMillis)
    const wait = Effect.gen(function* () {
      const left = minuteMillis - ((yield* Clock.currentTimeMillis) % minuteMillis)
      yield* Effect.sleep(left + late + (yield* Random.nextIntBetween(0, spread)))
    })
    const round = Effect.flatMap(Clock.currentTimeMillis, recorder.round).pipe(
      Effect.catchCause(logFailure("Failed to record the charts"))
    )
    yield* Effect.addFinalizer(() =>
      Effect.flatMap(Clock.currentTimeMillis, recorder.finish).pipe(
        Effect.timeoutOption("2 seconds"),
        Effect.ignore({ log: "Debug" })
      )
    )
    yield* wait.pipe(Effect.andThen(round), Effect.forever, Effect.forkScoped)
  })
)
