import { Data, Effect, Exit, Scope } from "effect"
import { type DumpScript } from "../../../domain/dumps/Script.ts"
import {
  type Privileged,
  lendSql,
  maxPrivileged,
  precedesExtensions,
  privileged,
  returnSql
} from "../../../domain/dumps/Privileged.ts"
import { type DumpStatement } from "../../../domain/dumps/Statement.ts"
import { quoteLiteral, quoteName } from "../../../domain/sql/Names.ts"
import { type DumpFailed, type RestoreTarget } from "../../../services/ports/DumpTools.ts"
import { type Login } from "../../postgres/Login.ts"
import { PlainRestoreQuery } from "./Query.ts"
import { allSchemas, lendSearchPath, pathText, searchPathOf } from "../SearchPath.ts"
import { codeOf, connectRestore, restoreFailed, restoreRefusal, type RestoreSession } from "./Session.ts"

/** Client-only encodings in which a byte of a character may be a quote or a backslash. */
const unsafeEncoding = /^(BIG5|GB18030|GBK|JOHAB|SJIS|SHIFT_JIS_2004|UHC)$/i

/** SQLSTATE of a missing privilege. */
const missingRight = "42501"

/** Hides all names but those of pg_catalog from the rest of a script. */
export const hidesNames = /^SELECT pg_catalog\.set_config\('search_path', '', false\)$/

class Refused extends Data.TaggedError("Refused")<{ readonly cause: unknown }> {}

/** Skips owners, timeouts of the session, and subscriptions, which would use the source's slots. */
const isSkipped = ({ head, owner }: DumpStatement, superuser: boolean) => {
  const [first, second, third, fourth] = head
  if (owner) return true
  if (first === "SET" && second?.endsWith("_TIMEOUT") === true) return true
  if (second === "SESSION" && (third === "AUTHORIZATION" || fourth === "AUTHORIZATION")) return !superuser
  if (first === "CREATE" || first === "ALTER") return second === "SUBSCRIPTION"
  return (first === "COMMENT" || first === "SECURITY") && head[head.indexOf("ON") + 1] === "SUBSCRIPTION"
}

/**
 * Whether a statement may call functions of the dump, all of which come before its rows. PostgreSQL builds indexes and fills
 * materialized views without the session's path since version 17.
 */
const evaluates = ({ head }: DumpStatement) => {
  const [first, second, third] = head
  if (first === "COPY" || first === "INSERT" || first === "REFRESH") return true
  if (first === "CREATE") return second === "INDEX" || third === "INDEX"
  return first === "ALTER" && second === "TABLE" && head.includes("ADD")
}

/** Runs scripts of one dump. */
export interface RestoreRunner {
  /** Runs the next piece of a script. */
  readonly run: (script: DumpScript, chunk: Buffer) => Effect.Effect<void, DumpFailed>
  /** Ends a script. */
  readonly end: (script: DumpScript) => Effect.Effect<void, DumpFailed>
  /** Extensions that follow are created with the role's own rights. */
  readonly beginObjects: Effect.Effect<void>
  /** Gives the functions that there are the search path, for sessions that have none, until the restore is finished. */
  readonly lendPath: Effect.Effect<void, DumpFailed>
  /** Creates the event triggers, and takes back what the role was lent. */
  readonly finish: Effect.Effect<void, DumpFailed>
}

/**
 * Runs scripts in a session of the target's role. What pg_dump writes for a superuser is run by `admin`, the service's
 * login, in another session: extensions that the main database has as well, and statements that run no code of the dump
 * (`privileged`). Grants on what belongs to neither, as on functions of PostgreSQL, are skipped.
 *
 * @param admin the login, in the main database
 */
