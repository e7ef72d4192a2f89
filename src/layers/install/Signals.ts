import { Effect } from "effect"
import { type SqlClient } from "effect/sql"
import { publicSignalsSql, signalsSql } from "../../domain/sql/Signals.ts"

/**
 * Once per database: makes functions that callers call unable to signal other callers' sessions. Only a superuser may do
 * that. What an administrator grants afterwards stays granted.
 */
export const restrictSignals = (sql: SqlClient.SqlClient, serviceRole: string) =>
  Effect.gen(function* () {
    const done = yield* sql`select from svc.settings where name = 'signals'`
    if (done.length > 0 || (yield* sql.unsafe(publicSignalsSql)).length === 0) return
    const [state] = yield* sql<{ superuser: boolean }>`
      select rolsuper as superuser from pg_roles where rolname = current_user`
    const texts = signalsSql([serviceRole])
    if (state?.superuser !== true) {
      yield* Effect.logWarning(
        `A function that an anonymous caller calls can cancel statements of others and end their connections. As a superuser, in this database: ${texts.join("; ")};`
      )
      return
    }
    for (const text of texts) yield* sql.unsafe(text)
    yield* sql`insert into svc.settings (name, value) values ('signals', 'done')`
  })
