import { Effect } from "effect"
import { type SqlClient } from "effect/sql"
import { quoteName } from "../../../domain/sql/Names.ts"

const setting = "queues"

/**
 * Gives queues to the role of service keys, which makes and drops them, and lets others call their functions, which have
 * the rights of the caller on the tables of a queue: none by default. Done once, and not to the extension's own.
 */
export const giveQueues = (sql: SqlClient.SqlClient, serviceRole: string) =>
  Effect.gen(function* () {
    const [state] = yield* sql<{ wanted: boolean; give: boolean }>`
      select to_regprocedure('pgmq.svc_wake()') is not null
          and not exists (select from svc.settings where name = ${setting}) as wanted,
        current_user <> ${serviceRole} as give`
    if (state?.wanted !== true) return
    const owner = quoteName(serviceRole)
    if (state.give) {
      yield* sql.unsafe(`alter schema pgmq owner to ${owner}`)
      const objects = yield* sql<{ object: string }>`
        select 'table ' || c.oid::regclass::text as object from pg_class c
        where c.relnamespace = 'pgmq'::regnamespace and c.relkind = 'r' and c.relowner = current_user::regrole
        union all
        select 'type ' || t.oid::regtype::text from pg_type t join pg_class c on c.oid = t.typrelid
        where t.typnamespace = 'pgmq'::regnamespace and c.relkind = 'c' and t.typowner = current_user::regrole
        union all
        select 'function ' || p.oid::regprocedure::text from pg_proc p
        where p.pronamespace = 'pgmq'::regnamespace and p.proowner = current_user::regrole`
      for (const { object } of objects) yield* sql.unsafe(`alter ${object} owner to ${owner}`)
    }
    yield* sql.unsafe("grant usage on schema pgmq to anon, authenticated")
    yield* sql`insert into svc.settings (name, value) values (${setting}, 'done')`
  })
