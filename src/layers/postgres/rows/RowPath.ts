import { Effect } from "effect"
import { LRUCache } from "lru-cache"
import { resultTooLarge } from "../../../domain/rows/Refusals.ts"
import { maxAnswerSetting } from "../../../domain/rows/sql/Size.ts"
import { type DatabaseError, Unavailable } from "../../../domain/errors.ts"
import { type Sample } from "../../../domain/metrics/Sample.ts"
import { type AnswerMemory } from "../../../services/access/AnswerBudget.ts"
import { Meters } from "../../../services/metrics/Meters.ts"
import { sampledSpan } from "../../../services/Tracing.ts"
import { type Actor, type Answer, claimsSetting, type Database, type Statement } from "../../../services/ports/Db.ts"
import { type ConnectionBudget, type ConnectionShare } from "../ConnectionBudget.ts"
import { definitionsChanged, droppedPrepared, fromServerError, ranInDoubt } from "../Errors.ts"
import { type Login } from "../Login.ts"
import { type Pausable } from "../MainSessions.ts"
import { samplesOfPool } from "../../../domain/metrics/Pools.ts"
import { CleanPool, type CleanPoolOptions } from "./CleanPool.ts"
import { type AnswerLimits, type Command, RowConnection } from "./Connection.ts"
import { isGone, isOutdated, isOversized, type Outcome } from "./Outcome.ts"
import { type Standby } from "../standbys/Standby.ts"
import { type Standbys } from "../standbys/Standbys.ts"
import { assertion, movedState, type Proven, unchanged } from "./Epoch.ts"
import { type CleanRequest } from "./Pipelines.ts"
import { makeStatementCounts, type StatementCounts } from "./StatementCounts.ts"
import { inStatementSpan } from "./StatementSpan.ts"
import { SharedPool } from "./SharedPool.ts"
import { UserCodePool } from "./UserCodePool.ts"

export interface RowPathOptions {
  /** Login for anon and authenticated callers: `svc_authenticator`, or a branch's equivalent. */
  readonly authenticator: Login
  /** Login for service keys: the owner's, or in a branch one that may become the branch's role. */
  readonly owner: Login
  /** Database role of service keys. */
  readonly serviceRole: string
  /** Of the clean path: that of the first schema, whose functions find by it what they name without a schema. */
  readonly searchPath: string
  readonly poolSize: number
  /** Statement timeout in ms. */
  readonly timeout: number
  /** The largest answer to anon and authenticated callers, in bytes; 128 MiB for service keys. */
  readonly maxPublicAnswer: number
  readonly memory: AnswerMemory
  /** What bounds the connections of this path and of others together. */
  readonly budget?: ConnectionBudget
  /** Servers for reads that need not run on the primary. */
  readonly standbys?: Standbys | undefined
  readonly meters?: Meters
}

const maxAnswer = 128 * 1024 * 1024

const settingsOf = (actorRole: Actor["role"], role: string, timeout: number) => ({
  role,
  statement_timeout: String(timeout),
  idle_in_transaction_session_timeout: String(timeout),
  timezone: "UTC",
  datestyle: "ISO, YMD",
  // JIT compilation pays off after seconds of execution, and itself takes seconds for large statements.
  jit: "off",
  // A body's literals are read as the service has read them.
  standard_conforming_strings: "on",
  // Else the planner evaluates CHECK constraints, which may call user code, for reads too.
  constraint_exclusion: "partition",
  "request.jwt.claims": claimsSetting({ role: actorRole, claims: "", sub: "" }),
  "request.jwt.sub": "",
  // The login may have settings of its own, which a function can change.
  row_security: "on",
  default_transaction_isolation: "read committed",
  default_transaction_read_only: "off",
  lock_timeout: "0",
  transform_null_equals: "off"
})

/** Statements that drop prepared statements, which are remembered. */
const maxDropping = 100

/** How often a statement is planned again because definitions have changed before it began. */
const maxReplans = 3

/** Texts that are remembered to see whether they recur, and their characters. */
const maxTexts = 2000
const maxTextsSize = 4 * 1024 * 1024

/** The pools of one database role. */
interface Pools {
  readonly clean: CleanPool
  readonly onStandbys: ReadonlyMap<Standby, CleanPool>
  readonly userCode: UserCodePool | SharedPool
  readonly share: ConnectionShare | undefined
  readonly counts: StatementCounts
}

