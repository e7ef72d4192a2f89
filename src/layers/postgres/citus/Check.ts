import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { StartError } from "../../process/StartError.ts"
import { type Login } from "../Login.ts"

const unsupported = (setting: string, why: string) =>
  new StartError({
    message: `${setting} can't be used with a Citus cluster, ${why}. Remove it, and set DATABASE_URL to the coordinator`
  })

interface Node {
  readonly node: string
  readonly reached: boolean
  readonly reason: string | null
}

/** Asks each worker as the role of the transaction. */
const askSql = `select nodename || ':' || nodeport as node, success as reached, result as reason
  from run_command_on_workers('select 1')`

/** Fails for settings that don't fit a Citus cluster, and warns about workers that don't admit callers. */
export const checkCitus = Effect.fnUntraced(function* (login: Login, hasStandbys: boolean) {
  if (login.pooler !== undefined) {
    return yield* unsupported("DATABASE_DIRECT_URL", "because sessions of workers can't be reset through a pooler")
  }
  if (hasStandbys)
    return yield* unsupported("DATABASE_READ_URLS", "because a standby does not have the rows of workers")
  const sql = yield* SqlClient.SqlClient
  // Before the installation there are no roles, and without LOGIN Citus can't use them.
  const roles = yield* sql<{ name: string }>`select rolname::text as name from pg_catalog.pg_roles
    where rolname in ('anon', 'authenticated') and rolcanlogin order by 1`
  for (const { name: role } of roles) {
    const nodes = yield* sql
      .withTransaction(
        Effect.gen(function* () {
          yield* sql.unsafe(`set local role ${role}`)
          return yield* sql.unsafe<Node & object>(askSql)
        })
      )
      .pipe(
        Effect.catch((error) =>
          Effect.as(Effect.logWarning(`Failed to ask the workers of the Citus cluster as the role ${role}`, error), [])
        )
      )
    for (const { node, reached, reason } of nodes) {
      if (reached) continue
      yield* Effect.logWarning(
        `The worker ${node} of the Citus cluster does not admit the role ${role}${reason === null || reason === "" ? "" : ` (${reason})`}: requests for distributed tables are 503 NODE_UNAVAILABLE. Admit it in pg_hba.conf of the worker, or give its password in pg_dist_authinfo (docs/scaling.md#citus)`
      )
    }
  }
})
