import { basename } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Fiber, Option, Redacted, Stream } from "effect"
import { ChildProcess, type ChildProcessSpawner } from "effect/process"
import { DumpFailed } from "../../../services/ports/DumpTools.ts"
import { type ProgramEnv } from "./Login.ts"

/** Lines are truncated to this length: a failed statement may have hundreds of megabytes. */
const lineLimit = 2_000
/** Number of messages that are kept; the first ones are the most useful. */
const kept = 5
const reasonLimit = 1_000

/** Splits a stream of text into lines of at most `lineLimit` characters. */
export const lineSplitter = (onLine: (line: string) => void) => {
  let pending = ""
  return {
    push: (text: string) => {
      let from = 0
      for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
        onLine((pending + text.slice(from, Math.min(end, from + lineLimit))).slice(0, lineLimit))
        pending = ""
        from = end + 1
      }
      if (pending.length < lineLimit) pending += text.slice(from, from + lineLimit)
    },
    end: () => {
      if (pending !== "") onLine(pending.slice(0, lineLimit))
    }
  }
}

/** The topic of a line, by its prefix; undefined for a continuation of the line before. */
const topicOf = (line: string) => {
  const match = /^pg_(?:dump|restore): (error|warning|detail|hint|while|from TOC entry)?/.exec(line)
  return match === null ? undefined : (match[1] ?? "info")
}

/** Lines that quote a statement, a row or a program's state, which may contain secrets and data of users. */
const quoting = /^(pg_\w+: )?(detail: )?(Command was|Query was|LINE \d+|CONTEXT|STATEMENT|QUERY): /

/**
 * Collects the messages of pg_dump or pg_restore.
 *
 * @param onInfo receives the lines of --verbose
 */
export const makeToolMessages = (onInfo: (line: string) => void) => {
  const errors: Array<string> = []
  const warnings: Array<string> = []
  let entry = ""
  // Lines without a prefix at the start are not from the program, but from whatever failed to start it.
  let topic = "error"
  const add = (line: string) => {
    topic = topicOf(line) ?? topic
    if (quoting.test(line)) topic = "quoted"
    if (topic === "info" && topicOf(line) === "info") onInfo(line)
    const text = line.replace(/^pg_\w+: ((error|warning|detail|hint): )?/, "").trim()
    if (topic === "warning" && topicOf(line) === topic && warnings.length < kept) warnings.push(text)
    if (topic === "from TOC entry" && errors.length === 0) entry = text.replace(/^from TOC entry \d+; \d+ \d+ /, "")
    if (/^(error|detail|hint)$/.test(topic) && text !== "" && errors.length < kept) errors.push(text)
  }
  return {
    add,
    warnings: (): ReadonlyArray<string> => warnings,
    /** Why it failed, in one line for users; `how` it ended if it printed no error. */
    reason: (how: string, password: Redacted.Redacted) => {
      const secret = Redacted.value(password)
      const message = errors.length === 0 ? how : `${errors.join("; ")}${entry === "" ? "" : ` (at ${entry})`}`
      const clean = secret === "" ? message : message.replaceAll(secret, "****")
      return clean.replaceAll(/\s+/g, " ").slice(0, reasonLimit)
    }
  }
}

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
