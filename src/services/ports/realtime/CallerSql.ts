import { Context } from "effect"
import { type SqlClient } from "effect/sql"

/**
 * Port: PostgreSQL by a login that owns nothing and may become `anon` and `authenticated` within a transaction, to evaluate
 * policies of several callers in one statement. Code in policies can't reach what the service's own login may.
 * Real layer: layers/postgres/CallerSql.ts.
 */
export class CallerSql extends Context.Service<CallerSql, SqlClient.SqlClient>()("svc/services/CallerSql") {}
