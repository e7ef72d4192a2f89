import { Context, Data, type Effect, type Scope } from "effect"
import { type BranchNames, type ServerPlace } from "../../domain/branches/Branch.ts"
import { type Conflict, type Forbidden, type Unavailable } from "../../domain/errors.ts"
import { type DumpFailed, type OnProgress, type RestoreTarget } from "./DumpTools.ts"

/** Passwords of a branch's logins: `given` to the caller, and the service's `own` two. */
export interface BranchPasswords {
  readonly given: string
  readonly own: string
}

/** Creates branches' databases; one at a time over all replicas. */
/** The database is a Citus cluster: a copy of its files would lack the rows of workers. */
export class NotCopyable extends Data.TaggedError("NotCopyable") {}

export interface BranchCreator {
  /**
   * Checks rights and disk space, before anything is written: a full disk has no space for a branch's record either. The
   * function it returns copies the main database, without sessions in it: callers of the service wait, other sessions are terminated. Both fail
   * with 503 `BRANCH_SOURCE_BUSY`, `BRANCH_TIMEOUT`, `BRANCH_NO_SPACE`, 403 `BRANCH_NOT_ALLOWED`; the main database is
   * open again in every case, and a failure leaves nothing of the copy. `begins` runs when nothing is left to wait for, before the main
   * database is closed.
   */
  readonly copy: Effect.Effect<
    (database: string, begins: Effect.Effect<void, Unavailable>) => Effect.Effect<void, Forbidden | Unavailable>,
    NotCopyable | Forbidden | Unavailable
  >
  /**
   * Creates an empty database with the encoding and collation of the main one, and its roles, of which the service alone
   * has the password, `own`. It is locked until the scope closes, which may be long after the creator's. The effect it returns fails when the lock is lost, and
   * any replica may drop the database.
   */
  readonly empty: (
    names: BranchNames,
    own: string
  ) => Effect.Effect<Effect.Effect<never, DumpFailed>, Forbidden | Unavailable, Scope.Scope>
}

/** Port: further databases on the main database's server. Real layer: layers/branches/Databases.ts. */
export class BranchDatabases extends Context.Service<
  BranchDatabases,
  {
    /** Held until the scope closes. 409 `BRANCH_IN_PROGRESS` when others hold it for a minute. */
    readonly creator: Effect.Effect<BranchCreator, Conflict | Unavailable, Scope.Scope>
    /** Fills an empty database with a dump of the main one, which stays usable. 503 `BRANCH_NO_SPACE`. */
    readonly fillFromMain: (target: RestoreTarget, report: OnProgress) => Effect.Effect<void, DumpFailed | Unavailable>
    /** Drops the service's own objects from a copied or filled database, and makes the branch's role own the rest. */
    readonly finalise: (names: BranchNames, passwords: BranchPasswords) => Effect.Effect<void, Forbidden | Unavailable>
    /** Drops the database with its sessions, its roles, and the dump to fill it from, as far as they exist. */
    readonly drop: (names: BranchNames) => Effect.Effect<void, Unavailable>
    /** Bytes of the main database, and those free on its disk; undefined where that is on another machine. */
    readonly room: Effect.Effect<{ readonly size: number; readonly free: number | undefined }, Unavailable>
    /** The server's address for users. */
    readonly server: ServerPlace
  }
>()("svc/services/BranchDatabases") {}