/**
 * The row path of one database. Each connection is pinned to its role at startup, so that no request can change the role
 * of the next. A request is one exchange, and so one transaction (see `RowConnection`):
 *
 * | statement | the exchange | connection |
 * |---|---|---|
 * | clean read | claims if there are any, the statement; behind it the epoch | shared if it is known to be quick, else exclusive; both never run user code |
 * | clean write | the same, and the epoch is checked within it | as for a clean read |
 * | any other | claims, request settings and search_path, and the epoch is checked; the statement; the response settings that it chose | exclusive, for user code; reset afterwards |
 *
 * Behind a pooler, all statements on the primary are as "any other", and sessions are made new before them too: see
 * `SharedPool`.
 *
 * "Clean" statements run no user code, judging by a catalogue; see `Statement`. What may run user code is sent again only if
 * it has not begun: nothing was sent, or a command before it failed. So a statement that may need to be sent again after DDL
 * has the check of the epoch before it. If the epoch read behind a clean statement is not that of the catalogue, its answer
 * is discarded, and `settle` decides whether it may run again.
 */
export const makeRowPath = (
  options: RowPathOptions
): Pausable & {
  readonly run: Database["run"]
  readonly close: Effect.Effect<void>
  /** No connection is open or waited for; only known with a budget. */
  readonly isUnused: () => boolean
  readonly samples: (database: "main" | "branch") => ReadonlyArray<Sample>
} => {
  const { meters = new Meters() } = options
  const poolsOf = (login: Login, actorRole: Actor["role"], role: string): Pools => {
    const limits: AnswerLimits = {
      maxRowSize: actorRole === "service_role" ? maxAnswer : options.maxPublicAnswer,
      memory: options.memory
    }
    const share = options.budget?.share(() => clean.evict() || userCode.evict())
    const settled = (settings: Readonly<Record<string, string>>) => ({
      ...settingsOf(actorRole, role, options.timeout),
      [maxAnswerSetting]: String(limits.maxRowSize),
      ...settings
    })
    const open: CleanPoolOptions["open"] = (settings, onClose, shared) => {
      const opening = (onLeave: () => void) =>
        RowConnection.open(login, settled(settings), { ...limits, ...shared }, (connection) => {
          onLeave()
          onClose(connection)
        })
      return share === undefined ? opening(() => undefined) : share.opened(opening, shared === undefined)
    }
    const isOwed = share?.isOwed
    const counts = makeStatementCounts(meters, actorRole)
    const search_path = options.searchPath
    const clean = new CleanPool({
      size: options.poolSize,
      isOwed,
      onLate: counts.late,
      open: (settings, onClose, shared) => open({ search_path, ...settings }, onClose, shared)
    })
    const onStandby = (standby: Standby) =>
      new CleanPool({
        size: options.poolSize,
        proof: standby.proof,
        onLate: counts.late,
        open: (settings, onClose, shared) =>
          RowConnection.open(
            standby.loginOf(login.shared?.behind ?? login),
            settled({ search_path, ...settings }),
            { ...limits, ...shared },
            (connection) => {
              standby.lost()
              onClose(connection)
            }
          )
      })
    const onStandbys = new Map((options.standbys?.all ?? []).map((standby) => [standby, onStandby(standby)]))
    const userCode: UserCodePool | SharedPool =
      login.shared === undefined
        ? new UserCodePool({ size: options.poolSize, isOwed, open: (onClose) => open({}, onClose) })
        : new SharedPool({
            size: options.poolSize,
            settings: { ...settled({}), application_name: "svc rows" },
            open: (onClose) => open({}, onClose)
          })
    return { clean, onStandbys, userCode, share, counts }
  }
  const pools = {
    anon: poolsOf(options.authenticator, "anon", "anon"),
    authenticated: poolsOf(options.authenticator, "authenticated", "authenticated"),
    service_role: poolsOf(options.owner, "service_role", options.serviceRole)
  }
  const texts = new LRUCache<string, true>({
    max: maxTexts,
    maxSize: maxTextsSize,
    sizeCalculation: (_, text) => text.length
  })

  const dropping = new LRUCache<string, true>({ max: maxDropping })

  /** Whether to keep a statement prepared: one that is new may never come again, and would fill PostgreSQL's memory. */
  const prepares = ({ prepare = true, text }: Statement): boolean => {
    if (!prepare || texts.get(text) === true) return prepare
    texts.set(text, true)
    return false
  }

  const all = Object.values(pools).flatMap(({ clean, userCode }) => [clean, userCode])
  const elsewhere = Object.values(pools).flatMap(({ onStandbys }) => Array.from(onStandbys.values()))
  const shares = Object.values(pools).flatMap(({ share }) => (share === undefined ? [] : [share]))

  /** Runs a clean read on a standby; undefined if none may answer it. */
  const runElsewhere = (actor: Actor, request: CleanRequest, { bounded = false, freshness }: Statement) => {
    const { standbys } = options
    if (standbys === undefined || freshness === undefined || request.access === "write") return undefined
    const standby = standbys.choose(request.epoch, freshness, request.client)
    const pool = standby && pools[actor.role].onStandbys.get(standby)
    return standby && pool && standbys.read(standby, pool.run(request, bounded))
  }

  /** `comment`: behind the statement, which is not kept prepared then. */
  const run = (actor: Actor, statement: Statement, comment: string): Effect.Effect<Answer, unknown> => {
    const { clean: cleanPool, counts, userCode } = pools[actor.role]
    const begun = performance.now()
    const { epoch } = statement
    const isShared = userCode instanceof SharedPool
    const clean = statement.clean === true && statement.timezone === undefined && statement.rollback !== true
    const prepare = !isShared && prepares(statement) && comment === ""
    const written = statement.text + comment
    const attempt = (how: Omit<Attempt, "dropping">) =>
      runUserCode(userCode, actor, { ...statement, text: written }, { ...how, dropping }, () => counts.ended(begun))
    const asUserCode = () => {
      const kept = prepare && epoch !== undefined
      return Effect.flatMap(attempt({ prepare: kept, fresh: false, gate: kept ? epoch : undefined }), (answer) => {
        if (answer !== "moved") return Effect.succeed(answer)
        counts.stale()
        return Effect.flatMap(attempt({ prepare: false, fresh: true, gate: undefined }), begunOrFail)
      })
    }
    if (epoch === undefined || !clean) return asUserCode()
    const inDoubt = Effect.suspend(() => Effect.fail(ranInDoubt(statement.access)))
    /**
     * Runs the statement in this epoch only. If it still holds, which `doubtful` attempts before were in, those were clean,
     * because epochs only grow. Else it must be clean by today's definitions, too.
     */
    const settle = (gate: number | undefined, tries: number): Effect.Effect<Answer, unknown> =>
      Effect.flatMap(attempt({ prepare: false, fresh: true, gate }), (answer) => {
        if (answer !== "moved") return Effect.succeed(answer)
        if (statement.replan === undefined || tries === 0) return inDoubt
        return Effect.flatMap(statement.replan, (today) => {
          const same = today.clean && today.text === statement.text
          // A read without a known epoch is not refused because DDL comes faster than the catalogue can be read.
          const known = today.epoch !== undefined || statement.access === "read"
          return same && known ? settle(today.epoch, tries - 1) : inDoubt
        })
      })
    const claims = actor.claims === "" ? [] : [claimsOf(actor)]
    const main = { text: written, params: statement.params, prepare }
    const { access, bounded = false, text } = statement
    const commands = access === "read" ? [...claims, main] : [...claims, main, assertion(epoch)]
    const request: CleanRequest = { text, access, epoch, client: clientOf(actor), commands }
    const answered = (outcome: Proven) => {
      if (outcome === "doubtful") {
        counts.unproven()
        return settle(epoch, maxReplans)
      }
      if (outcome === "unsent" || isGone(outcome) || isUnresolved(outcome)) {
        counts.unproven()
        return asUserCode()
      }
      counts.ended(begun)
      return outcome.failure === undefined
        ? Effect.succeed<Answer>(outcome.results[claims.length]?.[0] ?? [])
        : Effect.fail(outcome.failure.error)
    }
    const there = runElsewhere(actor, request, statement)
    const here = () => (isShared ? asUserCode() : Effect.flatMap(cleanPool.run(request, bounded), answered))
    return there === undefined
      ? here()
      : Effect.flatMap(there, (outcome) => (outcome === "unsent" ? here() : answered(outcome)))
  }

  return {
    run: (actor, statement) =>
      Effect.mapError(
        Effect.withFiber((fiber) =>
          sampledSpan(fiber) === undefined
            ? run(actor, statement, "")
            : inStatementSpan(actor, statement, (comment) => run(actor, statement, comment))
        ),
        asApiError(actor.role === "anon")
      ),
    close: Effect.andThen(
      Effect.forEach([...all, ...elsewhere], (pool) => pool.close, { discard: true }),
      Effect.sync(() => shares.forEach((share) => share.leave()))
    ),
    samples: (database) =>
      Object.entries(pools).flatMap(([role, { clean, onStandbys, userCode }]) => {
        const here = [...clean.uses, ["user_code", userCode.use] as const]
        // Those of all standbys together.
        const there = Array.from(onStandbys.values(), ({ uses }) => uses).flat()
        return here
          .flatMap(([lane, use]) => samplesOfPool(database, role, lane, use))
          .concat(there.flatMap(([lane, use]) => samplesOfPool("standby", role, lane, use)))
      }),
    isUnused: () => shares.every((share) => share.isUnused),
    pause: Effect.forEach(all, ({ pause }) => pause, { discard: true, concurrency: "unbounded" }),
    resume: Effect.forEach(all, ({ resume }) => resume, { discard: true })
  }
}

