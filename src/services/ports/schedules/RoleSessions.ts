import { Context, Data, type Effect, type Scope } from "effect"
import { type DatabaseError, type Unavailable } from "../../../domain/errors.ts"
import { type SqlSession } from "../Db.ts"

/** A database role as it was when something was stored for it: another one may have its name now. */
export interface StoredRole {
  readonly name: string
  readonly oid: string
}

/** There can be no session of the role; the reason is a sentence. */
export class RoleUnusable extends Data.TaggedError("RoleUnusable")<{ readonly reason: string }> {}

/** A session, and what `pg_stat_activity` knows it by. */
export interface RoleSession extends SqlSession {
  /** The oids of a statement's parameter types, without running it. */
  readonly parameterTypes: (text: string) => Effect.Effect<ReadonlyArray<number>, DatabaseError | Unavailable>
  readonly pid: number
  readonly start: string
}

/**
 * Port: sessions on the main database that have no more rights than one role, whatever runs in them: the role that a
 * statement may return to has none. Each has a connection of its own, which is closed with the scope.
 * Real layer: layers/postgres/sql/RoleSessions.ts.
 */
export class RoleSessions extends Context.Service<
  RoleSessions,
  {
    /** `timeout`: of each statement, in ms. */
    readonly open: (
      role: StoredRole,
      timeout: number
    ) => Effect.Effect<RoleSession, RoleUnusable | DatabaseError | Unavailable, Scope.Scope>
  }
>()("svc/services/RoleSessions") {}
