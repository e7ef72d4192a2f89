import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { makeInvalidatedCache } from "../NotifiedCache.ts"

/** Roles that get a table's events; service_role keys always do. */
export interface Readers {
  readonly anon: boolean
  readonly authenticated: boolean
}

const nobody: Readers = { anon: false, authenticated: false }

/** How long an answer is believed where DDL is not reported, in ms. */
const believedMillis = 1_000

/**
 * Who may hear of a table's rows: roles that may read all of them. Row-level security can't be asked about a row that
 * is told to everybody, so a table that has it is for service_role keys only.
 */
export class RealtimeAccess extends Context.Service<
  RealtimeAccess,
  {
    readonly readers: (schema: string, table: string) => Effect.Effect<Readers>
    /** Grants or policies may have changed. */
    readonly forget: Effect.Effect<void>
  }
>()("svc/services/RealtimeAccess") {
  static readonly layer = Layer.effect(
    RealtimeAccess,
    Effect.gen(function* () {
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
            Effect.map((rows) => rows[0] ?? nobody),
            Effect.orElseSucceed(() => nobody) // not known to be allowed: not allowed
          )

      const cache = makeInvalidatedCache((key: string) =>
        Effect.flatMap(Clock.currentTimeMillis, (at) => {
          const [schema, table] = JSON.parse(key) as [string, string]
          return Effect.map(load(schema, table), (readers) => ({ ...readers, at }))
        })
      )

      const readers = Effect.fnUntraced(function* (schema: string, table: string) {
        const key = JSON.stringify([schema, table])
        const found = cache.peek(key)
        return found !== undefined && (yield* Clock.currentTimeMillis) - found.at < believedMillis
          ? found
          : yield* cache.load(key)
      })

      return RealtimeAccess.of({ readers, forget: Effect.sync(cache.invalidateAll) })
    })
  )
}
