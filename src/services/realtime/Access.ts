import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { monotonicMillis } from "../access/RateLimits.ts"
import { makeInvalidatedCache } from "../NotifiedCache.ts"
import { type KeyedTable } from "./Visible.ts"

/** Roles that receive a table's events; service_role keys always do. */
export interface Readers {
  /** False: the database did not respond in time, so that only service_role keys receive the event, the others a gap. */
  readonly known: boolean
  readonly anon: boolean
  readonly authenticated: boolean
  /** The table, if clients with a JWT receive the events of those rows that its policies let them read. */
  readonly secured: KeyedTable | null
}

const noReaders: Readers = { known: true, anon: false, authenticated: false, secured: null }

/** How long results are cached, for databases that do not report DDL, in ms. */
const cachedMillis = 1_000

const may = (role: string) =>
  `has_schema_privilege('${role}', n.oid, 'usage') and has_table_privilege('${role}', c.oid, 'select')`

/** Whether a policy may let `authenticated` read rows of a table, given by SQL for its oid. */
export const hasPolicySql = (oid: string) =>
  `exists (select from pg_policy p, unnest(p.polroles) r where p.polrelid = ${oid} and p.polcmd in ('r', '*')
     and (r = 0 or pg_has_role('authenticated', r, 'usage')))`

/**
 * Tables with row-level security need a policy: without one, clients would still receive the keys of deleted rows, and
 * a row without a key can't be found again.
 */
const readersSql = `
  select ${may("anon")} and not c.relrowsecurity as anon, ${may("authenticated")} and not c.relrowsecurity as authenticated,
    case when c.relrowsecurity and ${may("authenticated")} and ${hasPolicySql("c.oid")} then (
      select json_build_object('sql', format('%I.%I', n.nspname, c.relname), 'columns', json_agg(
        json_build_object('name', a.attname, 'sql', format_type(a.atttypid, a.atttypmod), 'key', true) order by a.attnum))
      from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
      where i.indrelid = c.oid and i.indisprimary having count(*) > 0
    ) end as secured
  from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1::text and c.relname = $2::text`

/**
 * Decides which roles receive a table's events: those that may read all of its rows. Of a table with row-level security,
 * clients with a JWT receive some of the events (PolicyFeed.ts), and otherwise service_role keys only.
 */
export const makeRealtimeAccess = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const now = Effect.map(Clock.Clock, monotonicMillis)

  const load = (schema: string, table: string) =>
    sql.unsafe<Omit<Readers, "known">>(readersSql, [schema, table]).pipe(
      Effect.timeout("2 seconds"),
      Effect.map(([row]): Readers => (row === undefined ? noReaders : { ...row, known: true })),
      Effect.orElseSucceed((): Readers => ({ ...noReaders, known: false }))
    )

  const cache = makeInvalidatedCache((key: string) =>
    Effect.flatMap(now, (at) => {
      const [schema, table] = JSON.parse(key) as [string, string]
      return Effect.map(load(schema, table), (readers) => ({ ...readers, at }))
    })
  )

  const readers = Effect.fnUntraced(function* (schema: string, table: string) {
    const key = JSON.stringify([schema, table])
    const cached = cache.peek(key)
    return cached !== undefined && (yield* now) - cached.at < cachedMillis ? cached : yield* cache.load(key)
  })

  /** Clears the cache: grants or policies may have changed. */
  return { readers, forget: Effect.sync(cache.invalidateAll) }
})
export type RealtimeAccess = Effect.Success<typeof makeRealtimeAccess>