/** `anonymous` as in `fromServerError`. */
const asApiError =
  (anonymous: boolean) =>
  (error: unknown): DatabaseError | Unavailable => {
    if (error instanceof Unavailable) return error
    return isOversized(error) ? resultTooLarge() : fromServerError(error, anonymous)
  }

const clientOf = ({ client = "" }: Actor) => client

const claimsOf = (actor: Actor): Command => ({
  text: "select pg_catalog.set_config('request.jwt.claims', $1, true), pg_catalog.set_config('request.jwt.sub', $2, true)",
  params: [actor.claims, actor.sub],
  prepare: true
})

/** Whether a name was not found, which it may be under the search path of user code. */
const isUnresolved = ({ failure }: Outcome) => /^42(883|P01|703|704)$/.test(failure?.error?.code ?? "")

/** The settings of one transaction that runs user code. With a `gate`, it fails unless the epoch is that one. */
const transactionSettings = (
  actor: Actor,
  { access, context, operation, searchPath, timezone }: Statement,
  gate: number | undefined
): Command => {
  const settings: ReadonlyArray<readonly [string, string | undefined]> = [
    ["request.jwt.claims", claimsSetting(actor)],
    ["request.jwt.sub", actor.sub],
    ["request.method", context?.method],
    ["request.path", context?.path],
    ["request.headers", context?.headers],
    ["request.cookies", context?.cookies],
    ["storage.operation", operation],
    ["search_path", searchPath],
    ["timezone", timezone],
    ["transaction_read_only", access === "read" ? "on" : undefined]
  ]
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
    .trimEnd()
    .split(" ")
    .map((name, at) => `pg_catalog.set_config('${name}', $${at + 1}, true)`)
  const text = `select ${(gated ? [...calls, unchanged(calls.length + 1)] : calls).join(", ")}`
  texts.set(names, text)
  return text
}

