import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { logFailure } from "../../OwnTables.ts"
import { Db } from "../../ports/Db.ts"

/** Rows of one statement, so that it holds no locks for long. */
const batch = 1000

const table = (name: string, key: string, condition: string) =>
  `delete from svc.${name} where ${key} in (select ${key} from svc.${name} where ${condition} limit ${batch})`

/** Flows are kept for a day after their end, so that a late answer is 410 and not 404. */
const statements = [
  table("identity_sessions", "id", "expires_at < now()"),
  table("identity_flows", "id", "expires_at < now() - interval '1 day'"),
  table("identity_guesses", "key", "expires_at < now()"),
  // These rows remain only if there is no other OAuth 2.0 server any more; open ones are due later.
  table("oauth2_revocations", "subject", "due_at < now() - interval '1 day'"),
  "update svc.mails set body = null, data = null where body is not null and created_at < now() - interval '1 day'",
  table("mails", "id", "created_at < now() - interval '30 days'")
]
/** Those of Supabase's clients, whose tables may not be there. One of a sign-up has the hash of its password. */
const ofClients = [
  table("supabase_mails", "id", "expires_at < now() - interval '1 day'"),
  table("supabase_codes", "hash", "expires_at < now() - interval '1 hour'")
]

/** Deletes what has expired, every minute; texts of e-mails, which contain links that sign in, after a day. */
export const layerIdentityUpkeep = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* Db // makes sure that the schema is installed
    const sql = yield* SqlClient.SqlClient
    const prune = Effect.gen(function* () {
      const there = yield* sql`select from pg_class where oid = to_regclass('svc.supabase_mails')`
      for (const text of [...statements, ...(there.length > 0 ? ofClients : [])]) yield* sql.unsafe(text)
    })
    yield* prune.pipe(
      Effect.catchCause(logFailure("Failed to delete expired rows of accounts")),
      Effect.repeat(Schedule.spaced("1 minute")),
      Effect.forkScoped
    )
  })
)
