import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Fiber, Option, type Redacted, Stream } from "effect"
import { ChildProcess, type ChildProcessSpawner } from "effect/process"
import { basename } from "node:path"
import { DumpFailed } from "../../../services/ports/DumpTools.ts"
import { type ProgramEnv } from "./Login.ts"
import { lineCutter, makeMessages } from "./Messages.ts"

/** Time in ms to end after SIGTERM, which has the server break off the statement; then all that is left is killed. */
const grace = 5_000

/** Starts programs of PostgreSQL. */
export const layerProcesses = NodeServices.layer

type Spawner = ChildProcessSpawner.ChildProcessSpawner

const command = (
  path: string,
  args: ReadonlyArray<string>,
  env: ProgramEnv,
  stdout: "ignore" | "pipe",
  forceKillAfter: number
) => ChildProcess.make(path, args, { env, extendEnv: false, stdin: "ignore", stdout, stderr: "pipe", forceKillAfter })

/** The most that is read of an answer: the contents of an archive with half a million entries. */
const answerLimit = 64 * 1024 * 1024

/**
 * What a program prints, its errors too, whatever its exit code. Undefined when it can't be started, or has not ended
 * after so many ms, when it is ended.
 */
export const answerOf = (
  path: string,
  args: ReadonlyArray<string>,
  env: ProgramEnv,
  patience: number
): Effect.Effect<string | undefined, never, Spawner> =>
  Effect.gen(function* () {
    const handle = yield* command(path, args, env, "pipe", 200)
    const said = yield* Stream.runFold(
      Stream.decodeText(handle.all),
      () => "",
      (all, text) => (all.length < answerLimit ? all + text : all)
    )
    yield* handle.exitCode
    return said
  }).pipe(
    Effect.scoped,
    Effect.timeoutOption(patience),
    Effect.map(Option.getOrUndefined),
    Effect.orElseSucceed(() => undefined)
  )

/** A program at work. */
interface Running {
  readonly pid: number
  /** Its warnings, when it has ended well. */
  readonly ended: Effect.Effect<ReadonlyArray<string>, DumpFailed>
}

/**
 * Starts a program, which is ended with the scope, and all that it has started.
 *
 * @param onInfo gets the lines of --verbose
 * @param password is struck out of its messages
 */
export const startProgram = Effect.fnUntraced(function* (
  path: string,
  args: ReadonlyArray<string>,
  env: ProgramEnv,
  password: Redacted.Redacted,
  onInfo: (line: string) => void
) {
  const name = basename(path, ".exe")
  const handle = yield* Effect.mapError(
    command(path, args, env, "ignore", grace),
    ({ reason }) => new DumpFailed({ reason: `${name} can't be started: ${reason._tag}` })
  )
  const messages = makeMessages(onInfo)
  const cutter = lineCutter(messages.add)
  // Also when it is read to no end: its exit code is what counts.
  const reading = yield* Stream.runForEach(Stream.decodeText(handle.stderr), (text) =>
    Effect.sync(() => cutter.push(text))
  ).pipe(Effect.ignore, Effect.forkScoped)
  const ended = Effect.gen(function* () {
    const how = yield* Effect.match(handle.exitCode, {
      onSuccess: (code) => (code === 0 ? undefined : `${name} ended with exit code ${code}`),
      onFailure: () => `${name} was killed`
    })
    // Whatever it has started may have the pipe open for a moment longer.
    yield* Effect.timeoutOption(Fiber.join(reading), "2 seconds")
    cutter.end()
    if (how !== undefined) return yield* new DumpFailed({ reason: messages.reason(how, password) })
    return messages.warnings()
  })
  const running: Running = { pid: handle.pid, ended }
  return running
})