const responseSettings: Command = {
  text: "select pg_catalog.current_setting('response.status', true), pg_catalog.current_setting('response.headers', true)",
  params: [],
  prepare: true
}

const unprepared = ({ text, params }: Command): Command => ({ text, params, prepare: false })

const plain = (text: string): Command => ({ text, params: [], prepare: false })

/** For the prepared statements of the session and for the plans that its functions keep. */
const discardPlans = plain("discard plans")

/** How a statement that may run user code is sent. */
interface Attempt {
  readonly prepare: boolean
  /** Nothing that is prepared is used. */
  readonly fresh: boolean
  /** The statement runs in this epoch only. What is prepared needs one: it may not fit the definitions of another. */
  readonly gate: number | undefined
  /** Statements that drop prepared statements, such as the one behind them. */
  readonly dropping: LRUCache<string, true>
}

/** "moved": the statement has not begun, because the epoch has moved, or because what should run before it is gone. */
type Attempted = Answer | "moved"

const begunOrFail = (answer: Attempted) =>
  answer === "moved" ? Effect.fail(definitionsChanged()) : Effect.succeed(answer)

const runUserCode = (
  pool: UserCodePool | SharedPool,
  actor: Actor,
  statement: Statement,
  { dropping, fresh, gate, prepare }: Attempt,
  ended: () => void
): Effect.Effect<Attempted, unknown> => {
  const rollback = statement.rollback === true
  const settings = transactionSettings(actor, statement, gate)
  const { params, text } = statement
  const begins = rollback ? [plain("begin")] : []
  const before = [...begins, ...(statement.freshPlans === true ? [discardPlans] : []), settings]
  // Deferred constraints, which otherwise only a commit would check.
  const checks = rollback ? [plain("set constraints all immediate")] : []
  const last = dropping.has(text) ? unprepared(responseSettings) : responseSettings
  const commands = [...before, { text, params, prepare }, ...checks, last]
  const epoch = fresh ? undefined : statement.epoch
  const options = { explicit: rollback, epoch, clean: statement.clean === true }
  const sent = pool.run(clientOf(actor), fresh ? commands.map(unprepared) : commands, options)
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
    const answer: Answer = statement.lines === true ? [rows.map(([line]) => String(line)).join("\n")] : (rows[0] ?? [])
    const [status, headers] = results[commands.length - 1]?.[0] ?? []
    return Effect.succeed(withResponse(answer, status ?? "", headers ?? ""))
  })
}

/** SQLSTATE of a prepared statement that does not exist. */
const gone = "26000"

/** Whether the epoch has moved, or a prepared statement is gone, before the command at `main`, which PostgreSQL has skipped. */
const isBefore = ({ failure }: Outcome, main: number) =>
  failure?.error !== undefined && failure.at < main && [movedState, gone].includes(failure.error.code)

const withResponse = (answer: Answer, status: string, headers: string): Answer =>
  status === "" && headers === "" ? answer : Object.assign([...answer], { response: { status, headers } })
