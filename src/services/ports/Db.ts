import { Context, type Effect, type Redacted, type Scope } from "effect"
import { type DatabaseError, type Unavailable } from "../../domain/errors.ts"
import { type RequestContext } from "../../domain/rows/Preferences.ts"
import { type ResponseSettings } from "../../domain/rows/ResponseSettings.ts"

/** Whom a statement runs as. `claims` and `sub` become `request.jwt.claims` and `request.jwt.sub`; "" without a JWT. */
export interface Actor {
  readonly role: "anon" | "authenticated" | "service_role"
  /** The verified JWT payload as JSON text, or "". */
  readonly claims: string
  /** The JWT's subject, or "". */
  readonly sub: string
}

/** The service itself, for statements of its own: the role of service keys, without claims. */
export const serviceActor: Actor = { role: "service_role", claims: "", sub: "" }

/** One SQL statement with `$n` parameters, given as text and typed by PostgreSQL from where they stand. */
export interface Statement {
  readonly text: string
  readonly params: ReadonlyArray<string | null>
  /** Runs no user-written code (functions, triggers, policies that call any): nothing can be left in the session. */
  readonly clean: boolean
  readonly access: "read" | "write"
  /** Kept prepared under its text; `false` for texts that are unlikely to come again. Default true. */
  readonly prepare?: boolean
  /** Gives any number of rows of one column, which are lines: the answer is the text of them all. Not with `clean`. */
  readonly lines?: boolean | undefined
  /** What user code can read of the request; what is `clean` reads none of it. */
  readonly context?: RequestContext | undefined
  /** Time zone of the answer's timestamps; one that PostgreSQL does not know is its 22023. */
  readonly timezone?: string | undefined
  /** Nothing of it stays. */
  readonly rollback?: boolean | undefined
}

/** The single row a `Statement` must give: its columns as PostgreSQL text, in order. */
export interface Answer extends ReadonlyArray<unknown> {
  /** Where user code has chosen something of the response. */
  readonly response?: ResponseSettings
}

/** A result as PostgreSQL printed it: every value text, or null. */
export interface RawResult {
  readonly command: string
  /** Rows affected or returned as PostgreSQL counts them; null for commands that count nothing. */
  readonly rowCount: number | null
  readonly fields: ReadonlyArray<{ readonly name: string; readonly oid: number; readonly typmod: number }>
  readonly rows: ReadonlyArray<ReadonlyArray<string | null>>
  /** More rows were there than were asked for. */
  readonly truncated: boolean
}

/** A connection of one caller's own, until its scope closes; then everything left in it is discarded. */
export interface Session {
  /**
   * Runs any one statement, reading `rowLimit` rows at most. Interrupting it cancels it in PostgreSQL. `last` announces
   * that no other is expected in this session, which makes its end cheaper.
   */
  readonly query: (
    text: string,
    params: ReadonlyArray<string | null>,
    rowLimit: number,
    last?: boolean
  ) => Effect.Effect<RawResult, DatabaseError | Unavailable>
  /**
   * Runs a text of any number of statements as it stands, without parameters, dropping the rows. Outside a transaction
   * PostgreSQL runs them as one. A failure's `statement_index` says how many had gone well before.
   */
  readonly script: (text: string) => Effect.Effect<void, DatabaseError | Unavailable>
}

/** One PostgreSQL database: the main one or a branch. */
export interface Database {
  readonly name: string
  /** Row path: one statement as the actor, role and claims set for it alone. */
  readonly run: (actor: Actor, statement: Statement) => Effect.Effect<Answer, DatabaseError | Unavailable>
  /** Any-statement path: an exclusive session of the service role, `claims` set for it when there are any. */
  readonly session: (actor: Actor) => Effect.Effect<Session, DatabaseError | Unavailable, Scope.Scope>
  /**
   * For databases that the port `Listener` does not hear: grows with every report of DDL; undefined while none would
   * reach us.
   */
  readonly ddlHeard?: () => number | undefined
}

/** A branch's database and who comes into it. Service keys act as `role`, everybody else as on the main database. */
export interface BranchPlace {
  readonly database: string
  /** Owns what is in it. */
  readonly role: string
  /** Login that may become `role`. */
  readonly keysLogin: string
  /** Login that may become `anon` and `authenticated`. */
  readonly rowsLogin: string
  /** Of both logins. */
  readonly password: Redacted.Redacted
}

/** Port: PostgreSQL. Real layer: layers/Postgres.ts, on the embedded server or on DATABASE_URL. */
export class Db extends Context.Service<
  Db,
  {
    /** The database that the service was started on. */
    readonly main: Database
    /** Connections are made at the first use and closed after a minute without any. */
    readonly branch: (place: BranchPlace) => Database
    /** Closes whatever connections there are to a branch's database. */
    readonly leave: (database: string) => Effect.Effect<void>
  }
>()("svc/services/Db") {}
