import { Console, Context, Effect, Layer, Schedule } from "effect"
import { type Access, jsonLine, levelOf, plainLine } from "../../domain/requests/AccessLine.ts"
import { oneOf } from "../../domain/Settings.ts"

/**
 * The requests that are logged (SVC_ACCESS_LOG): none, all, those with an error, or those with an error of the service.
 */
export const accessLog = oneOf("SVC_ACCESS_LOG", "false", ["false", "true", "warn", "error"])

/** ms that a line may wait for others. */
const waitMillis = 100
/**
 * Bytes that are written at a time, whole lines only. POSIX keeps writes of up to 4,096 bytes apart when several processes,
 * as workers do, write to the same pipe; a process that is alone writes more, which takes it less time.
 */
const [maxShared, maxAlone] = [4096, 32_768]

/** A line for each request, on standard output with the other logs: JSON, or for people if that is a terminal. */
export class AccessLog extends Context.Service<
  AccessLog,
  {
    /** Undefined if no request is logged. */
    readonly log: ((access: Access) => void) | undefined
  }
>()("svc/services/AccessLog") {
  /** `worker`: the number of this process, 0 without workers. */
  static readonly layer = (worker: number) =>
    Layer.effect(
      AccessLog,
      Effect.gen(function* () {
        const wanted = yield* accessLog
        if (wanted === "false") return AccessLog.of({ log: undefined })
        const maxWrite = worker === 0 ? maxAlone : maxShared
        const out = yield* Console.Console
        const toLine = process.stdout.isTTY ? plainLine : (access: Access) => jsonLine(access, worker)
        let lines: Array<string> = []
        let size = 0

        const flush = () => {
          if (lines.length === 0) return
          const text = lines.join("\n")
          lines = []
          size = 0
          out.log(text)
        }
        const log = (access: Access) => {
          const level = levelOf(access.status)
          if (wanted !== "true" && level !== "ERROR" && (wanted === "error" || level === "INFO")) return
          const line = toLine(access)
          const length = Buffer.byteLength(line) + 1
          if (size + length > maxWrite) flush()
          lines.push(line)
          size += length
        }
        yield* Effect.addFinalizer(() => Effect.sync(flush))
        yield* Effect.sync(flush).pipe(Effect.repeat(Schedule.spaced(waitMillis)), Effect.forkScoped)
        return AccessLog.of({ log })
      })
    )
}
