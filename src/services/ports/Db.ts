import { Context, type Effect, type Redacted, type Scope, type Stream } from "effect"
import { type SqlClient } from "effect/sql"
import { type DatabaseError, type Unavailable } from "../../domain/errors.ts"
import { type RequestContext } from "../../domain/rows/Preferences.ts"
import { type ResponseSettings } from "../../domain/rows/ResponseSettings.ts"

/** The role and claims that a statement runs with. `sub` becomes `request.jwt.sub`; for the claims see `claimsSetting`. */
export interface Actor {
  readonly role: "anon" | "authenticated" | "service_role"
  /** The verified JWT payload as JSON text; "" without a JWT. */
  readonly claims: string
  /** The JWT's subject; "" without a JWT. */
  readonly sub: string
  /**
   * The user, or the API key at an address, that takes turns with others of the same role. Undefined for the service
   * itself.
   */
  readonly client?: string
}

/** The service itself, for statements of its own: the role of service keys, without claims. */
export const serviceActor: Actor = { role: "service_role", claims: "", sub: "" }

/** The setting `request.jwt.claims`: without a JWT it names the role, so that policies can always read it as JSON. */
export const claimsSetting = ({ claims, role }: Actor) => (claims === "" ? JSON.stringify({ role }) : claims)

/** One SQL statement with `$n` parameters, given as text, or as its bytes; PostgreSQL infers their types. */
export interface Statement {
  readonly text: string
  readonly params: ReadonlyArray<string | Uint8Array | null>
  /**
   * The epoch of the catalogue that the statement was planned with, if that is certainly current. It may be kept
   * prepared within an epoch only.
   */
  readonly epoch?: number | undefined
  /**
   * Runs no user code (functions, triggers, policies that call functions) in that epoch, so that it leaves nothing in the
   * session. Not without `epoch`.
   */
  readonly clean?: boolean
  /**
   * Plans the statement again by definitions newer than `epoch`. A clean statement that was not proven to have run in its
   * epoch runs again only if it is the same and clean by those.
   */
  readonly replan?: Effect.Effect<Replanned, DatabaseError | Unavailable> | undefined
  /** A clean read of bounded cost (no embeds, counts, aggregates or patterns), which may share a connection. */
  readonly bounded?: boolean
  readonly access: "read" | "write"
  /** Kept prepared under its text, within an epoch; `false` for texts that are unlikely to recur. Default true. */
  readonly prepare?: boolean
  /**
   * Uses no plan that another request has made, its own or one that a function keeps: it may hold the result of a function
   * that is declared IMMUTABLE and is not. Only of what may run user code; no clean statement reaches such a function.
   */
  readonly freshPlans?: boolean | undefined
  /** Returns any number of rows of one column; the answer is one text with a line per row. Not with `clean`. */
  readonly lines?: boolean | undefined
  /** A large value of the answer may be a Buffer of its UTF-8 instead of a text, which would be a copy of it. */
  readonly bytes?: boolean
  /** The request settings that user code can read; not used with `clean`. */
  readonly context?: RequestContext | undefined
  /** Time zone of timestamps in the answer; PostgreSQL fails with 22023 for an unknown one. */
  readonly timezone?: string | undefined
  /** The schemas, in order, in which user code finds its neighbours; not used with `clean`. */
  readonly searchPath?: string | undefined
  /** The setting `storage.operation`, which policies of files can read; not used with `clean`. */
  readonly operation?: string | undefined
  /** Rolls back instead of committing. */
  readonly rollback?: boolean | undefined
  /** How recent a clean read on a standby must be; undefined: it runs on the primary. */
  readonly freshness?: Freshness | undefined
}

/** A statement as it would be planned today. */
interface Replanned extends Pick<Statement, "text" | "epoch"> {
  readonly clean: boolean
}

/** How recent the data of a read must be. Definitions and rights are today's in any case. */
export interface Freshness {
  /** Everything up to this position of the write-ahead log. */
  readonly after: number
  /** Whether the read must also include the client's writes in this process. */
  readonly session: boolean
}

/** The single row that a `Statement` must return: its columns as PostgreSQL text, in order; see `Statement.bytes`. */
export interface Answer extends ReadonlyArray<unknown> {
  /** Set if user code has chosen the status or headers of the response. */
  readonly response?: ResponseSettings
  /** A position of the write-ahead log after a write; set if standbys serve reads. */
  readonly lsn?: string
}

/** A result in PostgreSQL's text format: every value is text or null. */
export interface RawResult {
  readonly command: string
  /** Rows affected or returned, as PostgreSQL counts them; null for commands without a count. */
  readonly rowCount: number | null
  readonly fields: ReadonlyArray<{ readonly name: string; readonly oid: number; readonly typmod: number }>
  readonly rows: ReadonlyArray<ReadonlyArray<string | null>>
  /** There were more rows than the limit. */
  readonly truncated: boolean
}

