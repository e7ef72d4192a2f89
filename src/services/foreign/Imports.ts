import { Context, Effect, Layer, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { DatabaseError, InvalidRequest } from "../../domain/errors.ts"
import {
  type ForeignImport,
  ForeignTable,
  isOwnSchema,
  type NewForeignImport
} from "../../domain/foreign/ForeignData.ts"
import { importedSql, importSql } from "../../domain/foreign/ForeignDataSql.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { type Session } from "../ports/Db.ts"
import { answering, serverExists, without } from "./ForeignData.ts"
import { connectFailure, type ForeignFailure, importFailure, serverNotFound, unreachable } from "./Failures.ts"
import { finds, ForeignSessions, valueOf } from "./Sessions.ts"

const decodeTables = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Array(ForeignTable)))

/** How long the foreign server may take to let us in, in ms; and how long we wait for PostgreSQL to say it did not. */
const connectMillis = 8_000
const patienceMillis = 8_500

/** Passwords of a server's mappings, as far as our role may see them. */
const passwordsSql = `select option_value from pg_catalog.pg_user_mappings m
  cross join lateral pg_catalog.pg_options_to_table(m.umoptions) where m.srvname = $1::text and option_name ~ 'password'`

/** Makes foreign tables of all that a foreign schema has (spec: POST /api/fdw/import). */
export class ForeignImports extends Context.Service<
  ForeignImports,
  {
    /**
     * All tables or none. The schema here is made when it is missing. Roles of anon keys and users get no right on the
     * tables, whatever they have on tables by default: no policy can protect a foreign table.
     */
    readonly run: (given: NewForeignImport) => Effect.Effect<ForeignImport, ForeignFailure>
  }
>()("svc/services/ForeignImports") {
  static readonly layer = Layer.effect(
    ForeignImports,
    Effect.gen(function* () {
      const sessions = yield* ForeignSessions

      const attempt = (given: NewForeignImport) =>
        sessions.change(
          Effect.fnUntraced(function* (session) {
            const { local_schema, remote_schema, server } = given
            if (!(yield* finds(session, serverExists, [server]))) return yield* serverNotFound(server)
            yield* session.query(`create schema if not exists ${quoteName(local_schema)}`, [], 1)
            yield* connect(session, given)
            yield* session.query(importSql(given), [], 1).pipe(answering((error) => importFailure(error, server)))
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
        isOwnSchema(given.local_schema)
          ? attempt(given).pipe(
              // Two made the schema in the same moment; it is there now.
              Effect.retry({ times: 1, while: (error) => error instanceof DatabaseError && error.code === "23505" }),
              answering(() => undefined)
            )
          : Effect.fail(
              new InvalidRequest({
                error: `Nothing can be imported into schema ${given.local_schema}`,
                details: ["local_schema: Expected a schema that is not PostgreSQL's or the service's own"]
              })
            )
      )

      return ForeignImports.of({ run })
    })
  )
}

/**
 * Signs in at the foreign server by asking for a table that it can't have, which leaves the connection open for what
 * follows. That way the time for connecting is bounded, and not the time for a thousand tables.
 */
const connect = Effect.fnUntraced(function* (session: Session, given: NewForeignImport) {
  const { remote_schema, server } = given
  const limit = "select pg_catalog.set_config('statement_timeout', $1, true)"
  yield* session.query(limit, [String(connectMillis)], 1)
  const failed = yield* session.query(importSql(given, randomUUID()), [], 1).pipe(
    Effect.as(undefined),
    Effect.catchTag("DatabaseError", (error) => Effect.succeed(error)),
    Effect.timeoutOrElse({ duration: patienceMillis, orElse: () => Effect.fail(unreachable(server, null)) })
  )
  if (failed === undefined) return yield* session.query("set local statement_timeout to default", [], 1)
  // The server's own words are passed on, but not the password should it repeat that.
  yield* session.query("rollback", [], 1)
  const { rows } = yield* session.query(passwordsSql, [server], 1000)
  const clean = rows.reduce((error, [password]) => without(error, password ?? ""), failed)
  return yield* connectFailure(clean, server, remote_schema)
})
