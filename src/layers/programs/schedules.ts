import { Effect, Schema } from "effect"
import { ScheduleRecord, ScheduleRun } from "../../domain/schedules/Schedule.ts"
import { columns, CommandFailed, printResult } from "../process/Output.ts"
import { askService, type RunningService } from "./RunningService.ts"

const path = "/api/schedules"
const all = (at: RunningService) => askService(Schema.Array(ScheduleRecord), "schedules", at, path)
const nameOf = ({ id, name }: ScheduleRecord) => name ?? `schedule ${id}`

/** `svc schedules list`. */
export const listSchedules = (at: RunningService) =>
  Effect.flatMap(all(at), (schedules) =>
    printResult(
      columns(
        ["id", "name", "state", "times", "next", "last run"],
        schedules.map((one) => [
          String(one.id),
          nameOf(one),
          one.problem === null ? (one.active ? "active" : "paused") : "invalid",
          `${one.cron} ${one.timezone}`,
          one.next_runs[0] ?? "-",
          one.last_run?.status ?? "-"
        ])
      ),
      schedules
    )
  )

/** The schedule with a name or, if none has it, an id. */
const find = Effect.fnUntraced(function* (at: RunningService, given: string) {
  const schedules = yield* all(at)
  const found = schedules.find(({ name }) => name === given) ?? schedules.find(({ id }) => String(id) === given)
  return (
    found ??
    (yield* new CommandFailed({ message: `There is no schedule ${given}: svc schedules list shows them`, code: 1 }))
  )
})

type Chosen = RunningService & { readonly schedule: string }

/** `svc schedules run`: on request, without waiting for its end. */
export const runSchedule = Effect.fnUntraced(function* (given: Chosen) {
  const found = yield* find(given, given.schedule)
  const run = yield* askService(ScheduleRun, "a run", given, `${path}/${found.id}/run`, {})
  yield* printResult(`The run ${run.id} of ${nameOf(found)} has been requested`, run)
})

const change = (active: boolean) =>
  Effect.fnUntraced(function* (given: Chosen) {
    const found = yield* find(given, given.schedule)
    const changed = yield* askService(ScheduleRecord, "a schedule", given, `${path}/${found.id}`, { active }, "PATCH")
    const next = changed.next_runs[0]
    yield* printResult(
      active
        ? `${nameOf(found)} is active${next === undefined ? "" : `, next at ${next}`}`
        : `${nameOf(found)} is paused`,
      changed
    )
  })

/** `svc schedules pause`. */
export const pauseSchedule = change(false)
/** `svc schedules resume`. */
export const resumeSchedule = change(true)