export const makeRestoreRunner = (
  admin: Login,
  target: RestoreTarget
): Effect.Effect<RestoreRunner, DumpFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const session = yield* connectRestore(
      { ...admin, database: target.database, user: target.login, password: target.password },
      { role: target.role }
    )
    const { client, reported } = session
    const superuser = reported.get("is_superuser") === "on"
    const asAdmin = yield* Effect.cached(Scope.provide(connectRestore({ ...admin, database: target.database }), scope))
    const allowed = yield* Effect.cached(extensionsOf(admin))
    let copying: { readonly query: PlainRestoreQuery; readonly statement: DumpStatement } | undefined
    /** True while only schemas and extensions have been created. */
    let untouched = true
    let lent = false
    let skippedGrants = 0
    const eventTriggers: Array<DumpStatement> = []

    const textOf = ({ parts, size }: DumpStatement) =>
      size > maxPrivileged ? "" : Buffer.concat(parts).toString("latin1").trim()

    const simple = (session: RestoreSession, text: string) =>
      Effect.tryPromise({ try: () => session.client.query(text), catch: (cause) => restoreRefusal(cause) })

    // Names without a schema must not resolve to objects of others if the rights exceed those of the dump's owner.
    const path = superuser ? pathText([]) : pathText(yield* searchPathOf(admin))
    const setPath = (names: string) => simple(session, `set search_path to ${names}`)
    yield* setPath(path)

    let returnPath: Effect.Effect<void, DumpFailed> | undefined
    const lendPath = Effect.gen(function* () {
      if (superuser || returnPath !== undefined) return
      returnPath = (yield* lendSearchPath(yield* asAdmin, target.role, path)).back
    })

    const begun = (statement: DumpStatement) =>
      Effect.suspend(() => {
        const query = client.query(new PlainRestoreQuery(statement.parts, statement.size))
        return Effect.map(
          Effect.tryPromise({ try: () => query.wantsRows, catch: (cause) => new Refused({ cause }) }),
          (wantsRows) => ({ query, wantsRows })
        )
      })

    /** Another try, for a statement that refers to what the path hides: sessions may have set one of their own. */
    const again = (statement: DumpStatement, first: Refused) =>
      Effect.gen(function* () {
        const resumable =
          statement.head[0] !== "COPY" &&
          client.getTransactionStatus() === "I" &&
          codeOf(first.cause)?.startsWith("42") === true
        if (superuser || !resumable || codeOf(first.cause) === missingRight) return yield* first
        const own = path.split(", ")
        const everything = [
          ...own,
          ...(yield* allSchemas(session)).map(quoteName).filter((name) => !own.includes(name))
        ]
        for (const other of [everything.join(", "), pathText([])]) {
          yield* setPath(other)
          const result = yield* Effect.exit(begun(statement))
          yield* Effect.ignore(setPath(path))
          if (Exit.isSuccess(result)) return result.value
        }
        return yield* first
      })

    const elevated = Effect.fnUntraced(function* (statement: DumpStatement) {
      const session = yield* asAdmin
      const encoding = reported.get("client_encoding") ?? "UTF8"
      if (session.reported.get("client_encoding") !== encoding) {
        yield* simple(session, `set client_encoding to ${quoteLiteral(encoding)}`)
      }
      const query = session.client.query(new PlainRestoreQuery(statement.parts, statement.size))
      yield* Effect.tryPromise({ try: () => query.wantsRows, catch: (cause) => restoreRefusal(cause, statement) })
    })

    const runPrivileged = Effect.fnUntraced(function* (statement: DumpStatement, what: Privileged) {
      if (what.kind === "event trigger") {
        eventTriggers.push(statement)
        return undefined
      }
      yield* elevated(statement)
      if (what.kind !== "extension" || target.role === admin.user) return undefined
      yield* simple(yield* asAdmin, lendSql(target.role))
      lent = true
      return undefined
    })

    /** Whether the login runs a statement in place of the role. */
    const elevates = (what: Privileged | undefined): Effect.Effect<boolean, DumpFailed> => {
      if (what === undefined || superuser) return Effect.succeed(what?.kind === "event trigger")
      if (what.kind !== "extension") return Effect.succeed(true)
      return untouched ? Effect.map(allowed, (names) => names.has(what.name)) : Effect.succeed(false)
    }

    const runStatement = Effect.fnUntraced(function* (script: DumpScript, statement: DumpStatement) {
      if (isSkipped(statement, superuser)) return undefined
      const text = textOf(statement)
      const what = privileged(text)
      if (what !== undefined && (yield* elevates(what))) return yield* runPrivileged(statement, what)
      if (hidesNames.test(text)) return undefined
      if (untouched && !precedesExtensions(text)) untouched = false
      if (evaluates(statement)) yield* lendPath
      const result = yield* begun(statement).pipe(
        Effect.catchTag("Refused", (first) => again(statement, first)),
        Effect.catchTag("Refused", ({ cause }) => {
          const grants = statement.head[0] === "GRANT" || statement.head[0] === "REVOKE"
          if (!grants || codeOf(cause) !== missingRight) return Effect.fail(restoreRefusal(cause, statement))
          skippedGrants++
          return Effect.void
        })
      )
      if (result !== undefined && result.wantsRows) {
        copying = { query: result.query, statement }
        script.startRows()
      }
      // psql, too, follows the values that PostgreSQL reports.
      script.standardStrings = reported.get("standard_conforming_strings") !== "off"
      const encoding = reported.get("client_encoding") ?? ""
      return unsafeEncoding.test(encoding)
        ? yield* restoreFailed(`The encoding ${encoding} is not supported for scripts`)
        : undefined
    })

    /** `undefined` ends the rows. */
    const runRows = (bytes: Buffer | undefined): Effect.Effect<void, DumpFailed> => {
      if (copying === undefined) return Effect.void
      const { query, statement } = copying
      const waiting = bytes === undefined ? query.endRows() : query.rows(bytes)
      if (bytes === undefined) copying = undefined
      if (waiting === undefined) return Effect.void
      return Effect.tryPromise({ try: () => waiting, catch: (cause) => restoreRefusal(cause, statement) })
    }

    /** PostgreSQL has the setting that keeps event triggers from the service's own DDL since version 17. */
    const createEventTriggers = Effect.gen(function* () {
      if (eventTriggers.length === 0) return
      const session = yield* asAdmin
      const able =
        session.reported.get("is_superuser") === "on" &&
        Number.parseInt(session.reported.get("server_version") ?? "", 10) >= 17
      if (!able) {
        yield* Effect.logWarning(
          "The event triggers of a backup were not restored: that takes a superuser and PostgreSQL 17"
        )
        return
      }
      yield* Effect.forEach(eventTriggers, elevated, { discard: true })
    })

    return {
      run: Effect.fnUntraced(function* (script, chunk) {
        for (const piece of script.read(chunk)) {
          if (piece.kind === "problem") return yield* restoreFailed(piece.problem)
          if (piece.kind === "statement") yield* runStatement(script, piece)
          else yield* runRows(piece.kind === "rows" ? piece.bytes : undefined)
        }
        return undefined
      }),
      end: (script) =>
        Effect.suspend(() => {
          const open = client.getTransactionStatus() === "I" ? undefined : "The script does not end its transaction"
          const problem = script.end() ?? open
          return problem === undefined ? Effect.void : Effect.fail(restoreFailed(problem))
        }),
      beginObjects: Effect.sync(() => {
        untouched = false
      }),
      lendPath,
      finish: Effect.gen(function* () {
        if (returnPath !== undefined) yield* returnPath
        yield* createEventTriggers
        if (lent) yield* simple(yield* asAdmin, returnSql(target.role))
        if (skippedGrants > 0) {
          yield* Effect.logWarning(
            `${skippedGrants} grants of a backup were not restored: they are about objects of PostgreSQL or of extensions`
          )
        }
      })
    }
  })

/** Names of the main database's extensions. */
const extensionsOf = (admin: Login) =>
  connectRestore(admin).pipe(
    Effect.flatMap(({ client }) =>
      Effect.tryPromise({
        try: () => client.query<{ readonly name: string }>("select extname::text as name from pg_extension"),
        catch: (cause) => restoreRefusal(cause)
      })
    ),
    Effect.map(({ rows }) => new Set(rows.map(({ name }) => name))),
    Effect.scoped
  )
