import { Clock, Context, Effect, Layer, Schema } from "effect"
import { compactVerify, decodeProtectedHeader } from "jose"
import { randomBytes } from "node:crypto"
import {
  badJwt,
  noRefreshToken,
  noSession,
  usedRefreshToken,
  userBanned
} from "../../../../domain/supabase/AuthErrors.ts"
import { DatabaseError } from "../../../../domain/errors.ts"
import { isJsonObject, type JsonObject } from "../../../../domain/text/JsonObject.ts"
import { JsonObjectSchema } from "../../../../domain/text/JsonObjectSchema.ts"
import { sessionTokenType } from "../../../access/Tokens.ts"
import { AccountSettings } from "../../AccountSettings.ts"
import { OwnSigningKeys } from "../../../access/OwnSigningKeys.ts"
import { type AuthSession, type CurrentSession } from "../../../ports/supabase/AuthCalls.ts"
import { hashOf, isUuid, AccountStore } from "../Store.ts"
import { AuthHooks } from "../hooks/AuthHooks.ts"
import { Users } from "./Users.ts"
import { AccountSessions } from "../Sessions.ts"
import { jwtAudiences } from "../../../access/Tokens.ts"

/** How long an access token is valid, in s, as at Supabase. A session that has ended is still good for as long. */
const lifeSeconds = 3600
/** How long a refresh token that was used may be used again, in s: by a page that has several tabs, for example. */
const graceSeconds = 10
/** Metadata of a user, in bytes, above which they are left out of tokens: verifiers and proxies limit those. */
const maxClaims = 3072

/** The longest token that is accepted. */
const maxToken = 8192
const tokenTooLong = new DatabaseError({
  error: "The claims of the access token are too large",
  code: "unexpected_failure",
  status: 500
})

const CurrentRow = Schema.Struct({ id: Schema.String, user_id: Schema.String, aal: Schema.String, age: Schema.Finite })
const RefreshedRow = Schema.Struct({
  id: Schema.String,
  user_id: Schema.String,
  aal: Schema.String,
  amr: Schema.Array(JsonObjectSchema),
  active: Schema.Boolean
})
const UsedRow = Schema.Struct({ session_id: Schema.String, first: Schema.Boolean, recent: Schema.Boolean })

type Refreshed = typeof RefreshedRow.Type

const newToken = (bytes = 32) => randomBytes(bytes).toString("base64url")

