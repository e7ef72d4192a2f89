import { Effect } from "effect"
import { Worker } from "node:worker_threads"
import { type DumpContents } from "../../../domain/dumps/Contents.ts"
import { DumpFailed } from "../../../services/ports/DumpTools.ts"
import type { ContentsMessage, ContentsTask } from "./Worker.ts"

const unreadable = (reason: string) => new DumpFailed({ reason: `Failed to read the dump: ${reason}` })

/** Reads the content of a dump in a thread, which ends with the effect. */
export const dumpContents = (task: ContentsTask): Effect.Effect<DumpContents, DumpFailed> =>
  Effect.callback((resume) => {
    const worker = new Worker(new URL("./Worker.ts", import.meta.url), { workerData: task, env: {} })
    worker.on("message", (message: ContentsMessage) => {
      // `node --watch` sends messages of its own on this channel.
      if ("problem" in message) resume(Effect.fail(unreadable(message.problem)))
      else if ("tables" in message) resume(Effect.succeed(message))
    })
    worker.on("error", (error) => resume(Effect.fail(unreadable(String(error)))))
    worker.on("exit", () => resume(Effect.fail(unreadable("its thread ended unexpectedly"))))
    return Effect.promise(() => worker.terminate())
  })
