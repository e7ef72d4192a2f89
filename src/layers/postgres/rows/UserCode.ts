import { Effect } from "effect"
import { type LRUCache } from "lru-cache"
import { type Actor, type Answer, claimsSetting, type Statement } from "../../../services/ports/Db.ts"
import { definitionsChanged, droppedPrepared } from "../Errors.ts"
import { setLocal } from "../citus/SetLocal.ts"
import { type Command } from "./Connection.ts"
import { movedState, unchanged } from "./Epoch.ts"
import { answerOf, isOutdated, type Outcome } from "./Outcome.ts"
import { type SharedPool } from "./SharedPool.ts"
import { type UserCodePool } from "./UserCodePool.ts"

type Settings = ReadonlyArray<readonly [string, string | undefined]>

/** What policies and functions read of the request. */
const requestSettings = (actor: Actor, { context, operation }: Statement): Settings => [
  ["request.jwt.claims", claimsSetting(actor)],
  ["request.jwt.sub", actor.sub],
  ["request.method", context?.method],
  ["request.path", context?.path],
  ["request.headers", context?.headers],
  ["request.cookies", context?.cookies],
  ["storage.operation", operation]
]

/** How the transaction runs. */
const modeSettings = ({ access, searchPath, timezone }: Statement): Settings => [
  ["search_path", searchPath],
  ["timezone", timezone],
  ["transaction_read_only", access === "read" ? "on" : undefined]
]

/** Sets what a transaction that runs user code starts with. With a `gate`, it fails unless the epoch is that one. */
const transactionSettings = (settings: Settings, gate: number | undefined): Command => {
  const params: Array<string> = []
  let names = ""
  for (const [name, value] of settings) {
    if (value === undefined) continue
    names += `${name} `
    params.push(value)
  }
  if (gate !== undefined) params.push(String(gate))
  return { text: settingsText(names, gate !== undefined), params, prepare: true }
}

/** The few texts that occur: writing one for each request takes longer than finding its prepared statement. */
const settingsTexts = { gated: new Map<string, string>(), open: new Map<string, string>() }

/** `names`: of the settings, each with a space behind it. */
const settingsText = (names: string, gated: boolean): string => {
  const texts = gated ? settingsTexts.gated : settingsTexts.open
  const known = texts.get(names)
  if (known !== undefined) return known
  const calls = names
    .split(" ")
    .slice(0, -1)
    .map((name, at) => `pg_catalog.set_config('${name}', $${at + 1}, true)`)
  const text = `select ${(gated ? [...calls, unchanged(calls.length + 1)] : calls).join(", ")}`
  texts.set(names, text)
  return text
}

/**
 * The same in a Citus cluster, on all nodes. Workers find what policies name by the same path. That the transaction only
 * reads is the coordinator's to enforce.
 */
const distributedSettings = (actor: Actor, statement: Statement, gate: number | undefined): ReadonlyArray<Command> => {
  const { searchPath } = statement
  const mode = modeSettings(statement)
  const isSet = gate !== undefined || mode.some(([, value]) => value !== undefined)
  return [
    ...(isSet ? [transactionSettings(mode, gate)] : []),
    ...(searchPath === undefined ? [] : [plain(`set local search_path = ${searchPath}`)]),
    ...requestSettings(actor, statement).flatMap(([name, value]) =>
      value === undefined ? [] : [plain(setLocal(name, value))]
    )
  ]
}

const responseSettings: Command = {
  text: "select pg_catalog.current_setting('response.status', true), pg_catalog.current_setting('response.headers', true)",
  params: [],
  prepare: true
}

const unprepared = ({ text, params }: Command): Command => ({ text, params, prepare: false })

const plain = (text: string): Command => ({ text, params: [], prepare: false })

/** Drops the plans of the session's prepared statements, and those that its functions keep. */
const discardPlans = plain("discard plans")

/** How a statement that may run user code is sent. */
export interface UserCodeAttempt {
  readonly prepare: boolean
  /** Prepared statements are not used. */
  readonly fresh: boolean
  /**
   * The epoch in which the statement must run. Prepared statements need one: they may not fit the definitions of
   * another.
   */
  readonly gate: number | undefined
  /** Whether the database is a Citus cluster. */
  readonly isDistributed: boolean
  /** Statements that drop prepared statements, such as the one behind them. */
  readonly dropping: LRUCache<string, true>
}

/** "moved": the statement has not begun, because the epoch has moved, or because what should run before it is gone. */
type Attempted = Answer | "moved"

export const begunOrFail = (answer: Attempted) =>
  answer === "moved" ? Effect.fail(definitionsChanged()) : Effect.succeed(answer)

/** Runs a statement that may run user code, once, on a connection for it. */
export const runUserCode = (
  pool: UserCodePool | SharedPool,
  actor: Actor,
  statement: Statement,
  { dropping, fresh, gate, isDistributed, prepare }: UserCodeAttempt,
  ended: () => void
): Effect.Effect<Attempted, unknown> => {
  const rollback = statement.rollback === true
  const settings = isDistributed
    ? distributedSettings(actor, statement, gate)
    : [transactionSettings([...requestSettings(actor, statement), ...modeSettings(statement)], gate)]
  const { params, text } = statement
  const begins = rollback ? [plain("begin")] : []
  const before = [...begins, ...(statement.freshPlans === true ? [discardPlans] : []), ...settings]
  // Deferred constraints, which otherwise only a commit would check.
  const checks = rollback ? [plain("set constraints all immediate")] : []
  const last = dropping.has(text) ? unprepared(responseSettings) : responseSettings
  const commands = [...before, { text, params, prepare }, ...checks, last]
  const epoch = fresh ? undefined : statement.epoch
  const options = { explicit: rollback, epoch, clean: statement.clean === true }
  const sent = pool.run(actor.client ?? "", fresh ? commands.map(unprepared) : commands, options)
  return Effect.flatMap(sent, (outcome): Effect.Effect<Attempted, unknown> => {
    const { failure, results } = outcome
    if (isBefore(outcome, before.length)) return Effect.succeed("moved")
    ended()
    if (failure?.at === before.length && isOutdated(outcome)) return Effect.fail(definitionsChanged())
    if (failure?.at === commands.length - 1 && failure.error?.code === gone) {
      dropping.set(text, true)
      return Effect.fail(droppedPrepared())
    }
    if (failure !== undefined) return Effect.fail(failure.error)
    const rows = results[before.length] ?? []
    const answer: Answer =
      statement.lines === true ? [rows.map(([line]) => String(line)).join("\n")] : answerOf(statement, rows[0] ?? [])
    const [status, headers] = results[commands.length - 1]?.[0] ?? []
    return Effect.succeed(withResponse(answer, String(status ?? ""), String(headers ?? "")))
  })
}

/** SQLSTATE of a prepared statement that does not exist. */
const gone = "26000"

/** Whether the epoch has moved, or a prepared statement is gone, before the command at `main`, which PostgreSQL has skipped. */
const isBefore = ({ failure }: Outcome, main: number) =>
  failure?.error !== undefined && failure.at < main && [movedState, gone].includes(failure.error.code)

const withResponse = (answer: Answer, status: string, headers: string): Answer =>
  status === "" && headers === "" ? answer : Object.assign([...answer], { response: { status, headers } })
