import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Console, Effect, Exit, Layer } from "effect"
import { readFileSync } from "node:fs"
import { guardJsonParse } from "../../domain/text/EscapedKeys.ts"
import { leaveAllocator } from "./NodeEnvironment.ts"
import { workerNumber } from "./WorkerSettings.ts"
import { startFailure } from "./StartError.ts"

guardJsonParse()

/** How often the parent is looked at, in ms. */
const interval = 500

/** The parent of a process, on Linux; undefined elsewhere, or if the process has ended. */
const parentOf = (pid: number) => {
  try {
    return /^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]
  } catch {
    return undefined
  }
}

/**
 * Ends the service with the npm that runs it. npm forwards SIGTERM to the shell that runs the script, and shells such as
 * Debian's dash end by it without forwarding it: the service would keep its ports and its data directory, and no one
 * would wait for it. A shell that has ended is seen by the parent's id, which then changes.
 */
const endWithNpm = (): void => {
  if (process.env["npm_lifecycle_event"] === undefined || process.platform === "win32") return
  // `npm run dev` has a process between the shell and the service, which restarts it on changes.
  const watched = process.env["WATCH_REPORT_DEPENDENCIES"] !== undefined
  const shell = () => (watched ? parentOf(process.ppid) : String(process.ppid))
  const first = shell()
  setInterval(() => {
    if (shell() !== first) process.kill(watched ? process.ppid : process.pid, "SIGTERM")
  }, interval).unref()
}

/** Ends the service as SIGINT does when its terminal is closed: Node's default would leave PostgreSQL running. */
const endWithTerminal = (): void => {
  process.on("SIGHUP", () => {
    // The terminal accepts no more output.
    for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined)
    process.emit("SIGINT")
  })
}

/**
 * Runs the service until SIGTERM, SIGINT, SIGHUP or the end of the npm that runs it, and exits with 0 then; with 1
 * if it fails to start or fails later; `report` gets the reason in one line.
 */
export const run = <E>(
  service: Layer.Layer<never, E>,
  report: (line: string) => Effect.Effect<void> = Console.error
): void => {
  leaveAllocator()
  if (workerNumber === undefined) endWithNpm()
  endWithTerminal()
  Layer.launch(service).pipe(
    Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : report(startFailure(cause)))),
    NodeRuntime.runMain({
      disableErrorReporting: true,
      teardown: (exit, end) => end(Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause) ? 1 : 0)
    })
  )
}