/** A connection for exclusive use until its scope closes; then everything left in it is discarded. */
export interface SqlSession {
  /**
   * Runs any one statement, reading `rowLimit` rows at most. Interruption cancels it in PostgreSQL. `last` announces
   * that no other statement is expected in this session, which makes closing it cheaper.
   */
  readonly query: (
    text: string,
    params: ReadonlyArray<string | null>,
    rowLimit: number,
    last?: boolean
  ) => Effect.Effect<RawResult, DatabaseError | Unavailable>
  /**
   * Runs a text of any number of statements, without parameters, discarding rows. Outside of a transaction, PostgreSQL
   * runs them as one. Returns the command tag of the last one, such as `DELETE 3`. A failure's `statement_index` is the
   * number of statements that had completed.
   */
  readonly script: (text: string) => Effect.Effect<string, DatabaseError | Unavailable>
  /**
   * Runs one statement and passes its rows on as lines of CSV, without their names, as fast as they are taken: no more than
   * a few are in memory. The statement has no time limit.
   */
  readonly csv: (
    text: string,
    params: ReadonlyArray<string | Uint8Array | null>
  ) => Stream.Stream<Uint8Array, DatabaseError | Unavailable>
  /**
   * Runs `COPY … FROM STDIN` with these bytes, as fast as PostgreSQL takes them, without a time limit. Returns the number
   * of rows; `details` of an error begin with the line. If the bytes end with an error, nothing is written.
   */
  readonly load: <E>(
    text: string,
    bytes: Stream.Stream<Uint8Array, E>
  ) => Effect.Effect<number, E | DatabaseError | Unavailable>
}

/** A session that has begun a transaction, which is rolled back unless it is committed. */
export interface Transaction extends SqlSession {
  /** Completes with PostgreSQL's command tag: `COMMIT`, or `ROLLBACK` if a statement has failed. */
  readonly commit: Effect.Effect<string, DatabaseError | Unavailable>
}

/** The login of assistants in a database, which reads only what it has been granted; or the SQL without which there is none. */
type Assistant = { readonly role: string; readonly session: Database["session"] } | { readonly remedy: string }

/** One PostgreSQL database: the main one or a branch. */
export interface Database {
  readonly name: string
  /** The row path: runs one statement as the actor; role and claims are set for it alone. */
  readonly run: (actor: Actor, statement: Statement) => Effect.Effect<Answer, DatabaseError | Unavailable>
  /** An exclusive session of the service role for any statements, with the actor's claims set if it has any. */
  readonly session: (actor: Actor) => Effect.Effect<SqlSession, DatabaseError | Unavailable, Scope.Scope>
  /**
   * One transaction of the service role, with the actor's claims set if it has any, on a connection that is cheaper than one of
   * `session`: through a pooler. Undefined if there is none.
   */
  readonly transaction?: (
    actor: Actor,
    readOnly: boolean
  ) => Effect.Effect<Transaction, DatabaseError | Unavailable, Scope.Scope>
  /**
   * Changes with every report of DDL, for databases that the port `Listener` does not cover; undefined while reports
   * would be missed.
   */
  readonly ddlGeneration?: () => number | undefined
  /** Undefined if `SVC_MCP` is off. */
  readonly assistant?: Assistant | undefined
}

/** A branch's database and its logins. Service keys act as `role`, all others as on the main database. */
export interface BranchPlace {
  readonly database: string
  /** Owner of the database's objects. */
  readonly role: string
  /** Login that may become `role`. */
  readonly keysLogin: string
  /** Login that may become `anon` and `authenticated`. */
  readonly rowsLogin: string
  /** Password of both logins. */
  readonly password: Redacted.Redacted
}

/** Port: PostgreSQL. Real layer: layers/postgres/Db.ts, for the embedded server or DATABASE_URL. */
export class Db extends Context.Service<
  Db,
  {
    /** The database that the service was started on. */
    readonly main: Database
    /** Connections are opened on first use and closed after a minute without use. */
    readonly branch: (place: BranchPlace) => Database
    /** Closes all connections to a branch's database. */
    readonly leave: (database: string) => Effect.Effect<void>
  }
>()("svc/services/Db") {}

/**
 * Port: PostgreSQL by a login that owns nothing and may become `anon` and `authenticated` within a transaction, to evaluate
 * policies of several callers in one statement. Code in policies can't reach what the service's own login may.
 * Real layer: layers/postgres/CallerSql.ts.
 */
export class CallerSql extends Context.Service<CallerSql, SqlClient.SqlClient>()("svc/services/CallerSql") {}
