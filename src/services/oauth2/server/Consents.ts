import { Effect } from "effect"
import { type SqlClient } from "effect/sql"
import { type ConsentSession, type OAuth2Client } from "../../../domain/oauth2/OAuth2.ts"
import { endSessions } from "../../../domain/oauth2/Revocations.ts"
import { type OAuth2 } from "../../ports/OAuth2.ts"
import { isId } from "../../../domain/oauth2/Text.ts"
import { clientOf, type StoredClient } from "./clients/ClientFields.ts"
import { audiencesIn, promptsIn, scopesIn } from "./Requests.ts"
import { tokenHashOf, type OAuth2Store } from "./Store.ts"

type Port = OAuth2["Service"]

interface Granted {
  readonly grant_scope: ReadonlyArray<string>
  readonly audience: ReadonlyArray<string>
}

type ListedConsent = StoredClient & {
  readonly requested_scope: ReadonlyArray<string>
  readonly grant_scope: ReadonlyArray<string>
  readonly remember: boolean
  readonly handled_at: Date
}

/** Claims that only the server sets (RFC 7519 4.1, OpenID Connect Core 2). */
const reserved = new Set(
  "iss sub aud exp iat nbf rat auth_time nonce at_hash c_hash s_hash acr amr azp jti sid".split(" ")
)

/** The claims of a consent as they are stored: without those that are looked up whenever a token is issued. */
export const claimsText = (claims: Readonly<Record<string, unknown>>, lookedUp: ReadonlyArray<string> = []) =>
  JSON.stringify(
    Object.fromEntries(Object.entries(claims).filter(([name]) => !reserved.has(name) && !lookedUp.includes(name)))
  )

/**
 * Whether only the client itself can use a code: by a secret or key, or as the site that the redirect URI names. Any
 * other app of the device can claim a scheme, or listen on a loopback port (RFC 8252 8.6).
 */
const isAssured = ({ token_endpoint_auth_method }: OAuth2Client, redirectUri: unknown) => {
  const [scheme = ""] = String(redirectUri).toLowerCase().split(":", 1)
  return scheme === "https" || (scheme === "http" && token_endpoint_auth_method !== "none")
}

/** Whether the latest remembered consent of a user covers what a client requests. */
export const isCovered = Effect.fnUntraced(function* (
  { own, sql }: OAuth2Store,
  subject: string,
  client: OAuth2Client,
  params: Readonly<Record<string, unknown>>
) {
  if (promptsIn(params).has("consent") || !isAssured(client, params["redirect_uri"])) return false
  const [last] = yield* own(sql<Granted>`
    select grant_scope, audience from svc.oauth2_consents
    where subject = ${subject} and client_id = ${client.client_id} and remember
      and (remember_until is null or remember_until > now())
    order by handled_at desc limit 1`)
  if (last === undefined) return false
  const [scopes, audiences] = [new Set(last.grant_scope), new Set(last.audience)]
  return scopesIn(params).every((one) => scopes.has(one)) && audiencesIn(params).every((one) => audiences.has(one))
})

/** Ends grants with their codes and tokens. */
export const endGrants = (sql: SqlClient.SqlClient, grants: ReadonlyArray<string>) =>
  sql.unsafe(
    `delete from svc.oauth2_items where grant_id = any($1::text[]) or kind = 'Grant' and id = any($2::text[])`,
    [grants, grants.map(tokenHashOf)]
  )

/** The consents and sign-ins of users. */
export const consentsOn = ({ noticesDue, own, sql }: OAuth2Store) => {
  const consents: Port["consents"] = Effect.fn("OAuth2.consents")(function* (subject) {
    if (!isId(subject)) return []
    const rows = yield* own(sql<ListedConsent>`
      select s.requested_scope, s.grant_scope, s.remember, s.handled_at, c.*
      from svc.oauth2_consents s join svc.oauth2_clients c on c.id = s.client_id
      where s.subject = ${subject} and s.listed order by s.handled_at desc`)
    return rows.map((row): ConsentSession => ({
      client: clientOf(row),
      requestedScope: row.requested_scope,
      grantScope: row.grant_scope,
      remember: row.remember,
      handledAt: row.handled_at.toISOString()
    }))
  })

  const revokeConsents: Port["revokeConsents"] = (subject, clientId) => {
    if (!isId(subject) || (clientId !== undefined && !isId(clientId))) return Effect.void
    const ended = sql.withTransaction(
      Effect.gen(function* () {
        const rows = yield* sql.unsafe<{ grant_id: string }>(
          `delete from svc.oauth2_consents where subject = $1 and ($2::text is null or client_id = $2) returning grant_id`,
          [subject, clientId ?? null]
        )
        yield* endGrants(
          sql,
          rows.map(({ grant_id }) => grant_id)
        )
      })
    )
    return own(ended)
  }

  const revokeLogins: Port["revokeLogins"] = (subject) =>
    isId(subject)
      ? Effect.asVoid(Effect.andThen(own(sql.unsafe(endSessions("account_id = $1"), [subject])), noticesDue.open))
      : Effect.void

  return { consents, revokeConsents, revokeLogins }
}
