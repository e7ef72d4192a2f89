import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { DatabaseError, InvalidRequest, type Unavailable } from "../../domain/errors.ts"
import { needTypes, paramTexts } from "../../domain/sql/Params.ts"
import { maxResultSize, resultJson, sqlResultTooLarge, unknownTypes } from "../../domain/sql/Result.ts"
import { checkSingle, leadingKeyword } from "../../domain/sql/Statements.ts"
import { lookUpTypes, type SqlType, typeOfRow } from "../../domain/sql/Types.ts"
import { type Actor, type Database, type RawResult, type SqlSession, type Transaction } from "../ports/Db.ts"

export interface SqlStatement {
  readonly sql: string
  /** Anything JSON can hold; numbers may be `JSON.rawJSON` to keep all their digits. */
  readonly params?: ReadonlyArray<unknown> | undefined
}

export interface SqlOptions {
  /** Rows to read at most of each statement, 1 to 10000; default 1000. */
  readonly row_limit?: number | undefined
  /** Time limit of each statement in ms, 1 to 600000; default SVC_SQL_TIMEOUT. */
  readonly timeout?: number | undefined
  /** PostgreSQL refuses writes, whatever the statements are; default false. */
  readonly read_only?: boolean | undefined
}

export interface SqlRequest extends SqlStatement, SqlOptions {}

export interface SqlAnswer {
  /** The response body. */
  readonly json: string
  /**
   * PostgreSQL's command tags without counts, one per statement: `SELECT`, `CREATE TABLE`, `DO`; `CREATE TABLE AS` for a
   * SELECT INTO. Catalogue caches are invalidated by them.
   */
  readonly commands: ReadonlyArray<string>
  /** Rows of each statement, as PostgreSQL counts them; null for commands without a count. */
  readonly counts: ReadonlyArray<number | null>
}

/** A session that can report the oids of a statement's parameter types without running it. */
export interface TypedSession extends SqlSession {
  readonly parameterTypes: (text: string) => Effect.Effect<ReadonlyArray<number>, DatabaseError | Unavailable>
}

export type SqlError = InvalidRequest | DatabaseError | Unavailable

const defaultRows = 1000
const maxRows = 10_000
const maxStatements = 20
/** The longest timeout, in ms. */
const maxTimeout = 600_000
/** ms for which the names of a database's types are cached: another replica may rename one. */
const typesMillis = 60_000

