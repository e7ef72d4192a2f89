import { Effect, Layer, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { logFailure, onOwnTables, queryRows } from "../../../services/OwnTables.ts"
import { Db } from "../../../services/ports/Db.ts"
import { OAuth2 } from "../../../services/ports/OAuth2.ts"

const Due = Schema.Struct({ subject: Schema.String, due: Schema.String })

/**
 * The row without a subject announces that grants are revoked here; without it, accounts that are taken back are not
 * listed.
 */
const announce = `insert into svc.oauth2_revocations as r (subject, due_at) values ('', now() + interval '1 day')
  on conflict (subject) do update set due_at = excluded.due_at where r.due_at < now() + interval '23 hours'`

/**
 * Ends the sign-ins and grants of accounts that were taken back at a server of its own. They are listed in the transaction
 * that takes an account back (TakeBack.ts), so that none is lost while that server does not respond; it is asked until it has
 * done so, after at most five minutes.
 */
export const layerHydraRevocation = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* Db // makes sure that the schema is installed
    const sql = yield* SqlClient.SqlClient
    const { revokeConsents, revokeLogins } = yield* OAuth2
    const rows = queryRows(sql, Due)

    const revoke = Effect.fnUntraced(function* ({ due, subject }: typeof Due.Type) {
      yield* revokeLogins(subject)
      yield* revokeConsents(subject, undefined)
      // The row stays if the account was taken back again in the meantime.
      yield* onOwnTables(
        sql.unsafe("delete from svc.oauth2_revocations where subject = $1 and due_at = $2::text::timestamptz", [
          subject,
          due
        ])
      )
    })
    const revokeDue = Effect.gen(function* () {
      yield* onOwnTables(sql.unsafe(announce))
      const due = yield* onOwnTables(
        rows(
          `update svc.oauth2_revocations set attempts = attempts + 1,
             due_at = clock_timestamp() + make_interval(secs => least(300, power(2, least(attempts, 9))))
           where subject in (select subject from svc.oauth2_revocations
             where due_at <= now() and subject <> '' order by due_at limit 20 for update skip locked)
           returning subject, due_at::text as due`
        )
      )
      yield* Effect.forEach(
        due,
        (one) =>
          Effect.catchCause(revoke(one), logFailure("Failed to revoke the grants of an account that was taken back")),
        { discard: true }
      )
    })
    yield* revokeDue.pipe(
      Effect.catchCause(logFailure("Failed to look for accounts that were taken back")),
      Effect.repeat(Schedule.spaced("1 second")),
      Effect.forkScoped
    )
  })
)
