import { Effect } from "effect"
import { databaseUnreachable } from "../../../services/OwnTables.ts"
import { beginSql, newSeed, newSessionSql, oldSessionSql, resetSql } from "../pooler/Transactions.ts"
import { type Command, type RowConnection } from "./Connection.ts"
import { isBloated, type Outcome } from "./Outcome.ts"
import { type TransactionOptions } from "./UserCodePool.ts"
import { RowConnectionPool, type Used } from "./RowConnectionPool.ts"

export interface SharedPoolOptions {
  readonly size: number
  /** Settings of each transaction, the role among them. */
  readonly settings: Readonly<Record<string, string>>
  readonly open: (onClose: (connection: RowConnection) => void) => Effect.Effect<RowConnection, unknown>
}

interface SharedConnection {
  readonly connection: RowConnection
}

const plain = (text: string): Command => ({ text, params: [], prepare: false })
const unprepared = ({ params, text }: Command): Command => ({ text, params, prepare: false })

/**
 * Connections of one database role to a pooler, for statements of any kind. An exchange is sent before one Sync, so that
 * the pooler cannot change the session within it, and is
 *
 *     begin, make the session new, settings of the role; the commands; commit, make the session new
 *
 * The first part keeps callers apart: what was left in the session, by whatever program, is gone before the commands run,
 * and if any of it fails, PostgreSQL runs none. The last part, behind what may be user code, frees at once what others may
 * wait for, such as advisory locks.
 */
export class SharedPool extends RowConnectionPool<SharedConnection> {
  private readonly before: ReadonlyArray<Command>
  private readonly newSession: string

  constructor({ open, settings, size }: SharedPoolOptions) {
    super({
      size,
      open: (onClose) =>
        open(onClose).pipe(
          Effect.tapError((cause) => Effect.logWarning("Failed to connect to the pooler", cause)),
          Effect.mapError(databaseUnreachable),
          Effect.map((connection) => ({ connection }))
        )
    })
    this.before = [beginSql, ...resetSql].map(plain)
    this.newSession = newSessionSql(settings)
  }

  /** Runs the commands as one transaction. Clean ones leave nothing that others may wait for. */
  run(
    client: string,
    commands: ReadonlyArray<Command>,
    { clean, explicit }: TransactionOptions
  ): Effect.Effect<Outcome, unknown> {
    const own = (explicit ? commands.slice(1) : commands).map(unprepared)
    const before = this.before.length + 1
    const parts: Parts = { before, own: own.length, added: explicit ? before - 1 : before }
    const all = [
      ...this.before,
      seeded(this.newSession),
      ...own,
      ...(clean && !explicit ? [plain("commit")] : ending(explicit ? "rollback" : "commit"))
    ]
    return Effect.flatMap(
      this.whole(client, (used) =>
        Effect.callback<Ended>((resume) => {
          const { connection } = used.connection
          connection.send(all, (outcome) => resume(Effect.succeed(ended(used, outcome, parts))), client)
          connection.flush()
        })
      ),
      ({ fault, outcome }) => (fault === undefined ? Effect.succeed(outcome) : Effect.as(warn(fault), outcome))
    )
  }
}

/** How many commands an exchange has before the caller's, of the caller's, and by how many it is ahead of the caller's. */
interface Parts {
  readonly before: number
  readonly own: number
  readonly added: number
}

interface Ended {
  readonly outcome: Outcome
  /** Why the session could not be made new, or the pooler ended the connection. */
  readonly fault: string | undefined
}

const nothingRan: Outcome = {
  results: [],
  failure: { error: undefined, at: 0, reused: false, begun: false },
  status: ""
}

/** Ends the use of a connection, and leaves out of the outcome what the caller has not sent. */
const ended = (
  { connection: { connection }, drop, give }: Used<SharedConnection>,
  { failure, results, status }: Outcome,
  { added, before, own }: Parts
): Ended => {
  const error = failure?.error
  const outcome = { results: results.slice(added), failure: failure && { ...failure, at: failure.at - added }, status }
  if (failure === undefined || error === undefined || (error.severity !== "FATAL" && isOwn(failure.at, before, own))) {
    if (status === "E") {
      connection.send(ending("rollback"), (after) => (after.status === "I" ? give() : drop()))
      connection.flush()
    } else if (status === "I" && !isBloated(outcome)) give()
    else drop()
    return { outcome, fault: undefined }
  }
  // No rollback is sent: when a client leaves within a transaction, the pooler closes the session instead of sharing
  // it.
  connection.abandon()
  drop()
  const fault = `${error.code} ${error.message}`
  // A failure after the commit concerns the session only.
  return { outcome: failure.at > before + own ? { ...outcome, failure: undefined } : nothingRan, fault }
}

/** Whether it is the caller's: one of its commands, or the commit. */
const isOwn = (at: number, before: number, own: number) => at >= before && at <= before + own

const warn = (fault: string) => Effect.logWarning(`The pooler's session could not be used: ${fault}`)

/** Ends the transaction, and makes its session new before the pooler has it back. */
const ending = (how: "commit" | "rollback"): ReadonlyArray<Command> => [
  ...(how === "commit" ? commits : rollsBack),
  seeded(oldSessionSql())
]

const commits = ["commit", ...resetSql].map(plain)
const rollsBack = ["rollback", ...resetSql].map(plain)
const seeded = (text: string): Command => ({ text, params: [newSeed()], prepare: false })
