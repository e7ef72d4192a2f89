import { Context, Effect, Layer, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { DatabaseError, InvalidRequest } from "../../domain/errors.ts"
import {
  type ForeignImport,
  ForeignTable,
  isImportTarget,
  type NewForeignImport
} from "../../domain/foreign/ForeignData.ts"
import { importedSql, importSql } from "../../domain/foreign/ForeignDataSql.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { type SqlSession } from "../ports/Db.ts"
import {
  asForeignFailure,
  connectFailure,
  type ForeignFailure,
  importFailure,
  serverNotFound,
  unreachable,
  without
} from "./Failures.ts"
import { finds, makeForeignSessions, serverExists, valueOf } from "./Sessions.ts"

const decodeTables = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Array(ForeignTable)))

/** Timeout of PostgreSQL for connecting to the foreign server, and of this process for that response; in ms. */
const connectMillis = 8_000
const responseMillis = 8_500

/** The passwords of a server's mappings that the role may read. */
const passwordsSql = `select option_value from pg_catalog.pg_user_mappings m
  cross join lateral pg_catalog.pg_options_to_table(m.umoptions) where m.srvname = $1::text and option_name ~ 'password'`

/** Imports foreign schemas (spec: POST /api/fdw/import). */
export class ForeignImports extends Context.Service<
  ForeignImports,
  {
    /**
     * Imports all tables or none, and creates the local schema if it is missing. anon and authenticated get no privileges
     * on the tables, regardless of default privileges: no policy can protect a foreign table.
     */
    readonly run: (given: NewForeignImport) => Effect.Effect<ForeignImport, ForeignFailure>
  }
>()("svc/services/ForeignImports") {
  static readonly layer = Layer.effect(
    ForeignImports,
    Effect.gen(function* () {
      const sessions = yield* makeForeignSessions

      const attempt = (given: NewForeignImport) =>
        sessions.change(
          Effect.fnUntraced(function* (session) {
            const { local_schema, remote_schema, server } = given
            if (!(yield* finds(session, serverExists, [server]))) return yield* serverNotFound(server)
            yield* session.query(`create schema if not exists ${quoteName(local_schema)}`, [], 1)
            yield* connect(session, given)
            yield* session
              .query(importSql(given), [], 1)
              .pipe(asForeignFailure((error) => importFailure(error, server)))
            const tables = yield* Effect.orDie(
              decodeTables((yield* valueOf(session, importedSql, [local_schema])) ?? "[]")
            )
            const names = tables.map(({ table_name }) => `${quoteName(local_schema)}.${quoteName(table_name)}`)
            if (names.length > 0) {
              yield* session.query(`revoke all on table ${names.join(", ")} from anon, authenticated`, [], 1)
            }
            return { server, remote_schema, local_schema, foreignTables: tables }
          })
        )

      const run = Effect.fn("ForeignImports.run")((given: NewForeignImport) =>
        isImportTarget(given.local_schema)
          ? attempt(given).pipe(
              // The schema was created concurrently; it exists now.
              Effect.retry({ times: 1, while: (error) => error instanceof DatabaseError && error.code === "23505" }),
              asForeignFailure(() => undefined)
            )
          : Effect.fail(
              new InvalidRequest({
                error: `Schema ${given.local_schema} is not allowed as the target of an import`,
                details: ["local_schema: Expected a schema other than those of PostgreSQL and of the service"]
              })
            )
      )

      return ForeignImports.of({ run })
    })
  )
}

/**
 * Connects to the foreign server by importing a table that can't exist, which leaves the connection open for the import
 * that follows. So the timeout bounds the time to connect, and not the time to import many tables.
 */
const connect = Effect.fnUntraced(function* (session: SqlSession, given: NewForeignImport) {
  const { remote_schema, server } = given
  const limit = "select pg_catalog.set_config('statement_timeout', $1, true)"
  yield* session.query(limit, [String(connectMillis)], 1)
  const failed = yield* session.query(importSql(given, randomUUID()), [], 1).pipe(
    Effect.as(undefined),
    Effect.catchTag("DatabaseError", (error) => Effect.succeed(error)),
    Effect.timeoutOrElse({ duration: responseMillis, orElse: () => Effect.fail(unreachable(server, null)) })
  )
  if (failed === undefined) return yield* session.query("set local statement_timeout to default", [], 1)
  // The server's own message is returned, unless it contains the password.
  yield* session.query("rollback", [], 1)
  const { rows } = yield* session.query(passwordsSql, [server], 1000)
  const clean = rows.reduce((error, [password]) => without(error, password ?? ""), failed)
  return yield* connectFailure(clean, server, remote_schema)
})
