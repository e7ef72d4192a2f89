import { Effect } from "effect"
import { type Login } from "../Login.ts"
import { type SqlPoolOptions } from "./Pool.ts"
import { makeSqlSessions } from "./Sessions.ts"

/** ms of a statement that has no limit of its own. */
const timeout = 30_000

/**
 * Limits on what assistants do not need and others would suffer from: writing, waiting for locks, memory, processes.
 */
const limits = {
  default_transaction_read_only: "on",
  lock_timeout: "2000",
  work_mem: "16MB",
  hash_mem_multiplier: "1",
  max_parallel_workers_per_gather: "0",
  jit: "off"
}

/** Sessions in which assistants read one database: of a login of their own, so that there is no role to return to. */
export const makeAssistant = (login: Login, options: Pick<SqlPoolOptions, "poolSize" | "searchPath" | "budget">) =>
  Effect.map(
    makeSqlSessions(login, { ...options, role: login.user, sqlTimeout: timeout, settings: limits }),
    (session) => ({ role: login.user, session })
  )
