import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Schedules } from "../../services/schedules/Schedules.ts"
import { Api } from "../Api.ts"
import { success } from "../wire/Body.ts"

export const SchedulesHandlers = HttpApiBuilder.group(
  Api,
  "schedules",
  Effect.fn(function* (handlers) {
    const schedules = yield* Schedules
    return handlers.handleAll({
      list: () => schedules.list,
      create: ({ payload }) => schedules.create(payload),
      times: ({ query }) =>
        Effect.map(schedules.times(query.cron, query.timezone ?? "UTC", query.count), (times) => ({ times })),
      find: ({ params }) => schedules.find(params.id),
      update: ({ params, payload }) => schedules.update(params.id, payload),
      remove: ({ params }) => Effect.as(schedules.remove(params.id), success),
      run: ({ params }) => schedules.run(params.id),
      runs: ({ params, query }) => schedules.runs(params.id, query)
    })
  })
)
