import { Effect } from "effect"
import { LRUCache } from "lru-cache"
import { type DatabaseError, Unavailable } from "../../../domain/errors.ts"
import { type Sample, samplesOfPool } from "../../../domain/metrics/Sample.ts"
import { resultTooLarge } from "../../../domain/rows/Refusals.ts"
import { Meters } from "../../../services/metrics/Meters.ts"
import { type Actor, type Answer, type Database, type Statement } from "../../../services/ports/Db.ts"
import { sampledSpan } from "../../../services/Tracing.ts"
import { fromServerError, ranInDoubt } from "../Errors.ts"
import { setLocalClaims } from "../citus/SetLocal.ts"
import { type Login } from "../Login.ts"
import { type Pausable } from "../MainSessions.ts"
import { type Command } from "./Connection.ts"
import { assertion, type ProvenOutcome } from "./Epoch.ts"
import { answerOf, isGone, isOversized, type Outcome } from "./Outcome.ts"
import { type CleanRequest } from "./Pipelines.ts"
import { makePools, type PoolOptions } from "./Pools.ts"
import { SharedPool } from "./SharedPool.ts"
import { inStatementSpan } from "./StatementSpan.ts"
import { type UserCodeAttempt, begunOrFail, runUserCode } from "./UserCode.ts"

export interface RowPathOptions extends Omit<PoolOptions, "meters"> {
  /** Login for anon and authenticated callers: `svc_authenticator`, or a branch's equivalent. */
  readonly authenticator: Login
  /** Login for service keys: the owner's, or in a branch one that may become the branch's role. */
  readonly owner: Login
  /** Database role of service keys. */
  readonly serviceRole: string
  readonly meters?: Meters
}

/** Statements that drop prepared statements, which are remembered. */
const maxDropping = 100

/** How often a statement is planned again because definitions have changed before it began. */
const maxReplans = 10

/** Texts that are remembered to see whether they recur, and their characters. */
const maxTexts = 2000
const maxTextsSize = 4 * 1024 * 1024

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
 * In a Citus cluster, an exchange is an explicit transaction, whose settings apply on all nodes: see `setLocal`.
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
  /** Whether no connection is open or waited for; determined only with a budget. */
  readonly isUnused: () => boolean
  readonly samples: (database: "main" | "branch") => ReadonlyArray<Sample>
} => {
  const { meters = new Meters() } = options
  const isDistributed = options.owner.citus === true
  const poolsOf = (actorRole: Actor["role"], login: Login, role: string) =>
    makePools({ ...options, meters }, { actorRole, login, role })
  const pools = {
    anon: poolsOf("anon", options.authenticator, "anon"),
    authenticated: poolsOf("authenticated", options.authenticator, "authenticated"),
    service_role: poolsOf("service_role", options.owner, options.serviceRole)
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
    const attempt = (how: Omit<UserCodeAttempt, "dropping" | "isDistributed">) =>
      runUserCode(userCode, actor, { ...statement, text: written }, { ...how, dropping, isDistributed }, () =>
        counts.ended(begun)
      )
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
      Effect.flatMap(attempt({ prepare: false, fresh: true, gate }), (answer) =>
        answer === "moved" ? replanned(tries) : Effect.succeed(answer)
      )
    const replanned = (tries: number): Effect.Effect<Answer, unknown> => {
      if (statement.replan === undefined || tries === 0) return inDoubt
      return Effect.flatMap(statement.replan, (today) => {
        if (!today.clean || today.text !== statement.text) return inDoubt
        // While DDL comes faster than the catalogue can be read, a read does not wait for an epoch, and a write does.
        const runs = today.epoch !== undefined || statement.access === "read"
        return runs ? settle(today.epoch, tries - 1) : replanned(tries - 1)
      })
    }
    const claims = isDistributed ? setLocalClaims(actor).map(unprepared) : actor.claims === "" ? [] : [claimsOf(actor)]
    const main = { text: written, params: statement.params, prepare }
    const { access, bounded = false, text } = statement
    const commands = access === "read" ? [...claims, main] : [...claims, main, assertion(epoch)]
    const request: CleanRequest = { text, access, epoch, client: clientOf(actor), commands }
    const answered = (outcome: ProvenOutcome) => {
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
        ? Effect.succeed(answerOf(statement, outcome.results[claims.length]?.[0] ?? []))
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
        // The uses of all standbys together.
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

const unprepared = (text: string): Command => ({ text, params: [], prepare: false })

const clientOf = ({ client = "" }: Actor) => client

const claimsOf = (actor: Actor): Command => ({
  text: "select pg_catalog.set_config('request.jwt.claims', $1, true), pg_catalog.set_config('request.jwt.sub', $2, true)",
  params: [actor.claims, actor.sub],
  prepare: true
})

/** Whether a name was not found, which it may be under the search path of user code. */
const isUnresolved = ({ failure }: Outcome) => /^42(883|P01|703|704)$/.test(failure?.error?.code ?? "")
