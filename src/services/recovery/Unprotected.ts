import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type RecoveryState } from "../../domain/recovery/Recovery.ts"
import { onOwnTables } from "../OwnTables.ts"
import { ObjectStore } from "../ports/ObjectStore.ts"

const maxTables = 100
const timeout = "5 seconds"
/** ms for which an answer counts. */
const validMillis = 60_000

const unloggedSql = `select format('%I.%I', n.nspname, c.relname) as name
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and c.relpersistence = 'u' and n.nspname not in ('svc', 'svc_ddl') order by 1 limit ${maxTables}`

/**
 * What the archive does not have, asked at most once a minute: of buckets, the store is asked one by one.
 *
 * @param own buckets of the service, which a restore does not need
 */
export const makeUnprotected = Effect.fnUntraced(function* (own: ReadonlyArray<string | undefined>) {
  const sql = yield* SqlClient.SqlClient
  const store = yield* ObjectStore

  /** A store that answers for this moment has versions, or keeps a history. */
  const isKept = (bucket: string) =>
    Effect.gen(function* () {
      const reads = yield* store.at(new Date(yield* Clock.currentTimeMillis))
      yield* reads.list(bucket, { prefix: "", delimiter: undefined, limit: 1, token: undefined })
      return true
    }).pipe(
      Effect.catchIf(
        (error) => "code" in error && error.code === "OBJECTS_NOT_KEPT",
        () => Effect.succeed(false)
      )
    )
  const buckets = Effect.gen(function* () {
    const all = (yield* store.buckets).map(({ name }) => name).filter((name) => !own.includes(name))
    const kept = yield* Effect.forEach(all, isKept, { concurrency: 4 })
    return all.filter((_, at) => kept[at] === false)
  }).pipe(
    Effect.timeoutOption(timeout),
    Effect.map((found) => (found._tag === "Some" ? found.value : null)),
    // It says nothing about the archive if the store does not answer.
    Effect.orElseSucceed(() => null)
  )

  const look = Effect.gen(function* () {
    const tables = yield* onOwnTables(sql.unsafe<{ readonly name: string }>(unloggedSql))
    return {
      unlogged_tables: tables.map(({ name }) => name),
      unversioned_buckets: yield* buckets
    } satisfies Pick<RecoveryState, "unlogged_tables" | "unversioned_buckets">
  })
  let last: { readonly at: number; readonly found: Effect.Success<typeof look> } | undefined
  return Effect.gen(function* () {
    const at = yield* Clock.currentTimeMillis
    if (last === undefined || at - last.at >= validMillis) last = { at, found: yield* look }
    return last.found
  })
})
