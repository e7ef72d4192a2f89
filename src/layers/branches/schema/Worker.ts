import { parentPort, workerData } from "node:worker_threads"
import type { SchemaReading } from "../../../domain/branches/schema/Corrections.ts"
import { schemaDifference, schemaFingerprintOf } from "../../../domain/branches/schema/Difference.ts"
import { type SchemaDifference, type SchemaTarget } from "../../../domain/branches/schema/SchemaDifference.ts"

// The thread of Planner.ts, which compares all objects of two databases, while the main thread answers requests.

export type PlannerTask =
  | { readonly source: SchemaReading; readonly desired: SchemaReading; readonly to: SchemaTarget }
  | { readonly source: SchemaReading; readonly other: string }

export type PlannerMessage =
  | { readonly difference: SchemaDifference }
  | { readonly fingerprint: string }
  | { readonly problem: string }

const run = (task: PlannerTask): PlannerMessage => {
  try {
    return "other" in task
      ? { fingerprint: schemaFingerprintOf(task.source, task.other) }
      : { difference: schemaDifference(task.source, task.desired, task.to) }
  } catch (cause) {
    return { problem: cause instanceof Error ? cause.message : String(cause) }
  }
}

const port = parentPort
if (port === null) throw new Error("This runs as a worker thread")
port.postMessage(run(workerData as PlannerTask))
