import { Context, type Effect, type Scope } from "effect"
import { type BranchNames, type ServerPlace } from "../../domain/branches/Branch.ts"
import { type Conflict, type Forbidden, type Unavailable } from "../../domain/errors.ts"
import { type DumpFailed } from "./DumpTools.ts"

/** Passwords of a branch's logins: the one its maker is given, and the service's own two. */
export interface BranchPasswords {
  readonly given: string
  readonly own: string
}

/** Makes branches' databases; one turn at a time over all replicas. */
export interface BranchCreator {
  /**
   * Copies the main database. Nobody is in it meanwhile: callers of the service wait, other sessions are ended. Fails
   * with 503 `BRANCH_SOURCE_BUSY`, `BRANCH_TIMEOUT`, `BRANCH_NO_SPACE`, 403 `BRANCH_NOT_ALLOWED`; the main database is
   * open again in every case, and nothing of the copy is left.
   */
  readonly copy: (database: string) => Effect.Effect<void, Forbidden | Unavailable>
  /**
   * Makes a database with the encoding and collation of the main one and nothing in it, for nobody but our own login.
   * It counts as being filled until the scope closes, which may be long after the turn. What it gives ends, with a
   * failure, when that is no longer so: the database may be dropped by anybody then.
   */
  readonly empty: (
    database: string
  ) => Effect.Effect<Effect.Effect<never, DumpFailed>, Forbidden | Unavailable, Scope.Scope>
}

/** Port: databases beside the main one, on its server. Real layer: layers/BranchDatabasesPostgres.ts. */
export class BranchDatabases extends Context.Service<
  BranchDatabases,
  {
    /** Lasts until the scope closes. 409 `BRANCH_IN_PROGRESS` when others are at it for a minute. */
    readonly creator: Effect.Effect<BranchCreator, Conflict | Unavailable, Scope.Scope>
    /** Fills an empty database with a dump of the main one, which goes on as ever. 503 `BRANCH_NO_SPACE`. */
    readonly fillFromMain: (database: string) => Effect.Effect<void, DumpFailed | Unavailable>
    /** Takes what is the service's own out of a database that was copied or filled, and gives the rest to its role. */
    readonly finalise: (names: BranchNames, passwords: BranchPasswords) => Effect.Effect<void, Forbidden | Unavailable>
    /** The database, whoever is in it, its roles, and the dump that it was to be filled with, as far as they are there. */
    readonly drop: (names: BranchNames) => Effect.Effect<void, Unavailable>
    /** Where people reach the server. */
    readonly server: ServerPlace
  }
>()("svc/services/BranchDatabases") {}
