import { Clock, Context, Effect, Layer, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { shownReplaced, shownSchedule } from "../../domain/audit/Shown.ts"
import { Conflict, Forbidden, InvalidRequest, type NotFound, type Unavailable } from "../../domain/errors.ts"
import {
  type GivenTarget,
  type NewSchedule,
  type RunStatus,
  type ScheduleChange,
  type ScheduleId,
  ScheduleRecord,
  ScheduleRun,
  scheduleNotFound
} from "../../domain/schedules/Schedule.ts"
import { fromPgCron, nextTimes, parseTimes } from "../../domain/schedules/Times.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { recordChange } from "../audit/Change.ts"
import { onOwnTables, queryRows } from "../OwnTables.ts"
import { OwnJobs } from "../OwnJobs.ts"
import { ScheduleSettings } from "./Settings.ts"

/** How many of the next times a record has, and how many may be asked for. */
const [shownTimes, mostTimes] = [5, 100] as const
const defaultRuns = 50

const runJson = (alias: string) => `json_build_object('id', ${alias}.id, 'schedule_id', ${alias}.schedule_id,
  'cause', ${alias}.cause, 'scheduled_at', ${isoSql(`${alias}.scheduled_at`)}, 'status', ${alias}.status,
  'attempt', ${alias}.attempt, 'started_at', ${isoSql(`${alias}.started_at`)},
  'finished_at', ${isoSql(`${alias}.finished_at`)},
  'duration_ms', round(extract(epoch from ${alias}.finished_at - ${alias}.started_at) * 1000)::float8,
  'result', ${alias}.result, 'error', ${alias}.error)`

const columns = `id, name, origin, expression as cron, timezone, kind, command, target, secret is not null as has_secret, role,
  active, overlap, catch_up, (timeout_ms / 1000.0)::float8 as timeout, retries, problem,
  (select ${runJson("r")} from svc.schedule_runs r where r.schedule_id = s.id order by r.id desc limit 1) as last_run,
  ${isoSql("created_at")} as created_at, ${isoSql("updated_at")} as updated_at`

/** A row: its target is in three columns. */
const Row = Schema.Struct({
  ...Object.fromEntries(
    Object.entries(ScheduleRecord.fields).filter(([name]) => !["target", "next_runs"].includes(name))
  ),
  kind: Schema.String,
  command: Schema.String,
  target: Schema.Unknown,
  has_secret: Schema.Boolean
}) as object as Schema.Codec<
  Omit<ScheduleRecord, "target" | "next_runs"> & {
    readonly kind: string
    readonly command: string
    readonly target: object
    readonly has_secret: boolean
  }
>

/** A target as columns. */
const stored = (target: GivenTarget) => {
  switch (target.type) {
    case "sql":
      return { kind: target.type, command: target.sql, target: {}, secret: null }
    case "stored_function": {
      const { args = {}, name, schema = "public", type } = target
      return { kind: type, command: "", target: { schema, name, args }, secret: null }
    }
    case "function": {
      const { body, name, type } = target
      return { kind: type, command: "", target: { name, ...(body !== undefined && { body }) }, secret: null }
    }
    case "http": {
      const { body, headers = {}, secret = null, type, url } = target
      return { kind: type, command: "", target: { url, headers, ...(body !== undefined && { body }) }, secret }
    }
  }
}

const iso = (at: number) => new Date(at).toISOString()

/** A page of the history. */
export interface RunsPage {
  readonly limit?: number | undefined
  readonly before?: number | undefined
  readonly status?: RunStatus | undefined
}

/** Schedules: what runs at which times, and its history. */
export class Schedules extends Context.Service<
  Schedules,
  {
    /** The service's own jobs last. */
    readonly list: Effect.Effect<ReadonlyArray<ScheduleRecord>, Unavailable>
    readonly find: (id: ScheduleId) => Effect.Effect<ScheduleRecord, NotFound | Unavailable>
    /** 400 `SCHEDULE_TIMES`, `SCHEDULE_ROLE`; 403 `SCHEDULE_ROLE_DENIED`; 409 `SCHEDULE_EXISTS`. */
    readonly create: (
      given: NewSchedule
    ) => Effect.Effect<ScheduleRecord, InvalidRequest | Forbidden | Conflict | Unavailable>
    /** As `create`; 409 `SCHEDULE_OWN`. */
    readonly update: (
      id: ScheduleId,
      change: ScheduleChange
    ) => Effect.Effect<ScheduleRecord, NotFound | InvalidRequest | Forbidden | Conflict | Unavailable>
    /** Deletes the schedule with its history; a run in progress is ended. 409 `SCHEDULE_OWN`. */
    readonly remove: (id: ScheduleId) => Effect.Effect<void, NotFound | Conflict | Unavailable>
    /** Has it run now, also while it is paused. 409 `SCHEDULE_RUNNING`. */
    readonly run: (id: ScheduleId) => Effect.Effect<ScheduleRun, NotFound | Conflict | Unavailable>
    /** The newest first. */
    readonly runs: (id: ScheduleId, page: RunsPage) => Effect.Effect<ReadonlyArray<ScheduleRun>, NotFound | Unavailable>
    /** The next times of an expression. 400 `SCHEDULE_TIMES`. */
    readonly times: (
      cron: string,
      timezone: string,
      count?: number
    ) => Effect.Effect<ReadonlyArray<string>, InvalidRequest>
  }
>()("svc/services/Schedules") {
  static readonly layer = Layer.effect(
    Schedules,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const own = yield* OwnJobs
      const { serviceRole } = yield* ScheduleSettings
      const rows = queryRows(sql, Row)
      const runRows = queryRows(sql, Schema.Struct({ run: ScheduleRun }))

      const shown = ({ command, has_secret, kind, target, ...row }: typeof Row.Type, now: number): ScheduleRecord => {
        const times = parseTimes(row.origin === "cron" ? fromPgCron(row.cron) : row.cron, row.timezone)
        const next_runs =
          row.active && Result.isSuccess(times) ? nextTimes(times.success, now, shownTimes).map(iso) : []
        const what =
          kind === "own"
            ? { type: kind, summary: own.all.get(row.name ?? "")?.summary ?? "" }
            : kind === "sql"
              ? { type: kind, sql: command }
              : { type: kind, ...target, ...(kind === "http" && { has_secret }) }
        return { ...row, target: what as ScheduleRecord["target"], next_runs }
      }

      const select = (where: string, params: ReadonlyArray<unknown> = []) =>
        Effect.flatMap(rows(`select ${columns} from svc.schedules s where ${where}`, params), (found) =>
          Effect.map(Clock.currentTimeMillis, (now) =>
            // Jobs of settings that have changed since, and of newer versions, are not run here.
            found
              .filter(({ name, origin }) => origin !== "own" || own.all.has(name ?? ""))
              .map((row) => shown(row, now))
          )
        )

      const list = onOwnTables(select("true order by origin = 'own', id"))

      const found = (id: ScheduleId, lock = "") =>
        Effect.flatMap(select(`id = $1 ${lock}`, [id]), ([one]) =>
          one === undefined ? Effect.fail(scheduleNotFound(id)) : Effect.succeed(one)
        )
      const find = Effect.fn("Schedules.find")((id: ScheduleId) => onOwnTables(found(id)))

      const times = Effect.fnUntraced(function* (cron: string, timezone: string, count = shownTimes) {
        const parsed = parseTimes(cron, timezone)
        if (Result.isFailure(parsed)) {
          return yield* new InvalidRequest({ error: parsed.failure, code: "SCHEDULE_TIMES" })
        }
        const now = yield* Clock.currentTimeMillis
        return nextTimes(parsed.success, now, Math.min(count, mostTimes)).map(iso)
      })

      /** Service keys can be this role anyway. */
      const checkRole = Effect.fnUntraced(function* (role: string) {
        const [known] = yield* sql.unsafe<{ readonly member: boolean }>(
          "select pg_has_role($1, oid, 'member') as member from pg_roles where rolname = $2",
          [serviceRole, role]
        )
        if (known === undefined) {
          return yield* new InvalidRequest({ error: `The role "${role}" does not exist`, code: "SCHEDULE_ROLE" })
        }
        if (known.member) return undefined
        return yield* new Forbidden({
          error: `Schedules can't run as "${role}": the role of service keys, "${serviceRole}", is no member of it`,
          code: "SCHEDULE_ROLE_DENIED",
          hint: `As an administrator: grant "${role}" to "${serviceRole}"`
        })
      })

      const exists = {
        "23505": () => new Conflict({ error: "Another schedule has this name", code: "SCHEDULE_EXISTS" })
      }

      const create = Effect.fn("Schedules.create")(function* (given: NewSchedule) {
        const { cron, name, overlap = "skip", retries = 0, role = serviceRole, timeout = 300, timezone = "UTC" } = given
        yield* times(cron, timezone)
        const what = stored(given.target)
        const insert = Effect.gen(function* () {
          yield* checkRole(role)
          const [made] = yield* sql.unsafe<{ readonly id: ScheduleId }>(
            `insert into svc.schedules (name, origin, expression, timezone, kind, command, target, secret, role, active,
               overlap, catch_up, timeout_ms, retries)
             values ($1, 'api', $2, $3, $4, $5, $6::text::jsonb, $7, $8, $9::bool, $10, $11, $12::int4, $13::int4) returning id`,
            [
              name,
              cron.trim(),
              timezone,
              what.kind,
              what.command,
              JSON.stringify(what.target),
              what.secret,
              role,
              given.active ?? true,
              overlap,
              given.catch_up ?? "once",
              timeout * 1000,
              retries
            ]
          )
          if (made === undefined) return yield* Effect.die(new Error("An insertion returned no row"))
          const record = yield* found(made.id)
          yield* recordChange(sql, { subject: subjectOf(record.id), after: shownSchedule(record) })
          return record
        })
        return yield* Effect.catchTag(onOwnTables(sql.withTransaction(insert), exists), "NotFound", Effect.die)
      })

      const changeable = Effect.fnUntraced(function* (id: ScheduleId) {
        const before = yield* found(id, "for update")
        if (before.origin !== "own") return before
        return yield* new Conflict({
          error: `The job "${before.name}" is the service's own, and can't be changed`,
          code: "SCHEDULE_OWN",
          hint: "Its times follow the settings of the service"
        })
      })

      const update = Effect.fn("Schedules.update")(function* (id: ScheduleId, change: ScheduleChange) {
        const put = Effect.gen(function* () {
          const before = yield* changeable(id)
          if (change.cron !== undefined || change.timezone !== undefined || change.active === true) {
            const cron = change.cron ?? (before.origin === "cron" ? fromPgCron(before.cron) : before.cron)
            yield* times(cron, change.timezone ?? before.timezone)
          }
          for (const role of new Set([before.role, change.role ?? before.role])) yield* checkRole(role)
          const what = change.target === undefined ? undefined : stored(change.target)
          const keeps = change.target?.type === "http" && change.target.secret === undefined
          // Only what changes: an unchanged expression keeps its next time.
          const values: ReadonlyArray<readonly [string, unknown, string?]> = [
            ["name", change.name],
            ["expression", change.cron?.trim()],
            ["timezone", change.timezone],
            ["role", change.role],
            ["active", change.active, "bool"],
            ["overlap", change.overlap],
            ["catch_up", change.catch_up],
            ["timeout_ms", change.timeout === undefined ? undefined : change.timeout * 1000, "int4"],
            ["retries", change.retries, "int4"],
            ["kind", what?.kind],
            ["command", what?.command],
            ["target", what && JSON.stringify(what.target), "text::jsonb"],
            ["secret", keeps ? undefined : what?.secret]
          ]
          const set = values.filter(([, value]) => value !== undefined)
          if (set.length === 0) return before
          const assignments = set.map(([name, , type = "text"], at) => `${name} = $${at + 2}::${type}`)
          yield* sql.unsafe(`update svc.schedules set ${assignments.join(", ")}, updated_at = now() where id = $1`, [
            id,
            ...set.map(([, value]) => value)
          ])
          const after = yield* found(id)
          yield* recordChange(sql, {
            subject: subjectOf(id),
            before: shownSchedule(before),
            after: { ...shownSchedule(after), ...shownReplaced(change, ["target"]) }
          })
          return after
        })
        return yield* onOwnTables(sql.withTransaction(put), exists)
      })

      const remove = Effect.fn("Schedules.remove")(function* (id: ScheduleId) {
        const gone = Effect.gen(function* () {
          const before = yield* changeable(id)
          yield* sql.unsafe("delete from svc.schedules where id = $1", [id])
          yield* recordChange(sql, { subject: subjectOf(id), before: shownSchedule(before) })
        })
        yield* onOwnTables(sql.withTransaction(gone))
      })

      const run = Effect.fn("Schedules.run")(function* (id: ScheduleId) {
        const begin = Effect.gen(function* () {
          const record = yield* found(id, "for update")
          const [made] = yield* runRows(
            `insert into svc.schedule_runs as r (schedule_id, origin, role, cause, scheduled_at, due_at, status)
             select id, origin, role, 'manual', date_trunc('milliseconds', clock_timestamp()), clock_timestamp(), 'pending'
             from svc.schedules s where id = $1 and (overlap <> 'skip' or not exists (select from svc.schedule_runs o
               where o.schedule_id = s.id and (o.status = 'pending' or o.status = 'running')))
             returning ${runJson("r")} as run`,
            [id]
          )
          if (made === undefined) {
            return yield* new Conflict({
              error: `"${record.name ?? id}" is running already`,
              code: "SCHEDULE_RUNNING",
              hint: "Wait until it has ended, or set its overlap to queue or allow"
            })
          }
          yield* sql.unsafe("select pg_notify('svc_schedules', '')")
          yield* recordChange(sql, { subject: subjectOf(id), after: { run: made.run.id } })
          return made.run
        })
        return yield* onOwnTables(sql.withTransaction(begin))
      })

      const runs = Effect.fn("Schedules.runs")(function* (id: ScheduleId, { before, limit, status }: RunsPage) {
        yield* find(id)
        const page = yield* onOwnTables(
          runRows(
            `select ${runJson("r")} as run from svc.schedule_runs r
             where schedule_id = $1 and id < coalesce($3::text::int8, 9223372036854775807)
               and ($4::text is null or status = $4) order by id desc limit $2::int4`,
            [id, limit ?? defaultRuns, before === undefined ? null : String(before), status ?? null]
          )
        )
        return page.map(({ run }) => run)
      })

      return Schedules.of({ list, find, create, update, remove, run, runs, times })
    })
  )
}

const subjectOf = (id: ScheduleId) => `schedule:${id}`
