import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { randomBytes } from "node:crypto"
import { NotFound, StepUpRequired } from "../../../domain/errors.ts"
import { type Credential, type IdentitySession, type SessionSummary } from "../../../domain/identity/Identity.ts"
import { AccountSettings } from "../AccountSettings.ts"
import { CurrentMeters } from "../../metrics/Meters.ts"
import { CurrentDevice, type SignedIn } from "../../ports/identity/Accounts.ts"
import { badCredentials, unauthenticated } from "./Refusals.ts"
import { hashOf, iso, isUuid, AccountStore } from "./Store.ts"

/** Sessions of one identity; beyond them the oldest end. */
const maxSessions = 200

/** How sessions begin: those of this service's pages, and those of Supabase's clients. */
const firstFactors = "password passkey code_recovery link_recovery oidc oauth otp recovery anonymous".split(" ")

const aal = Schema.Literals(["aal1", "aal2"])
const times = { authenticated_at: Schema.String, issued_at: Schema.String, expires_at: Schema.String }
const timesSql = `${iso("s.authenticated_at")} as authenticated_at, ${iso("s.issued_at")} as issued_at,
  ${iso("s.expires_at")} as expires_at`

const SessionRow = Schema.Struct({
  id: Schema.String,
  identity_id: Schema.String,
  aal,
  methods: Schema.Array(Schema.String),
  ...times,
  /** Whether a second factor is still required. */
  owes: Schema.Boolean,
  /** Whether the sign-in is recent. */
  recent: Schema.Boolean,
  /** Whether it has not been used for a while, so that this use extends it. */
  unused: Schema.Boolean
})
export type SessionRow = typeof SessionRow.Type

const BegunRow = Schema.Struct({ id: Schema.String })

const ListedRow = Schema.Struct({
  id: Schema.String,
  aal,
  ...times,
  ip: Schema.NullOr(Schema.String),
  user_agent: Schema.NullOr(Schema.String)
})

/** SQL of whether the identity `i` has a second factor. Codes that were used are none: they could not complete a session. */
export const secondFactorSql = `(i.totp_secret is not null
  or exists (select from svc.identity_keys k where k.identity_id = i.id and not k.passkey)
  or exists (select from svc.identity_recovery_codes c where c.identity_id = i.id and c.used_at is null))`

