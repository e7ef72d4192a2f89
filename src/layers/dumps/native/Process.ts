import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Fiber, Option, type Redacted, Stream } from "effect"
import { ChildProcess, type ChildProcessSpawner } from "effect/process"
import { basename } from "node:path"
import { DumpFailed } from "../../../services/ports/DumpTools.ts"
import { type ProgramEnv } from "./Login.ts"
import { lineSplitter, makeToolMessages } from "./Messages.ts"

/** Time in ms after SIGTERM, which makes the server cancel the statement, before the process group is killed. */
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

/** Maximum output in characters, enough for the contents of an archive with half a million entries. */
const outputLimit = 64 * 1024 * 1024

/**
 * The output of a program, errors included, whatever its exit code. Undefined when it can't be started, or when it is
 * terminated after the timeout in ms.
 */
export const outputOf = (
  path: string,
  args: ReadonlyArray<string>,
  env: ProgramEnv,
  timeout: number
): Effect.Effect<string | undefined, never, Spawner> =>
  Effect.gen(function* () {
    const handle = yield* command(path, args, env, "pipe", 200)
    const output = yield* Stream.runFold(
      Stream.decodeText(handle.all),
      () => "",
      (all, text) => (all.length < outputLimit ? all + text : all)
    )
    yield* handle.exitCode
    return output
  }).pipe(
    Effect.scoped,
    Effect.timeoutOption(timeout),
    Effect.map(Option.getOrUndefined),
    Effect.orElseSucceed(() => undefined)
  )

/** A running program. */
interface Running {
  readonly pid: number
  /** Returns the warnings when it succeeds. */
  readonly ended: Effect.Effect<ReadonlyArray<string>, DumpFailed>
}

/**
 * Starts a program, which is terminated with its children when the scope closes.
 *
 * @param onInfo receives the lines of --verbose
 * @param password is masked in its messages
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
    ({ reason }) => new DumpFailed({ reason: `Failed to start ${name}: ${reason._tag}` })
  )
  const messages = makeToolMessages(onInfo)
  const splitter = lineSplitter(messages.add)
  // Errors of reading are ignored: the exit code decides.
  const reading = yield* Stream.runForEach(Stream.decodeText(handle.stderr), (text) =>
    Effect.sync(() => splitter.push(text))
  ).pipe(Effect.ignore, Effect.forkScoped)
  const ended = Effect.gen(function* () {
    const how = yield* Effect.match(handle.exitCode, {
      onSuccess: (code) => (code === 0 ? undefined : `${name} ended with exit code ${code}`),
      onFailure: () => `${name} was killed`
    })
    // Its children may keep the pipe open a little longer.
    yield* Effect.timeoutOption(Fiber.join(reading), "2 seconds")
    splitter.end()
    if (how !== undefined) return yield* new DumpFailed({ reason: messages.reason(how, password) })
    return messages.warnings()
  })
  const running: Running = { pid: handle.pid, ended }
  return running
})
