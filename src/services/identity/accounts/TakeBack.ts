import { Effect, Schema } from "effect"
import { revocations } from "../../../domain/oauth2/Revocations.ts"
import { type AccountStore } from "./Store.ts"

/**
 * How an owner takes an account back: with a new password, by recovery, or by proving an address that was never proven
 * (claim), which another person may have registered. An operator can disable or delete it.
 */
export type TakingBack = "password" | "recovery" | "claim" | "disable" | "delete"

/** Rows that stay: the session that changes the password, and what it began; the mail that is being used, with its codes. */
export interface Spared {
  readonly session?: string
  readonly mail?: string
}

interface Holder {
  /**
   * The events that end its rows; `by`: the table whose rows they end with, by a foreign key; `none`: why its rows
   * allow nothing.
   */
  readonly ends: ReadonlyArray<TakingBack> | { readonly by: string } | { readonly none: string }
  /** $1: the account; $2: the session that stays; $3: the mail that stays; $4: the event. Each uses all that it casts. */
  readonly statements?: ReadonlyArray<string>
}

const always = ["password", "recovery", "claim", "disable"] as const
const claimed = ["claim"] as const
const own = "identity_id = $1::text::uuid"
/** A flow that is over stays, so that a late answer is 410, but contains nothing. */
const over = "used_at = coalesce(used_at, now()), data = '{}'"

/**
 * Every table of schemas svc and auth that refers to an account, and what ends there. A test compares it with the catalogue.
 * With the account itself all rows are deleted, by foreign keys where `delete` is not listed.
 */
export const holders: Readonly<Record<string, Holder>> = {
  // Passwords and authenticator apps.
  "svc.identities": {
    ends: claimed,
    statements: [
      "update svc.identities set password_hash = null, totp_secret = null, updated_at = now() where id = $1::text::uuid returning 1"
    ]
  },
  "svc.identity_keys": { ends: claimed, statements: [`delete from svc.identity_keys where ${own} returning 1`] },
  "svc.identity_recovery_codes": {
    ends: claimed,
    statements: [`delete from svc.identity_recovery_codes where ${own} returning 1`]
  },
  "svc.identity_links": { ends: claimed, statements: [`delete from svc.identity_links where ${own} returning 1`] },
  // Factors that Supabase's clients have begun to add.
  "svc.supabase_factors": { ends: claimed, statements: [`delete from svc.supabase_factors where ${own} returning 1`] },
  // Accounts of other services that were copied from Supabase: the next sign-in there would link them.
  "auth.identities": {
    ends: claimed,
    statements: [
      `select auth.svc_drop_identity(x.user_id, x.provider, x.provider_id) from auth.identities x
       where x.user_id = $1::text::uuid and x.provider <> 'email'`
    ]
  },
  "svc.identity_sessions": {
    ends: always,
    statements: [`delete from svc.identity_sessions where ${own} and id is distinct from $2::text::uuid returning 1`]
  },
  "svc.supabase_sessions": { ends: { by: "svc.identity_sessions" } },
  "svc.supabase_refresh_tokens": { ends: { by: "svc.supabase_sessions" } },
  // Changes of an address, recoveries, factors and links that were begun. A confirmation of the same address takes nothing.
  "svc.identity_flows": {
    ends: [...always, "delete"],
    statements: [
      `update svc.identity_flows set ${over} where ${own} and ($2::text is null or data ->> 'session' is distinct from $2::text)
         and not ($4::text = 'password' and kind = 'verification') returning 1`,
      `update svc.identity_flows set ${over} where kind = 'recovery'
         and data -> 'ways' @> jsonb_build_array(jsonb_build_object('identity', $1::text)) returning 1`
    ]
  },
  // A mail that is over keeps where its reader returns to.
  "svc.supabase_mails": {
    ends: always,
    statements: [
      `update svc.supabase_mails set used_at = coalesce(used_at, now()),
         data = jsonb_build_object('redirectTo', data -> 'redirectTo', 'over', true)
       where ${own} and id is distinct from $3::text::uuid
         and ($2::text is null or data ->> 'session' is distinct from $2::text)
         and not ($4::text = 'password' and kind = 'signup') returning 1`
    ]
  },
  "svc.supabase_codes": {
    ends: always,
    statements: [
      `delete from svc.supabase_codes where ${own} and ($3::text is null or data ->> 'mail' is distinct from $3::text) returning 1`
    ]
  },
  ...Object.fromEntries(
    Object.entries(revocations).map(([table, statements]) => [
      table,
      { ends: [...always, "delete"], statements } satisfies Holder
    ])
  ),
  // The grants of another OAuth 2.0 server, whose rows are not here.
  "svc.oauth2_revocations": {
    ends: [...always, "delete"],
    statements: [
      `insert into svc.oauth2_revocations (subject) select $1
       where exists (select from svc.oauth2_revocations where subject = '' and due_at > now())
       on conflict (subject) do update set due_at = now(), attempts = 0 returning 1`
    ]
  },
  "svc.identity_addresses": { ends: { none: "an address of the account; a change of it is a flow or a mail" } },
  "svc.oauth2_subjects": { ends: { none: "whose rows of the OAuth 2.0 server are deleted with the account" } },
  "svc.oauth2_logout_notices": { ends: { none: "notices to clients that a session has ended" } },
  "svc.oauth2_challenges": { ends: { none: "requests of apps; only an answer to one signs in" } },
  "svc.mails": { ends: { none: "texts on their way to an address of the owner; what their links do is a flow" } },
  "svc.audit": { ends: { none: "a record of what was done" } },
  "auth.users": { ends: { none: "a copy of the account" } }
}

const tables = Object.keys(holders)
const TableRow = Schema.Struct({ name: Schema.String })

/**
 * Ends everything that may still act for an account: the person who began it may not be the owner. Runs in a
 * transaction that has locked the account (`store.exclusively`), so that a confirmation at the same time happens
 * before, or not at all.
 */
export const takeBack = Effect.fnUntraced(function* (
  store: AccountStore["Service"],
  identityId: string,
  event: TakingBack,
  { mail, session }: Spared = {}
) {
  const values = { $1: identityId, $2: session ?? null, $3: mail ?? null, $4: event }
  const there = yield* store.rows(TableRow)(
    `select name from unnest($1::text[]) name where to_regclass(name) is not null
       and (name <> 'auth.identities' or to_regprocedure('auth.svc_drop_identity(uuid,text,text)') is not null)`,
    [tables]
  )
  for (const { name } of there) {
    const { ends, statements = [] } = holders[name]!
    if (!Array.isArray(ends) || !ends.includes(event)) continue
    for (const statement of statements) {
      // PostgreSQL refuses parameters that a statement does not use.
      const used = Object.entries(values).filter(([name]) => statement.includes(name))
      const numbered = used.reduce((text, [name], at) => text.replaceAll(name, `$${at + 1}`), statement)
      yield* store.count(
        numbered,
        used.map(([, value]) => value)
      )
    }
  }
})

/**
 * Gives an account to the person who has proven an address for the first time, or to whom an operator gives it: another
 * may have registered it, so everything that they could sign in with is removed too. Runs in a transaction that has
 * locked the account.
 */
export const claimAddress = Effect.fnUntraced(function* (
  store: AccountStore["Service"],
  identityId: string,
  proven: string | undefined,
  spared: Spared = {}
) {
  yield* takeBack(store, identityId, "claim", spared)
  if (proven === undefined) return
  yield* store.count(
    "update svc.identity_addresses set verified_at = now() where lookup = $1 and identity_id = $2::text::uuid returning 1",
    [proven, identityId]
  )
})