/** Sessions of Supabase's clients: a JWT for an hour, and refresh tokens of which each is used once. */
export class SupabaseTokens extends Context.Service<SupabaseTokens>()("svc/identity/SupabaseTokens", {
  make: Effect.gen(function* () {
    const { idleSeconds, ownUrl, sessionSeconds } = yield* AccountSettings
    const audiences = yield* Effect.orDie(jwtAudiences)
    const store = yield* AccountStore
    const users = yield* Users
    const hooks = yield* AuthHooks
    const keys = yield* OwnSigningKeys
    const sessions = yield* AccountSessions
    const current = store.rows(CurrentRow)
    const refreshed = store.rows(RefreshedRow)
    const usedTokens = store.rows(UsedRow)
    const issuer = `${ownUrl}/auth/v1`
    const audience =
      audiences.length === 0 || audiences.includes("authenticated") ? "authenticated" : ["authenticated", audiences[0]!]

    const sessionOf = (id: string) =>
      refreshed(
        `select s.id::text, s.identity_id::text as user_id, s.aal, x.amr, i.state = 'active' as active
       from svc.supabase_sessions x join svc.identity_sessions s on s.id = x.id join svc.identities i on i.id = s.identity_id
       where x.id = $1::text::uuid and s.expires_at > now()`,
        [id]
      )

    /** The response to a client with a session, whose refresh token is stored already. `method`: how it was obtained. */
    const issued = Effect.fnUntraced(function* (
      { aal, amr, id, user_id }: Refreshed,
      refreshToken: string,
      method: string
    ) {
      const user = yield* users.byId(user_id)
      const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const { app_metadata, user_metadata } = user
      // The users' own metadata must not determine this.
      const email_verified = yield* users.isProven(user_id)
      const fits = (value: unknown) => (Buffer.byteLength(JSON.stringify(value)) > maxClaims ? {} : value)
      const claims = {
        iss: issuer,
        aud: audience,
        sub: user.id,
        iat: now,
        exp: now + lifeSeconds,
        role: user["role"],
        email: user["email"],
        email_verified,
        phone: user["phone"],
        app_metadata: fits(app_metadata),
        user_metadata: { ...(isJsonObject(user_metadata) ? (fits(user_metadata) as object) : {}), email_verified },
        aal,
        amr: amr.toReversed(),
        session_id: id,
        is_anonymous: user["is_anonymous"]
      }
      const signed = yield* hooks.claims(JSON.parse(JSON.stringify(claims)) as JsonObject, method)
      const token = yield* keys.sign(sessionTokenType, signed)
      if (token.length > maxToken) return yield* tokenTooLong
      const until = Number(signed["exp"])
      const session: AuthSession = {
        access_token: token,
        token_type: "bearer",
        expires_in: until - now,
        expires_at: until,
        refresh_token: refreshToken,
        user
      }
      return session
    })

    const entry = (method: string) =>
      Effect.map(Clock.currentTimeMillis, (now) => JSON.stringify([{ method, timestamp: Math.floor(now / 1000) }]))

    const end = (id: string) =>
      store.count("delete from svc.identity_sessions where id = $1::text::uuid returning 1", [id])

    /** Starts a session. `passwordHash`: the one that was verified, which must still be the account's. */
    const open = Effect.fnUntraced(function* (userId: string, method: string, passwordHash?: string) {
      const token = newToken(24)
      // The session is used by its refresh tokens alone.
      const unused = newToken()
      const id = yield* sessions.begin(
        { identityId: userId, kind: "Token", method, token: unused, passwordHash },
        [
          "x as (insert into svc.supabase_sessions (id, amr) select id, $9::text::jsonb from s)",
          "r as (insert into svc.supabase_refresh_tokens (hash, session_id) select $10, id from s)"
        ],
        [yield* entry(method), hashOf(token)]
      )
      if (id === undefined) return yield* userBanned
      const [session] = yield* sessionOf(id)
      if (session === undefined) return yield* noSession
      // Its tokens were never given to anyone.
      return yield* Effect.tapError(issued(session, token, method), () => end(id))
    })

    /** Another refresh token of a session. `method`: why. */
    const renewed = Effect.fnUntraced(function* (sessionId: string, method: string) {
      const [session] = yield* sessionOf(sessionId)
      if (session === undefined) return yield* noRefreshToken
      if (!session.active) return yield* userBanned
      const token = newToken(24)
      yield* store.count(
        "insert into svc.supabase_refresh_tokens (hash, session_id) values ($1, $2::text::uuid) returning 1",
        [hashOf(token), sessionId]
      )
      return yield* issued(session, token, method)
    })

    return {
      open,
      renewed,

      /** Records another factor of a session. */
      addMethod: (id: string, method: string) =>
        Effect.flatMap(entry(method), (added) =>
          store.count(
            "update svc.supabase_sessions set amr = amr || $2::text::jsonb where id = $1::text::uuid returning 1",
            [id, added]
          )
        ),

      /** The session of an access token: one that this service has signed for it, whatever other tokens it accepts. */
      authenticate: Effect.fnUntraced(function* (token: string) {
        const header = yield* Effect.try({ try: () => decodeProtectedHeader(token), catch: () => badJwt })
        if (
          header.alg !== "RS256" ||
          header.typ !== sessionTokenType ||
          header.kid === undefined ||
          token.length > maxToken
        ) {
          return yield* badJwt
        }
        const key = yield* keys.find(header.kid)
        if (key === undefined) return yield* badJwt
        const claims = yield* Effect.tryPromise({
          try: async () => {
            const { payload } = await compactVerify(token, key.publicKey, { algorithms: ["RS256"] })
            return JSON.parse(Buffer.from(payload).toString("utf8")) as unknown
          },
          catch: () => badJwt
        })
        if (!isJsonObject(claims) || claims["iss"] !== issuer) return yield* badJwt
        const { exp, session_id: id, sub } = claims
        if (typeof exp !== "number" || exp * 1000 <= (yield* Clock.currentTimeMillis)) return yield* badJwt
        if (typeof id !== "string" || typeof sub !== "string" || !isUuid(id) || !isUuid(sub)) return yield* badJwt
        const [row] = yield* current(
          `select s.id::text, s.identity_id::text as user_id, s.aal,
           extract(epoch from now() - s.authenticated_at)::float8 as age
         from svc.supabase_sessions x join svc.identity_sessions s on s.id = x.id join svc.identities i on i.id = s.identity_id
         where s.id = $1::text::uuid and s.identity_id = $2::text::uuid and s.expires_at > now() and i.state = 'active'`,
          [id, sub]
        )
        if (row === undefined) return yield* noSession
        const session: CurrentSession = { id: row.id, userId: row.user_id, aal: row.aal, age: row.age }
        return session
      }),

      /** A token that is used again, after the grace, was copied: the session ends. */
      refresh: Effect.fnUntraced(function* (token: string) {
        const hash = hashOf(token)
        const [first] = yield* usedTokens(
          `update svc.supabase_refresh_tokens set used_at = now() where hash = $1 and used_at is null
         returning session_id::text, true as first, true as recent`,
          [hash]
        )
        // A statement of its own: one that waited for another refresh would still see the token as it was before.
        const [again] =
          first === undefined
            ? yield* usedTokens(
                `select session_id::text, false as first, used_at > now() - make_interval(secs => ${graceSeconds}) as recent
               from svc.supabase_refresh_tokens where hash = $1 and used_at is not null`,
                [hash]
              )
            : []
        const used = first ?? again
        if (used === undefined) return yield* noRefreshToken
        if (!used.recent) {
          yield* end(used.session_id)
          return yield* usedRefreshToken
        }
        if (used.first) {
          yield* store.count(
            `with old as (delete from svc.supabase_refresh_tokens
             where session_id = $1::text::uuid and used_at < now() - interval '7 days')
           update svc.identity_sessions set expires_at = now() + make_interval(secs => $2::float8)
           where id = $1::text::uuid and expires_at > now() returning 1`,
            [used.session_id, Math.min(sessionSeconds, idleSeconds ?? sessionSeconds)]
          )
        }
        // After a failure the client has no other token than this one.
        const unused = store.count(
          "update svc.supabase_refresh_tokens set used_at = null where hash = $1 returning 1",
          [hash]
        )
        return yield* Effect.tapError(renewed(used.session_id, "token_refresh"), ({ code, status }) =>
          used.first && (status >= 500 || code.startsWith("hook_")) ? unused : Effect.void
        )
      }),

      logout: Effect.fnUntraced(function* ({ id, userId }: CurrentSession, scope: "global" | "local" | "others") {
        yield* store.count(
          `delete from svc.identity_sessions s where identity_id = $1::text::uuid and case $3::text
           when 'local' then id = $2::text::uuid when 'others' then id <> $2::text::uuid else true end returning 1`,
          [userId, id, scope]
        )
      })
    }
  })
}) {
  static readonly layer = Layer.effect(SupabaseTokens, SupabaseTokens.make)
}