/** Sessions: a random token whose SHA-256 is stored. One that was issued for a cookie is not valid as a token. */
export class AccountSessions extends Context.Service<AccountSessions>()("svc/identity/AccountSessions", {
  make: Effect.gen(function* () {
    const { idleSeconds, ownUrl, privilegedSeconds, sessionSeconds } = yield* AccountSettings
    /** SQL of when a session `s` ends if it is used now. Everything that reads sessions looks at `expires_at` alone. */
    const untilSql = `least(s.issued_at + make_interval(secs => ${sessionSeconds}::float8),
      now() + make_interval(secs => ${idleSeconds ?? sessionSeconds}::float8))`
    const store = yield* AccountStore
    const meters = yield* CurrentMeters
    const counters = new Map(firstFactors.map((method) => [method, meters.counter("svc_sign_ins_total", { method })]))
    const sessionRows = store.rows(SessionRow)
    const begun = store.rows(BegunRow)
    const listed = store.rows(ListedRow)

    const loginPage = (query: Readonly<Record<string, string>>, base = ownUrl) =>
      `${base}/auth/login?${new URLSearchParams(query)}`
    const secondFactorDue = () =>
      new StepUpRequired({
        error: "A second factor is required",
        code: "aal2_required",
        redirect_to: loginPage({ aal: "aal2" })
      })
    const signInDue = () =>
      new StepUpRequired({
        error: "This needs a recent sign-in",
        code: "reauthentication_required",
        redirect_to: loginPage({ refresh: "true" })
      })

    /** The session of a credential, even if it needs a second factor. */
    const half = Effect.fnUntraced(function* ({ _tag, value }: Credential) {
      const [row] = yield* sessionRows(
        `select s.id::text, s.identity_id::text, s.aal, s.methods, ${timesSql},
         s.aal = 'aal1' and ${secondFactorSql} as owes,
         s.authenticated_at > now() - make_interval(secs => $3::float8) as recent,
         ${idleSeconds === undefined ? "false" : `${untilSql} > s.expires_at + make_interval(secs => ${idleSeconds / 10}::float8)`} as unused
       from svc.identity_sessions s join svc.identities i on i.id = s.identity_id
       where s.token_hash = $1 and s.kind = $2 and s.expires_at > now() and i.state = 'active'`,
        [hashOf(Redacted.value(value)), _tag, privilegedSeconds]
      )
      if (row === undefined) return yield* unauthenticated
      // Not at every request, because it is a write.
      if (row.unused) {
        yield* store.count(
          `update svc.identity_sessions s set expires_at = ${untilSql} where id = $1::text::uuid and expires_at > now() returning 1`,
          [row.id]
        )
      }
      return row
    })
    const whole = Effect.fnUntraced(function* (credential: Credential) {
      const row = yield* half(credential)
      return row.owes ? yield* secondFactorDue() : row
    })
    const privileged = Effect.fnUntraced(function* (credential: Credential) {
      const row = yield* whole(credential)
      return row.recent ? row : yield* signInDue()
    })

    const sessionOf = (row: SessionRow) =>
      Effect.map(
        Effect.catchTag(store.identity(row.identity_id), "NotFound", () => Effect.fail(unauthenticated)),
        (identity): IdentitySession => {
          const { aal, authenticated_at, expires_at, id, issued_at, methods } = row
          return { id, aal, methods, authenticated_at, issued_at, expires_at, identity }
        }
      )

    const secure = ownUrl.startsWith("https:") ? "; Secure" : ""
    // Over https the cookie is also set by the name that only this host can set (SessionCookies.ts).
    const cookieNames = secure === "" ? ["idp_session"] : ["__Host-idp_session", "idp_session"]
    /** The cookie again, for clients that have it: a session that has changed is set again. */
    const cookiesOf = ({ _tag, value }: Credential, { expires_at, issued_at }: SessionRow) => {
      if (_tag !== "Cookie") return []
      // One that ends when it is idle is extended without a new cookie.
      const until =
        idleSeconds === undefined ? new Date(expires_at) : new Date(Date.parse(issued_at) + sessionSeconds * 1000)
      const attributes = `Path=/; Expires=${until.toUTCString()}; HttpOnly; SameSite=Lax${secure}`
      return cookieNames.map((name) => `${name}=${Redacted.value(value)}; ${attributes}`)
    }

    const signedIn = Effect.fnUntraced(function* (credential: Credential) {
      const row = yield* half(credential)
      const cookies = cookiesOf(credential, row)
      const result: SignedIn = row.owes
        ? { credential, cookies, session: null, stepUp: secondFactorDue() }
        : { credential, cookies, session: yield* sessionOf(row), stepUp: null }
      return result
    })

    /**
     * Stores a session after a first factor; undefined if the account has been disabled or deleted meanwhile, or has
     * another password than the one that was verified. `passwordHash`: the hash of that one. `ctes`: what else belongs to
     * the session, in the same statement, of which CTE `s` has the id; their parameters begin with $9.
     */
    const begin = Effect.fnUntraced(function* (
      session: {
        readonly identityId: string
        readonly kind: Credential["_tag"]
        readonly method: string
        readonly token: string
        readonly passwordHash: string | undefined
      },
      ctes: ReadonlyArray<string> = [],
      params: ReadonlyArray<unknown> = []
    ) {
      const { ip, userAgent } = yield* CurrentDevice
      const { identityId, kind, method, passwordHash = null, token } = session
      // The lock waits for an account that is being deleted: the foreign key would be an error of ours.
      const stored = `s as (insert into svc.identity_sessions (identity_id, kind, token_hash, methods, expires_at, ip, user_agent)
         select id, $2, $3, array[$4::text], now() + make_interval(secs => $5::float8), $6, $7 from svc.identities
         where id = $1::text::uuid and state = 'active' and ($8::text is null or password_hash = $8) for key share returning id)`
      const [row] = yield* begun(`with ${[stored, ...ctes].join(", ")} select id::text from s`, [
        identityId,
        kind,
        hashOf(token),
        method,
        Math.min(sessionSeconds, idleSeconds ?? sessionSeconds),
        ip,
        userAgent?.slice(0, 300) ?? null,
        passwordHash,
        ...params
      ])
      if (row === undefined) return undefined
      counters.get(method)?.()
      yield* store.count(
        `delete from svc.identity_sessions where id in (select id from svc.identity_sessions
           where identity_id = $1::text::uuid order by issued_at desc offset ${maxSessions}) returning 1`,
        [identityId]
      )
      return row.id
    })

    /** Starts a session of this service's pages. Fails as a wrong password does if `begin` stores none. */
    const open = Effect.fnUntraced(function* (
      identityId: string,
      kind: Credential["_tag"],
      method: "password" | "passkey" | "code_recovery" | "link_recovery" | "oidc",
      passwordHash?: string
    ) {
      const token = `svc_st_${randomBytes(32).toString("base64url")}`
      if ((yield* begin({ identityId, kind, method, token, passwordHash })) === undefined) return yield* badCredentials
      return yield* signedIn({ _tag: kind, value: Redacted.make(token) })
    })

    /** Sessions of an identity, the current one first. */
    const listOf = (identityId: string, currentId: string | null) =>
      Effect.map(
        listed(
          `select s.id::text, s.aal, ${timesSql}, s.ip, s.user_agent from svc.identity_sessions s
         where identity_id = $1::text::uuid and expires_at > now()
         order by (id is not distinct from $2::text::uuid) desc, s.issued_at desc limit 500`,
          [identityId, currentId]
        ),
        (rows) =>
          rows.map(({ aal, authenticated_at, expires_at, id, ip, issued_at, user_agent }): SessionSummary => ({
            id,
            current: id === currentId,
            aal,
            authenticated_at,
            issued_at,
            expires_at,
            devices: [{ ip_address: ip, user_agent, location: null }]
          }))
      )

    return {
      half,
      whole,
      privileged,
      sessionOf,
      cookiesOf,
      signedIn,
      begin,
      open,
      loginPage,
      /** Records a factor of a session. `recent`: it counts as a sign-in. */
      raise: (id: string, method: string, recent: boolean) =>
        store.count(
          `update svc.identity_sessions set aal = 'aal2', guesses = 0,
           methods = case when $2 = any (methods) then methods else array_append(methods, $2::text) end,
           authenticated_at = case when $3::bool then now() else authenticated_at end
         where id = $1::text::uuid returning 1`,
          [id, method, recent]
        ),
      refresh: (id: string) =>
        store.count("update svc.identity_sessions set authenticated_at = now() where id = $1::text::uuid returning 1", [
          id
        ]),
      /** Whether a session has not ended meanwhile. In a transaction that locks the account, so that it can't end before that does. */
      stands: (id: string) =>
        Effect.map(
          store.count("select 1 from svc.identity_sessions where id = $1::text::uuid and expires_at > now()", [id]),
          (count) => count > 0
        ),
      /** Ends a session that a new one of the same identity replaces. */
      replace: ({ _tag, value }: Credential, identityId: string) =>
        store.count(
          `delete from svc.identity_sessions where token_hash = $1 and kind = $2 and identity_id = $3::text::uuid returning 1`,
          [hashOf(Redacted.value(value)), _tag, identityId]
        ),
      /** All of an identity but one. */
      endAll: (identityId: string, except: string | undefined) =>
        store.count(
          `delete from svc.identity_sessions where identity_id = $1::text::uuid and id is distinct from $2::text::uuid returning 1`,
          [identityId, except ?? null]
        ),
      listOf,
      list: (credential: Credential) =>
        Effect.flatMap(whole(credential), ({ id, identity_id }) => listOf(identity_id, id)),
      revoke: Effect.fnUntraced(function* (credential: Credential, id: string) {
        const current = yield* whole(credential)
        const ended = isUuid(id)
          ? yield* store.count(
              `delete from svc.identity_sessions
             where id = $1::text::uuid and identity_id = $2::text::uuid and id <> $3::text::uuid returning 1`,
              [id, current.identity_id, current.id]
            )
          : 0
        if (ended === 0) return yield* new NotFound({ error: "There is no such session", code: "SESSION_NOT_FOUND" })
      }),
      logout: Effect.fnUntraced(function* (credential: Credential) {
        const { id } = yield* half(credential)
        yield* store.count("delete from svc.identity_sessions where id = $1::text::uuid returning 1", [id])
      })
    }
  })
}) {
  static readonly layer = Layer.effect(AccountSessions, AccountSessions.make)
}
