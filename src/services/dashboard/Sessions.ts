import { Context, type DateTime, Effect, Layer, Schema, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { KeyId } from "../../domain/access/ApiKey.ts"
import { idleSql, lifetimeSql, linkSql, looksLikeToken, makeToken, tokenHash } from "../../domain/dashboard/Session.ts"
import { Forbidden, Gone, NotFound, type TooManyRequests, Unauthorized, type Unavailable } from "../../domain/errors.ts"
import { Keys, type LiveKey } from "../access/Keys.ts"
import { audited, CurrentChange } from "../audit/Change.ts"
import { makeFailureLimit } from "../identity/AttemptLimits.ts"
import { logFailure, onOwnTables, queryRows } from "../OwnTables.ts"
import { Counts } from "../ports/workers/Counts.ts"
import { DashboardSettings } from "./Settings.ts"

/** A browser that is signed in by a service_role key, and acts as this key. */
export interface DashboardSession {
  readonly key: LiveKey
  readonly expiresAt: DateTime.Utc
}

/** The credential of a sign-in: a key, or the token of a link. */
export type DashboardSignIn = { readonly key: string } | { readonly link: string }

type SignInError = Unauthorized | Forbidden | Gone | NotFound | TooManyRequests | Unavailable

/** Look-ups at a time, so that unknown cookies leave connections to the service's other tables. */
const maxLookUps = 4

const ended = new Unauthorized({ error: "The session has ended: sign in again", code: "UNAUTHENTICATED" })
const needsServiceRole = new Forbidden({
  error: "The dashboard needs a service_role key (svc_sk_…), but this one is anon"
})
const turnedOff = new NotFound({ error: "The dashboard is turned off (SVC_DASHBOARD)", code: "DASHBOARD_DISABLED" })
const usedLink = new Gone({
  error: "The sign-in link has expired or was used",
  code: "LINK_EXPIRED",
  hint: "Restart the service for another link, or sign in with a service_role key"
})

const keyFields = {
  id: KeyId,
  label: Schema.String,
  rate_limit: Schema.NullOr(Schema.Int),
  expires_at: Schema.DateTimeUtcFromDate
}
const keyColumns = "k.id, k.label, k.rate_limit"
/** The end of a session `s`, as things stand. */
const endSql = `least(s.expires_at, s.last_seen_at + ${idleSql})`

/**
 * Sessions of browsers, each started with a service_role key and ended with it at the latest. They are looked up for each
 * request, never cached: a person makes few of them, and a revoked key ends its sessions at once, in every replica.
 */
export class DashboardSessions extends Context.Service<
  DashboardSessions,
  {
    /**
     * Starts a session and returns the token of its cookie. Ends the one that the browser had (`before`). `address`: the
     * client's, whose failed attempts are limited.
     */
    readonly open: (
      by: DashboardSignIn,
      address: string,
      before: string | undefined
    ) => Effect.Effect<DashboardSession & { readonly token: string }, SignInError>
    /** The session of a cookie's token, or 401. Marks the session and its key as used, unless `isUse` is false. */
    readonly verify: (token: string, isUse?: boolean) => Effect.Effect<DashboardSession, Unauthorized | Unavailable>
    readonly close: (token: string) => Effect.Effect<void, Unavailable>
    /** A token that signs in one browser, once, as the oldest service_role key; undefined if there is none. */
    readonly issueLink: Effect.Effect<string | undefined, Unavailable>
  }
>()("svc/services/DashboardSessions") {
  static readonly layer = Layer.effect(
    DashboardSessions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const keys = yield* Keys
      const { enabled } = yield* DashboardSettings
      const limited = makeFailureLimit((yield* Counts).windows("dashboard"))
      const lookUps = yield* Semaphore.make(maxLookUps)

      const begun = queryRows(sql, Schema.Struct(keyFields))
      const found = queryRows(sql, Schema.Struct({ ...keyFields, stale: Schema.Boolean }))
      type Row = Schema.Struct<typeof keyFields>["Type"]
      const sessionOf = ({ expires_at, id, label, rate_limit }: Row): DashboardSession => ({
        key: { id, label, rateLimit: rate_limit, type: "service_role" },
        expiresAt: expires_at
      })

      type Rows = ReturnType<typeof begun>
      /** Records who has signed in, or out, in the same transaction. */
      const recorded = Effect.fnUntraced(function* (rows: Rows, after: { readonly by: string } | null) {
        const change = yield* CurrentChange
        return yield* audited(sql, rows, ([row]) => {
          if (row === undefined) return undefined
          if (change !== undefined) change.actor = { type: "key", id: String(row.id), label: row.label }
          return { subject: `key:${row.id}`, after }
        })
      })
      const start = (by: "key" | "link", rows: Rows) => onOwnTables(recorded(rows, { by }))

      /** One session of a live service_role key, whose id is the second parameter. */
      const byKey = Effect.fnUntraced(function* (token: string, rawKey: string) {
        const key = yield* keys.verify(rawKey)
        if (key.type !== "service_role") return yield* needsServiceRole
        const rows = yield* start(
          "key",
          begun(
            `with s as (
               insert into svc.dashboard_sessions (token_hash, key_id, expires_at)
               select $1, id, now() + ${lifetimeSql} from svc.api_keys where id = $2::int4 and revoked_at is null
               returning *)
             select ${keyColumns}, ${endSql} as expires_at from s join svc.api_keys k on k.id = s.key_id`,
            [tokenHash(token), key.id]
          )
        )
        return rows[0] === undefined ? yield* ended : rows[0]
      })

      const byLink = Effect.fnUntraced(function* (token: string, link: string) {
        if (!looksLikeToken(link)) return yield* usedLink
        // One statement, so that of two browsers with the same link only one can sign in.
        const rows = yield* start(
          "link",
          begun(
            `with link as (delete from svc.dashboard_links where token_hash = $2 returning *),
             s as (
               insert into svc.dashboard_sessions (token_hash, key_id, expires_at)
               select $1, k.id, now() + ${lifetimeSql} from link join svc.api_keys k on k.id = link.key_id
               where link.expires_at > now() and k.revoked_at is null
               returning *)
             select ${keyColumns}, ${endSql} as expires_at from s join svc.api_keys k on k.id = s.key_id`,
            [tokenHash(token), tokenHash(link)]
          )
        )
        return rows[0] === undefined ? yield* usedLink : rows[0]
      })

      const remove = (token: string) =>
        looksLikeToken(token)
          ? onOwnTables(sql`delete from svc.dashboard_sessions where token_hash = ${tokenHash(token)}`)
          : Effect.void

      const close = Effect.fn("DashboardSessions.close")(function* (token: string) {
        if (!looksLikeToken(token)) return
        const deleted = begun(
          `with s as (delete from svc.dashboard_sessions where token_hash = $1 returning *)
           select ${keyColumns}, s.expires_at from s join svc.api_keys k on k.id = s.key_id`,
          [tokenHash(token)]
        )
        yield* onOwnTables(recorded(deleted, null))
      })

      const removeEnded = sql
        .unsafe(
          `delete from svc.dashboard_sessions s using svc.api_keys k
           where k.id = s.key_id and (${endSql} <= now() or k.revoked_at is not null)`
        )
        .pipe(Effect.catchCause(logFailure("Failed to delete ended sessions of the dashboard")))

      const open = Effect.fn("DashboardSessions.open")(function* (
        by: DashboardSignIn,
        address: string,
        before: string | undefined
      ) {
        if (!enabled) return yield* turnedOff
        // Always a new token: one that another site has planted in the browser must not become a session.
        const token = makeToken()
        const attempt: Effect.Effect<Row, SignInError> = "key" in by ? byKey(token, by.key) : byLink(token, by.link)
        const session = sessionOf(yield* limited(address, attempt))
        if (before !== undefined) yield* remove(before)
        yield* removeEnded
        yield* keys.used(session.key)
        return { ...session, token }
      })

      const verify = Effect.fn("DashboardSessions.verify")(function* (token: string, isUse = true) {
        if (!enabled || !looksLikeToken(token)) return yield* ended
        const hash = tokenHash(token)
        const [row] = yield* lookUps.withPermit(
          onOwnTables(
            found(
              `select ${keyColumns}, ${endSql} as expires_at, s.last_seen_at < now() - interval '1 minute' as stale
               from svc.dashboard_sessions s join svc.api_keys k on k.id = s.key_id
               where s.token_hash = $1 and ${endSql} > now()
                 and k.revoked_at is null and k.key_type = 'service_role'`,
              [hash]
            )
          )
        )
        if (row === undefined) return yield* ended
        const session = sessionOf(row)
        if (!isUse) return session
        if (row.stale) {
          yield* sql`update svc.dashboard_sessions set last_seen_at = now() where token_hash = ${hash}`.pipe(
            Effect.catchCause(logFailure("Failed to write last_seen_at of the dashboard's session"))
          )
        }
        yield* keys.used(session.key)
        return session
      })

      const issueLink = Effect.gen(function* () {
        if (!enabled) return undefined
        const token = makeToken()
        const issued = yield* onOwnTables(
          sql.withTransaction(
            Effect.andThen(
              // Links of earlier starts.
              sql`delete from svc.dashboard_links`,
              sql.unsafe(
                `insert into svc.dashboard_links (token_hash, key_id, expires_at)
                 select $1, id, now() + ${linkSql} from svc.api_keys
                 where key_type = 'service_role' and revoked_at is null order by id limit 1 returning key_id`,
                [tokenHash(token)]
              )
            )
          )
        )
        return issued.length === 0 ? undefined : token
      })

      return DashboardSessions.of({ open, verify, close, issueLink })
    })
  )
}
