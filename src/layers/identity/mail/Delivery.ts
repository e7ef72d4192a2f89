import { Clock, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { readAddress } from "../../../domain/identity/Address.ts"
import { AccountSettings } from "../../../services/identity/AccountSettings.ts"
import { AuthHooks } from "../../../services/identity/accounts/hooks/AuthHooks.ts"
import { newUser } from "../../../services/identity/accounts/hooks/NewUser.ts"
import { JsonObjectSchema } from "../../../domain/text/JsonObjectSchema.ts"
import { IdP } from "../../../services/ports/IdP.ts"
import { Mails } from "../../../services/identity/Mails.ts"
import { logFailure, onOwnTables, queryRows } from "../../../services/OwnTables.ts"
import { Db } from "../../../services/ports/Db.ts"

/** Pauses after failed attempts, in s; then a mail is given up. */
const pauses = [5, 30, 300, 1800]
/** How long one attempt may take, in ms. */
const attemptMillis = 20_000
/** How long to wait for the next announcement. */
const idle = "2 seconds"

const Due = Schema.Struct({
  id: Schema.String,
  recipient: Schema.String,
  subject: Schema.String,
  body: Schema.String,
  attempts: Schema.Int,
  identity_id: Schema.NullOr(Schema.String),
  data: Schema.NullOr(JsonObjectSchema)
})

/** The fields that Supabase's receivers read, of which each mail has some. */
const emptyData = { token: "", token_hash: "", redirect_to: "", token_new: "", token_hash_new: "", old_email: "" }

/** The server's reply in one line, without the text of the mail. */
const reasonOf = (cause: unknown) =>
  String(cause instanceof Error ? cause.message : cause)
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .slice(0, 300)

/** Sends by SMTP. The library is loaded with the first mail. */
const makeTransport = (url: Redacted.Redacted) =>
  import("nodemailer").then(({ createTransport }) =>
    createTransport({
      url: Redacted.value(url),
      connectionTimeout: attemptMillis / 2,
      greetingTimeout: attemptMillis / 2,
      socketTimeout: attemptMillis
    })
  )

/**
 * Delivers mails, each by one replica at a time. A crash after the server has accepted one sends it
 * again: better twice than never.
 */
export const layerMailDelivery = Layer.effectDiscard(
  Effect.gen(function* () {
    const { mailFrom, mailReplyTo, smtpUrl } = yield* AccountSettings
    const hooks = yield* AuthHooks
    const idp = yield* IdP
    if (smtpUrl === undefined && !hooks.sendsMails) return
    yield* Db // makes sure that the schema is installed
    const sql = yield* SqlClient.SqlClient
    const { due } = yield* Mails
    const rows = queryRows(sql, Due)
    let transport: ReturnType<typeof makeTransport> | undefined

    const userOf = Effect.fnUntraced(function* (id: string | null, email: string) {
      const now = new Date(yield* Clock.currentTimeMillis).toISOString()
      if (id === null) return newUser({ id: "", email, data: {}, provider: "email", now })
      const { addresses, created_at, metadata_public, traits, updated_at } = yield* idp.identity(id)
      const { email: _, ...user_metadata } = traits
      const { svc_role: __, ...app_metadata } = metadata_public
      const made = newUser({ id, email: addresses[0]?.value, data: user_metadata, provider: "email", now })
      return { ...made, app_metadata: { ...made.app_metadata, ...app_metadata }, created_at, updated_at }
    })

    /** Hands a mail to the hook, which sends it. */
    const handOver = Effect.fnUntraced(
      function* ({ body, data, identity_id, recipient, subject }: typeof Due.Type) {
        const user = yield* userOf(identity_id, recipient)
        const more = { recipient, subject, text: body }
        yield* hooks.sendMail({ ...user }, { ...emptyData, ...data, ...more })
      },
      Effect.mapError((error) => reasonOf(error.error))
    )

    const send = (mail: typeof Due.Type) => (hooks.sendsMails ? handOver(mail) : bySmtp(mail))

    const bySmtp = ({ body, recipient, subject }: typeof Due.Type) =>
      Effect.tryPromise({
        try: async () => {
          // The recipient is an object, because a string would be parsed as a list.
          if (readAddress(recipient)?.value !== recipient) throw new Error("The recipient is not one address")
          if (smtpUrl === undefined) throw new Error("SMTP_URL is not set")
          transport ??= makeTransport(smtpUrl)
          await (
            await transport
          ).sendMail({
            from: { name: "", address: mailFrom },
            to: { name: "", address: recipient },
            ...(mailReplyTo === undefined ? {} : { replyTo: { name: "", address: mailReplyTo } }),
            subject,
            text: body,
            headers: { "Auto-Submitted": "auto-generated" }
          })
        },
        catch: reasonOf
      }).pipe(Effect.timeoutOrElse({ duration: attemptMillis, orElse: () => Effect.fail("The mail server timed out") }))

    /** Whether there was one. An attempt that a crash interrupts counts, and is repeated after its time. */
    const deliverOne = onOwnTables(
      Effect.gen(function* () {
        const [mail] = yield* rows(
          `update svc.mails set attempts = attempts + 1, due_at = now() + interval '60 s'
           where id = (select id from svc.mails
             where sent_at is null and due_at <= now() and body is not null and attempts <= ${pauses.length}
             order by due_at limit 1 for update skip locked)
           returning id::text, recipient, subject, body, attempts, identity_id::text, data`
        )
        if (mail === undefined) return false
        const failure = yield* Effect.match(send(mail), { onFailure: (reason) => reason, onSuccess: () => null })
        if (failure !== null) yield* Effect.logWarning(`Failed to deliver mail ${mail.id}: ${failure}`)
        yield* sql.unsafe(
          `update svc.mails set failure = $2::text, sent_at = case when $2::text is null then now() end,
             due_at = now() + make_interval(secs => $3::float8)
           where id = $1::text::bigint`,
          [mail.id, failure, pauses[mail.attempts - 1] ?? 0]
        )
        return true
      })
    )
    yield* due.close.pipe(
      Effect.andThen(deliverOne),
      Effect.catchCause((cause) => Effect.as(logFailure("Failed to deliver mails")(cause), false)),
      // A mail is announced before its transaction is committed, so the next look may find it only then.
      Effect.flatMap((found) =>
        found ? Effect.void : Effect.andThen(Effect.timeoutOption(due.await, idle), Effect.sleep("100 millis"))
      ),
      Effect.forever,
      Effect.forkScoped
    )
  })
)
