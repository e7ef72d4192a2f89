import { Effect } from "effect"
import { logFailure } from "../../OwnTables.ts"
import { type OAuth2Store } from "./Store.ts"

/** Rows that one statement deletes. */
const batch = 1_000
/** Statements of a round; the rest waits for the next one. */
const batches = 50
/** Pauses between rounds, in ms. */
const pause = 60_000
/** Consents are cleaned in every so many rounds: that reads all of them. */
const consentRounds = 60

const expired = (table: string, key: string, condition: string) => `
  delete from svc.oauth2_${table} where (${key}) in (
    select ${key} from svc.oauth2_${table} where ${condition} order by expires_at limit ${batch} for update skip locked)
  returning 1 as one`

/** Challenges are kept for a day longer, so that a late browser gets the reason and can start again. */
const expiredSql = [
  expired("items", "kind, id", "expires_at < now()"),
  expired("answers", "verifier", "expires_at < now()"),
  expired("logouts", "id", "expires_at < now()"),
  expired("challenges", "id", "expires_at < now() - interval '1 day'")
]

/** The id of a grant as Store.ts hashes it. */
const hashed = `rtrim(translate(encode(sha256(grant_id::bytea), 'base64'), '+/', '-_'), '=')`

/**
 * Consents without a valid token, unless they are the latest one that is remembered: nothing depends on them any more. The
 * first day is for those whose code was not used yet.
 */
const consentsSql = `
  with ended as (
    delete from svc.oauth2_consents where grant_id in (
      select c.grant_id from svc.oauth2_consents c
      where c.handled_at < now() - interval '1 day'
        and not exists (select from svc.oauth2_items t where t.grant_id = c.grant_id and t.expires_at > now())
        and not (c.remember and (c.remember_until is null or c.remember_until > now())
          and not exists (select from svc.oauth2_consents n where n.subject = c.subject and n.client_id = c.client_id
                            and n.remember and n.handled_at > c.handled_at))
      order by c.handled_at limit ${batch} for update skip locked)
    returning ${hashed} as id),
  grants as (delete from svc.oauth2_items where kind = 'Grant' and id in (select id from ended))
  select 1 as one from ended`

/** Deletes rows in batches until none is left, or the round has taken enough. */
const deleteAll = ({ own, sql }: OAuth2Store, text: string) =>
  Effect.gen(function* () {
    for (let round = 0; round < batches; round++) {
      if ((yield* own(sql.unsafe(text))).length < batch) return
    }
  })

/** Consents of people whose account was deleted. The database deletes those of sign-ins at this version by itself. */
const orphansSql = `
  with ended as (
    delete from svc.oauth2_consents where grant_id in (
      select c.grant_id from svc.oauth2_consents c
      where not exists (select from svc.identities i where i.id::text = c.subject)
      limit ${batch} for update skip locked)
    returning grant_id, ${hashed} as id),
  items as (
    delete from svc.oauth2_items
    where grant_id in (select grant_id from ended) or kind = 'Grant' and id in (select id from ended))
  select 1 as one from ended`

export const cleanExpired = (store: OAuth2Store) => Effect.forEach(expiredSql, (text) => deleteAll(store, text))
export const cleanConsents = (store: OAuth2Store) =>
  Effect.andThen(deleteAll(store, consentsSql), store.ownAccounts ? deleteAll(store, orphansSql) : Effect.void)

/** Deletes what has expired, as long as the service runs. Replicas take different rows. */
export const keepClean = (store: OAuth2Store) =>
  Effect.gen(function* () {
    for (let round = 1; ; round++) {
      yield* Effect.sleep(pause)
      const clean = round % consentRounds === 0 ? cleanConsents(store) : Effect.void
      yield* Effect.andThen(cleanExpired(store), clean).pipe(
        Effect.catchCause(logFailure("Failed to delete expired rows of the OAuth 2.0 server"))
      )
    }
  })
