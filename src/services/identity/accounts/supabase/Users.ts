import { Context, Effect, Layer, Schema } from "effect"
import { noUser } from "../../../../domain/supabase/AuthErrors.ts"
import { uuidOf } from "../../../../domain/sql/Uuids.ts"
import { isJsonObject, type JsonObject } from "../../../../domain/text/JsonObject.ts"
import { JsonObjectSchema } from "../../../../domain/text/JsonObjectSchema.ts"
import { type CurrentSession, type User, type UserPage } from "../../../ports/supabase/AuthCalls.ts"
import { secondFactorSql } from "../Sessions.ts"
import { iso, isUuid, AccountStore } from "../Store.ts"

const times =
  "email_confirmed_at phone_confirmed_at confirmed_at invited_at confirmation_sent_at recovery_sent_at email_change_sent_at last_sign_in_at banned_until created_at updated_at".split(
    " "
  )
const timesSql = times.map((name) => `'${name}', ${iso(`u.${name}`)}`).join(", ")

/** Whether a factor `x` of the identity `i` is verified: once the account has its secret, or the factor its key. */
export const verifiedSql = "(x.key_id is not null or x.secret = i.totp_secret is true)"

/** An authenticator app that was set up on the pages has the user's id, and a security key one that its own id makes. */
const factorsSql = `coalesce((select jsonb_agg(f.factor order by f.at) from (
    select x.created_at as at, jsonb_strip_nulls(jsonb_build_object('id', x.id, 'friendly_name', x.friendly_name,
      'factor_type', x.kind, 'status', case when ${verifiedSql} then 'verified' else 'unverified' end,
      'created_at', ${iso("x.created_at")}, 'updated_at', ${iso("x.updated_at")})) as factor
    from svc.supabase_factors x where x.identity_id = i.id
    union all
    select k.added_at, jsonb_build_object('id', ${uuidOf("k.id")}, 'friendly_name', k.display_name, 'factor_type', 'webauthn',
      'status', 'verified', 'created_at', ${iso("k.added_at")}, 'updated_at', ${iso("k.added_at")})
    from svc.identity_keys k where k.identity_id = i.id and not k.passkey
      and not exists (select from svc.supabase_factors x where x.key_id = k.id)
    union all
    select i.updated_at, jsonb_build_object('id', i.id, 'factor_type', 'totp', 'status', 'verified',
      'created_at', ${iso("i.updated_at")}, 'updated_at', ${iso("i.updated_at")})
    where i.totp_secret is not null
      and not exists (select from svc.supabase_factors x where x.identity_id = i.id and x.secret = i.totp_secret)) f), '[]')`

const identitiesSql = `coalesce((select jsonb_agg(jsonb_build_object('identity_id', x.id, 'id', x.provider_id, 'user_id', x.user_id,
    'identity_data', x.identity_data, 'provider', x.provider, 'last_sign_in_at', ${iso("x.last_sign_in_at")},
    'created_at', ${iso("x.created_at")}, 'updated_at', ${iso("x.updated_at")}, 'email', x.identity_data ->> 'email')
    order by x.created_at, x.provider) from auth.identities x where x.user_id = u.id), '[]')`

const userSql = `jsonb_strip_nulls(jsonb_build_object('id', u.id, 'aud', 'authenticated',
    'role', coalesce(nullif(u.role, ''), 'authenticated'), 'email', coalesce(u.email, ''), 'phone', coalesce(u.phone, ''),
    'new_email', nullif(u.email_change, ''), 'is_anonymous', u.is_anonymous, ${timesSql}))
  || jsonb_build_object('app_metadata', coalesce(u.raw_app_meta_data, '{}'), 'user_metadata', coalesce(u.raw_user_meta_data, '{}'),
    'identities', ${identitiesSql}, 'factors', ${factorsSql})`

/** A user's metadata with a change: null removes a field; `without`: fields that are not set this way. */
export const changedMetadata = (before: unknown, change: JsonObject, without: ReadonlyArray<string>) =>
  Object.fromEntries(
    Object.entries({ ...(isJsonObject(before) ? before : {}), ...change }).filter(
      ([name, value]) => value !== null && !without.includes(name)
    )
  )

