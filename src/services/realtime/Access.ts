import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeInvalidatedCache } from "../NotifiedCache.ts"

/** Roles that receive a table's events; service_role keys always do. */
export interface Readers {
  readonly anon: boolean
  readonly authenticated: boolean
}

const noReaders: Readers = { anon: false, authenticated: false }

/** How long results are cached, for databases that do not report DDL, in ms. */
const cachedMillis = 1_000

/**
 * Decides which roles receive a table's events: those that may read all of its rows. An event goes to every client of a
 * role, so policies can't be evaluated, and tables with row-level security are for service_role keys only.
 */
export const makeRealtimeAccess = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const load = (schema: string, table: string) =>
    sql
      .unsafe<Readers>(
        `select has_schema_privilege('anon', n.oid, 'usage') and has_table_privilege('anon', c.oid, 'select')
                  and not c.relrowsecurity as anon,
                has_schema_privilege('authenticated', n.oid, 'usage')
                  and has_table_privilege('authenticated', c.oid, 'select') and not c.relrowsecurity as authenticated
         from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1::text and c.relname = $2::text`,
        [schema, table]
      )
      .pipe(
        Effect.timeout("2 seconds"),
        Effect.map((rows) => rows[0] ?? noReaders),
        Effect.orElseSucceed(() => noReaders) // without a result, access is denied
      )

  const cache = makeInvalidatedCache((key: string) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) => {
      const [schema, table] = JSON.parse(key) as [string, string]
      return Effect.map(load(schema, table), (readers) => ({ ...readers, at }))
    })
  )

  const readers = Effect.fnUntraced(function* (schema: string, table: string) {
    const key = JSON.stringify([schema, table])
    const cached = cache.peek(key)
    return cached !== undefined && (yield* Clock.currentTimeMillis) - cached.at < cachedMillis
      ? cached
      : yield* cache.load(key)
  })

  /** Clears the cache: grants or policies may have changed. */
  return { readers, forget: Effect.sync(cache.invalidateAll) }
})
