import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { CallerSql, Db } from "../../services/ports/Db.ts"
import { PostgresAddress } from "./Address.ts"
import { DbSettings, queueMillis } from "./Db.ts"
import { pooled } from "./Login.ts"
import { MainSessions } from "./MainSessions.ts"
import { makeOwnTables } from "./OwnTablesClient.ts"

/** Connections; each is busy for as long as policies are evaluated. */
const maxConnections = 4

/** The login that the installation has made for callers, without a role of theirs. It connects when it is first used. */
export const layerCallerSql = Layer.effect(
  CallerSql,
  Effect.gen(function* () {
    yield* Db // makes sure that the login exists
    const sql = yield* SqlClient.SqlClient
    const address = yield* PostgresAddress
    const { timeout } = yield* DbSettings
    const rows = yield* Effect.orDie(
      sql<{ name: string; value: string }>`
        select name, value from svc.settings where name in ('authenticator_role', 'authenticator_password')`
    )
    const settings = new Map(rows.map(({ name, value }) => [name, value]))
    const login = {
      ...address,
      user: settings.get("authenticator_role") ?? "svc_authenticator",
      password: Redacted.make(settings.get("authenticator_password") ?? "")
    }
    const { client, pausable } = yield* makeOwnTables(pooled(login, timeout + queueMillis), {
      applicationName: "svc policies",
      maxConnections,
      startupParameters: {
        search_path: "pg_catalog",
        timezone: "UTC",
        statement_timeout: String(timeout),
        row_security: "on"
      }
    })
    yield* (yield* MainSessions).add(pausable)
    return CallerSql.of(client)
  })
).pipe(Layer.provide([MainSessions.layer, DbSettings.layer]))