/** Commands that change no type. */
const keepsTypes = new Set(["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "EXPLAIN", "SHOW", "SET", "FETCH"])

const isTyped = (session: SqlSession): session is TypedSession => "parameterTypes" in session

const checkRowLimit = (rowLimit: number) =>
  Number.isInteger(rowLimit) && rowLimit >= 1 && rowLimit <= maxRows
    ? Effect.succeed(rowLimit)
    : Effect.fail(
        new InvalidRequest({
          error: `row_limit must be a whole number from 1 to ${maxRows}`,
          code: "SQL_ROW_LIMIT",
          details: { row_limit: String(rowLimit) }
        })
      )

const checkTimeout = (timeout: number | undefined) =>
  timeout === undefined || (Number.isInteger(timeout) && timeout >= 1 && timeout <= maxTimeout)
    ? Effect.succeed(timeout === undefined ? undefined : String(timeout))
    : Effect.fail(
        new InvalidRequest({
          error: `timeout must be a whole number of milliseconds from 1 to ${maxTimeout}`,
          code: "SQL_TIMEOUT",
          details: { timeout: String(timeout) }
        })
      )

const setTimeoutSql = (local: boolean) => `select pg_catalog.set_config('statement_timeout', $1, ${local})`

/** Begins a transaction. A read-only one takes its snapshot at once: until then a statement could make it read-write. */
const begin = Effect.fnUntraced(function* (
  database: Database,
  actor: Actor,
  readOnly: boolean,
  timeout: string | undefined
): Effect.fn.Return<Transaction, DatabaseError | Unavailable, Scope.Scope> {
  if (database.transaction !== undefined) {
    const begun = yield* database.transaction(actor, readOnly)
    if (timeout !== undefined) yield* begun.query(setTimeoutSql(true), [timeout], 1)
    return begun
  }
  const session = yield* database.session(actor)
  yield* session.query(readOnly ? "begin read only" : "begin", [], 1)
  if (timeout !== undefined) yield* session.query(setTimeoutSql(true), [timeout], 1)
  else if (readOnly) yield* session.query("select", [], 1)
  return { ...session, commit: Effect.map(session.query("commit", [], 1), ({ command }) => command) }
})

/** Commits. The result must be known, so a client that disconnects now no longer interrupts it. */
const commit = Effect.fnUntraced(function* (session: Transaction) {
  const tag = yield* Effect.uninterruptible(session.commit)
  if (tag !== "COMMIT") {
    return yield* new DatabaseError({ error: "PostgreSQL rolled back the transaction", code: "40000", status: 409 })
  }
})

/** Statements that can run in a transaction, by their first word. Of others, some cannot. */
const inTransaction = new Set(["SELECT", "WITH", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE", "MERGE", "EXPLAIN"])

const inStatement = (index: number) => (error: SqlError) => {
  const { code, details, hint } = error
  switch (error._tag) {
    case "InvalidRequest":
      return new InvalidRequest({
        error: `statements[${index}]: ${error.error}`,
        code,
        details,
        hint,
        statement_index: index
      })
    case "DatabaseError":
      return new DatabaseError({
        error: error.error,
        code,
        details,
        hint,
        status: error.status,
        statement_index: index,
        ...(error.position === undefined ? {} : { position: error.position })
      })
    default:
      return error
  }
}

/** Runs any statement that a service key sends, as the service role. */
export class SqlRunner extends Context.Service<
  SqlRunner,
  {
    /** Runs one statement, in its own transaction unless the statement does not allow one. */
    readonly run: (database: Database, actor: Actor, request: SqlRequest) => Effect.Effect<SqlAnswer, SqlError>
    /** Runs 1 to 20 statements in one transaction. The error of a statement has its `statement_index`. */
    readonly transaction: (
      database: Database,
      actor: Actor,
      request: SqlOptions & { readonly statements: ReadonlyArray<SqlStatement> }
    ) => Effect.Effect<SqlAnswer, SqlError>
  }
>()("svc/services/SqlRunner") {
  static readonly layer = Layer.sync(SqlRunner, () => {
    const known = new Map<string, { readonly types: Map<number, SqlType>; readonly until: number }>()

    const typesOf = Effect.fnUntraced(function* (name: string, session: SqlSession, raw: RawResult) {
      const now = yield* Clock.currentTimeMillis
      let kept = known.get(name)
      if (kept === undefined || kept.until < now)
        known.set(name, (kept = { types: new Map(), until: now + typesMillis }))
      const unknown = unknownTypes(raw.fields, kept.types)
      if (unknown.length > 0) {
        const found = yield* session.query(lookUpTypes, [`{${unknown.join(",")}}`], 100_000)
        for (const row of found.rows) kept.types.set(...typeOfRow(row))
      }
      return kept.types
    })

    const none: ReadonlyMap<number, SqlType> = new Map()

    const one = Effect.fnUntraced(function* (
      name: string,
      session: SqlSession,
      statement: SqlStatement,
      rowLimit: number,
      last: boolean
    ) {
      const params = statement.params ?? []
      const wanted = needTypes(params) && isTyped(session) ? yield* session.parameterTypes(statement.sql) : []
      const raw = yield* session.query(statement.sql, yield* paramTexts(params, wanted), rowLimit, last)
      if (!keepsTypes.has(raw.command)) known.delete(name)
      const types = unknownTypes(raw.fields, none).length === 0 ? none : yield* typesOf(name, session, raw)
      const json = resultJson(raw, types)
      if (json === undefined) return yield* sqlResultTooLarge()
      const makesTable = raw.command === "SELECT" && raw.fields.length === 0 && raw.rows.length === 0
      return { json, command: makesTable ? "CREATE TABLE AS" : raw.command, count: raw.rowCount }
    })

    const run = Effect.fnUntraced(function* (database: Database, actor: Actor, request: SqlRequest) {
      const rowLimit = yield* checkRowLimit(request.row_limit ?? defaultRows)
      const timeout = yield* checkTimeout(request.timeout)
      yield* checkSingle(request.sql)
      const readOnly = request.read_only === true
      if (readOnly || (database.transaction !== undefined && inTransaction.has(leadingKeyword(request.sql)))) {
        const session = yield* begin(database, actor, readOnly, timeout)
        const { json, command, count } = yield* one(database.name, session, request, rowLimit, false)
        // The end of the session rolls the read-only transaction back, which has written nothing.
        if (!readOnly) yield* commit(session)
        return { json, commands: [command], counts: [count] }
      }
      const session = yield* database.session(actor)
      if (timeout !== undefined) yield* session.query(setTimeoutSql(false), [timeout], 1)
      const { json, command, count } = yield* one(database.name, session, request, rowLimit, true)
      return { json, commands: [command], counts: [count] }
    }, Effect.scoped)

    const transaction = Effect.fnUntraced(function* (
      database: Database,
      actor: Actor,
      { read_only, row_limit, statements, timeout }: SqlOptions & { readonly statements: ReadonlyArray<SqlStatement> }
    ) {
      const rowLimit = yield* checkRowLimit(row_limit ?? defaultRows)
      const limit = yield* checkTimeout(timeout)
      if (statements.length < 1 || statements.length > maxStatements) {
        return yield* new InvalidRequest({
          error: `A transaction must have 1 to ${maxStatements} statements, but this one has ${statements.length}`,
          code: "SQL_STATEMENT_COUNT"
        })
      }
      for (const [i, { sql }] of statements.entries()) yield* Effect.mapError(checkSingle(sql), inStatement(i))
      const session = yield* begin(database, actor, read_only === true, limit)
      const results: Array<string> = []
      const commands: Array<string> = []
      const counts: Array<number | null> = []
      let size = 0
      for (const [i, statement] of statements.entries()) {
        const { json, command, count } = yield* Effect.mapError(
          one(database.name, session, statement, rowLimit, false),
          inStatement(i)
        )
        size += json.length
        if (size > maxResultSize) return yield* sqlResultTooLarge()
        results.push(json)
        commands.push(command)
        counts.push(count)
      }
      yield* commit(session)
      return { json: `{"results":[${results.join(",")}]}`, commands, counts }
    }, Effect.scoped)

    return SqlRunner.of({ run, transaction })
  })
}
