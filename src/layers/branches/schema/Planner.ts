import { Effect, Layer, Semaphore } from "effect"
import { Worker } from "node:worker_threads"
import { Unprocessable } from "../../../domain/errors.ts"
import { SchemaPlanner } from "../../../services/ports/branches/SchemaPlanner.ts"
import type { PlannerMessage, PlannerTask } from "./Worker.ts"

/** MB of the thread's heap: many times what ten thousand tables need. */
const maxHeap = 1024

const notExpressible = (reason: string) =>
  new Unprocessable({
    error: "The difference of the schemas can't be written as statements",
    code: "SCHEMA_NOT_EXPRESSIBLE",
    details: reason.slice(0, 4_000),
    hint: "Make the change that the reason names in both databases, and compare again"
  })

/** Runs a task in a thread, which ends with the effect. */
const inThread = (task: PlannerTask): Effect.Effect<Exclude<PlannerMessage, { problem: string }>, Unprocessable> =>
  Effect.callback((resume) => {
    const worker = new Worker(new URL("./Worker.ts", import.meta.url), {
      workerData: task,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: maxHeap }
    })
    worker.on("message", (message: PlannerMessage) => {
      // `node --watch` sends messages of its own on this channel.
      if ("problem" in message) resume(Effect.fail(notExpressible(message.problem)))
      else if ("difference" in message || "fingerprint" in message) resume(Effect.succeed(message))
    })
    worker.on("error", (error) => resume(Effect.fail(notExpressible(String(error)))))
    worker.on("exit", () => resume(Effect.fail(notExpressible("its thread ended unexpectedly"))))
    return Effect.promise(() => worker.terminate())
  })

/** One thread at a time. */
export const layerSchemaPlanner = Layer.effect(
  SchemaPlanner,
  Effect.gen(function* () {
    const turns = yield* Semaphore.make(1)
    const run = (task: PlannerTask) => turns.withPermits(1)(inThread(task))
    const unexpected = Effect.fail(notExpressible("its thread returned something else"))
    return SchemaPlanner.of({
      difference: (source, desired, to) =>
        Effect.flatMap(run({ source, desired, to }), (message) =>
          "difference" in message ? Effect.succeed(message.difference) : unexpected
        ),
      fingerprint: (source, other) =>
        Effect.flatMap(run({ source, other }), (message) =>
          "fingerprint" in message ? Effect.succeed(message.fingerprint) : unexpected
        )
    })
  })
)
