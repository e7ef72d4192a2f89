import { Context, Data, type Effect, type Scope } from "effect"
import { type LogMessage } from "../../domain/changes/LogMessage.ts"

/** The log can't be read; `message` has the reason and the remedy. */
export class ChangeLogLost extends Data.TaggedError("ChangeLogLost")<{ readonly message: string }> {}

/** The message while the database is copied, for which this process closes its sessions. */
export const logPaused = "The database is being copied"

/** The write-ahead log from the position up to which it was confirmed, read by this process only. */
export interface ChangeStream {
  /** Waits for messages, and gives a bounded number of them in the order of commits. */
  readonly take: Effect.Effect<ReadonlyArray<LogMessage>, ChangeLogLost>
  /** Passes changes on and records that, by one statement (domain/changes/LogSql.ts). */
  readonly pass: (params: ReadonlyArray<unknown>) => Effect.Effect<void, ChangeLogLost>
  /** Allows PostgreSQL to remove the log before this position, once the changes passed on are on its disk. */
  readonly confirm: (position: bigint) => Effect.Effect<void>
}

/**
 * Port: changes of the published tables, from the write-ahead log. Real layer: layers/postgres/log/ChangeLog.ts.
 */
export class ChangeLog extends Context.Service<
  ChangeLog,
  {
    /** Reads until the scope closes; undefined while another process does. */
    readonly open: Effect.Effect<ChangeStream | undefined, ChangeLogLost, Scope.Scope>
  }
>()("svc/services/ChangeLog") {}