const UserRow = Schema.Struct({ user: JsonObjectSchema })
const TotalRow = Schema.Struct({ total: Schema.Int })
/** Rows of auth.users, which have the same transactions as the accounts of the service. */
export class Users extends Context.Service<Users>()("svc/identity/Users", {
  make: Effect.gen(function* () {
    const store = yield* AccountStore
    const rows = store.rows(UserRow)
    const totals = store.rows(TotalRow)
    const from = "from auth.users u join svc.identities i on i.id = u.id"

    const find = (id: string) => rows(`select ${userSql} as user ${from} where u.id = $1::text::uuid`, [id])

    const byId = Effect.fnUntraced(function* (id: string) {
      if (!isUuid(id)) return yield* noUser
      const [row] = yield* find(id)
      if (row !== undefined) return row.user as User
      // An account of before auth.users was filled, which a start does in parts.
      yield* store.atomically(store.count("select svc.supabase_mirror($1::text::uuid)", [id]))
      const [made] = yield* find(id)
      return made === undefined ? yield* noUser : (made.user as User)
    })

    return {
      byId,
      /** Whether the user has shown that the address is theirs, which `email_confirmed_at` does not say. */
      isProven: (id: string) =>
        Effect.map(
          store.count(
            "select 1 from svc.identity_addresses where identity_id = $1::text::uuid and verified_at is not null limit 1",
            [id]
          ),
          (proven) => proven > 0
        ),
      /** Refuses a session that lacks the second factors of its account. */
      whole: Effect.fnUntraced(function* <E>({ aal, userId }: CurrentSession, refusal: E) {
        if (aal === "aal2") return
        const due = yield* store.count(
          `select 1 from svc.identities i where i.id = $1::text::uuid and ${secondFactorSql}`,
          [userId]
        )
        if (due > 0) return yield* Effect.fail(refusal)
      }),
      /** The account of an address. A row that was copied into auth.users without its triggers becomes one. */
      ownerOf: Effect.fnUntraced(function* (lookup: string) {
        const owner = yield* store.ownerOf(lookup)
        if (owner?.active === true) return owner
        if (owner !== undefined) {
          // A ban may have ended.
          const lifted = yield* store.count(
            `update svc.identities i set state = 'active', updated_at = now() from auth.users u
             where i.id = $1::text::uuid and u.id = i.id and u.banned_until <= now() returning 1`,
            [owner.id]
          )
          return { ...owner, active: lifted > 0 }
        }
        const adopted = yield* store.count(
          `select svc.supabase_adopt(to_jsonb(u)) from auth.users u
         where lower(u.email) = $1 and u.deleted_at is null and not exists (select from svc.identities i where i.id = u.id) limit 1`,
          [lookup]
        )
        return adopted === 0 ? undefined : yield* store.ownerOf(lookup)
      }),
      page: Effect.fnUntraced(function* ({ ascending, filter, page, perPage }: UserPage) {
        const matching = `${from} where $1::text = '' or strpos(lower(u.email), lower($1)) > 0
          or strpos(lower(u.raw_user_meta_data ->> 'full_name'), lower($1)) > 0`
        const direction = ascending ? "asc" : "desc"
        const [total] = yield* totals(`select count(*)::int4 as total ${matching}`, [filter])
        const found = yield* rows(
          `select ${userSql} as user ${matching} order by u.created_at ${direction}, u.id ${direction}
           limit $2::int4 offset $3::float8::bigint`,
          [filter, perPage, (page - 1) * perPage]
        )
        return { users: found.map(({ user }) => user as User), total: total?.total ?? 0 }
      }),
      /** Sets columns that only auth.users has, by SQL of a JSON object. The app's triggers run with the app's rights. */
      set: (id: string, patch: string, params: ReadonlyArray<unknown> = []) =>
        store.count(`select auth.svc_update_user($1::text::uuid, ${patch})`, [id, ...params]),
      /** Removes an account of another service that was copied, and is not linked. */
      dropIdentity: (id: string, provider: string, subject: string) =>
        store.count("select auth.svc_drop_identity($1::text::uuid, $2::text, $3::text)", [id, provider, subject])
    }
  })
}) {
  static readonly layer = Layer.effect(Users, Users.make)
}
