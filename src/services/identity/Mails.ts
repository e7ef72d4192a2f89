import { Context, Effect, Latch, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound, type Unavailable } from "../../domain/errors.ts"
import { AccountSettings } from "./AccountSettings.ts"
import { onOwnTables, queryRows } from "../OwnTables.ts"

/** A stored e-mail. `body` null: it was deleted, a day after it was written. */
export const Mail = Schema.Struct({
  id: Schema.Int,
  recipient: Schema.String,
  subject: Schema.String,
  body: Schema.NullOr(Schema.String),
  created_at: Schema.String,
  sent_at: Schema.NullOr(Schema.String),
  attempts: Schema.Int,
  failure: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Mail" })
export type Mail = typeof Mail.Type

const iso = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
const mailColumns = `id::float8 as id, recipient, subject, body, ${iso("created_at")} as created_at,
  ${iso("sent_at")} as sent_at, attempts, failure`

const pageSize = 100

/** What a hook that sends mails gets of one, in the names of Supabase's. */
export interface MailData {
  /** Of a mail with a code, `signup` for example; else of a notice: `password_changed_notification`. */
  readonly email_action_type: string
  /** The code, and what the link contains. */
  readonly token?: string
  readonly token_hash?: string
  /** Those of a change of the address for the new one. */
  readonly token_new?: string
  readonly token_hash_new?: string
  readonly redirect_to?: string
  readonly site_url: string
  readonly link?: string
  readonly provider?: string
}

/**
 * E-mails to people. One is stored in the transaction of what it reports, and delivered by layers/identity/mail; without
 * SMTP_URL it stays, and administrators can read it.
 */
export class Mails extends Context.Service<
  Mails,
  {
    /**
     * `about`: the identity that it is about, with which it is deleted; null: there is none yet. `data`: what a hook gets,
     * which is stored only if there is one.
     */
    readonly send: (
      recipient: string,
      subject: string,
      body: string,
      about: string | null,
      data: MailData
    ) => Effect.Effect<void, Unavailable>
    /** The newest first; those before an id. */
    readonly list: (page: {
      readonly before: number | undefined
      readonly recipient: string | undefined
    }) => Effect.Effect<{ readonly mails: ReadonlyArray<Mail>; readonly next: number | null }, Unavailable>
    /** Delivers a mail again. 404 when there is none, or its text was deleted. */
    readonly resend: (id: number) => Effect.Effect<Mail, NotFound | Unavailable>
    /** Open when there may be mails to deliver; the delivery closes it. */
    readonly due: Latch.Latch
  }
>()("svc/services/Mails") {
  static readonly layer = Layer.effect(
    Mails,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = queryRows(sql, Mail)
      const hooked = (yield* AccountSettings).hooks.SEND_EMAIL !== undefined
      const due = yield* Latch.make(true)
      return Mails.of({
        due,
        send: Effect.fn("Mails.send")(function* (recipient, subject, body, about, data) {
          yield* onOwnTables(
            sql.unsafe(
              `insert into svc.mails (recipient, subject, body, identity_id, data)
               values ($1, $2, $3, $4::text::uuid, $5::text::jsonb)`,
              [recipient, subject, body, about, hooked ? JSON.stringify(data) : null]
            )
          )
          yield* due.open
        }),
        list: Effect.fn("Mails.list")(function* ({ before, recipient }) {
          const mails = yield* onOwnTables(
            rows(
              `select ${mailColumns} from svc.mails
               where ($1::float8 is null or id < $1::float8) and ($2::text is null or recipient = $2::text)
               order by id desc limit $3::int4`,
              [before ?? null, recipient ?? null, pageSize]
            )
          )
          return { mails, next: mails.length < pageSize ? null : (mails.at(-1)?.id ?? null) }
        }),
        resend: Effect.fn("Mails.resend")(function* (id) {
          const [mail] = yield* onOwnTables(
            rows(
              `update svc.mails set sent_at = null, attempts = 0, failure = null, due_at = now()
               where id = $1::float8 and body is not null returning ${mailColumns}`,
              [id]
            )
          )
          if (mail === undefined) return yield* new NotFound({ error: `There is no mail ${id} with a text` })
          yield* due.open
          return mail
        })
      })
    })
  )
}
