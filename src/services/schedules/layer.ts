import { Layer } from "effect"
import { OwnJobs } from "../OwnJobs.ts"
import { layerScheduleRunner } from "./Runner.ts"
import { Schedules } from "./Schedules.ts"
import { ScheduleSettings } from "./Settings.ts"

/** Schedules, and the runner of theirs and of the service's own jobs. */
export const layer = Layer.mergeAll(Schedules.layer, layerScheduleRunner).pipe(
  Layer.provideMerge(ScheduleSettings.layer),
  Layer.provideMerge(OwnJobs.layer)
)
