import { maxAnswerSetting } from "../../../domain/rows/sql/Size.ts"
import { type AnswerMemory } from "../../../services/access/AnswerBudget.ts"
import { type Meters } from "../../../services/metrics/Meters.ts"
import { type Actor, claimsSetting } from "../../../services/ports/Db.ts"
import { citusRowSettings, citusUserCodeSettings } from "../citus/SetLocal.ts"
import { type ConnectionBudget, type ConnectionShare } from "../ConnectionBudget.ts"
import { type Login } from "../Login.ts"
import { type Standby } from "../standbys/Standby.ts"
import { type Standbys } from "../standbys/Standbys.ts"
import { CleanPool, type CleanPoolOptions } from "./CleanPool.ts"
import { type AnswerLimits, RowConnection } from "./Connection.ts"
import { SharedPool } from "./SharedPool.ts"
import { UserCodePool } from "./UserCodePool.ts"

/** ms from which a statement is slow, waiting for a connection included. */
const slowMillis = 1_000

/** Why a statement ran again; see svc_db_statements_retried_total. */
const reasons = ["late", "unproven", "stale"] as const

/** Counts the statements of one role. */
export const makeStatementCounts = (meters: Meters, role: Actor["role"]) => {
  const all = meters.counter("svc_db_statements_total", { role })
  const slow = meters.counter("svc_db_statements_slow_total", { role })
  const retried = (reason: (typeof reasons)[number]) =>
    meters.counter("svc_db_statements_retried_total", { role, reason })
  return {
    /** `begun`: when it was asked for, by `performance.now`. */
    ended: (begun: number) => {
      all()
      if (performance.now() - begun >= slowMillis) slow()
    },
    late: retried("late"),
    unproven: retried("unproven"),
    stale: retried("stale")
  }
}
type StatementCounts = ReturnType<typeof makeStatementCounts>

export interface PoolOptions {
  /** The search path of the clean path: that of the first schema, whose functions resolve unqualified names by it. */
  readonly searchPath: string
  readonly poolSize: number
  /** Statement timeout in ms. */
  readonly timeout: number
  /** The largest answer to anon and authenticated callers, in bytes; 128 MiB for service keys. */
  readonly maxPublicAnswer: number
  readonly memory: AnswerMemory
  /** The limit on the connections of this path and of others together. */
  readonly budget?: ConnectionBudget
  /** Servers for reads that need not run on the primary. */
  readonly standbys?: Standbys | undefined
  readonly meters: Meters
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
  // The default would make the planner evaluate CHECK constraints, which may call user code, for reads too.
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

/** The pools of one database role. */
export interface Pools {
  readonly clean: CleanPool
  readonly onStandbys: ReadonlyMap<Standby, CleanPool>
  readonly userCode: UserCodePool | SharedPool
  readonly share: ConnectionShare | undefined
  readonly counts: StatementCounts
}

export const makePools = (
  options: PoolOptions,
  { actorRole, login, role }: { readonly actorRole: Actor["role"]; readonly login: Login; readonly role: string }
): Pools => {
  const limits: AnswerLimits = {
    maxRowSize: actorRole === "service_role" ? maxAnswer : options.maxPublicAnswer,
    memory: options.memory
  }
  const share = options.budget?.share(() => clean.evict() || userCode.evict())
  const settled = (settings: Readonly<Record<string, string>>) => ({
    ...settingsOf(actorRole, role, options.timeout),
    [maxAnswerSetting]: String(limits.maxRowSize),
    ...(login.citus === true && citusRowSettings),
    ...settings
  })
  const userCodeSettings = login.citus === true ? citusUserCodeSettings : {}
  const open: CleanPoolOptions["open"] = (settings, onClose, shared) => {
    const opening = (onLeave: () => void) =>
      RowConnection.open(login, settled(settings), { ...limits, ...shared }, (connection) => {
        onLeave()
        onClose(connection)
      })
    return share === undefined ? opening(() => undefined) : share.opened(opening, shared === undefined)
  }
  const isOwed = share?.isOwed
  const counts = makeStatementCounts(options.meters, actorRole)
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
      ? new UserCodePool({ size: options.poolSize, isOwed, open: (onClose) => open(userCodeSettings, onClose) })
      : new SharedPool({
          size: options.poolSize,
          settings: { ...settled({}), application_name: "svc rows" },
          open: (onClose) => open({}, onClose)
        })
  return { clean, onStandbys, userCode, share, counts }
}
