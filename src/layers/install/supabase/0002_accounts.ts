import { Effect } from "effect"
import { statements } from "../migrations/statements.ts"
import { missingTable } from "./missing.ts"

/** Default privileges of the database may have granted access; passwords are only for the owner. */
const closed = (table: string) => [
  `revoke all on ${table} from public, anon, authenticated`,
  `alter table ${table} enable row level security`
]

/**
 * The tables of accounts that tables of apps refer to, that seeds write, and into which the data of a project's schema auth
 * is copied.
 */
export const accounts = Effect.all(
  [
    statements("grant usage on schema auth to anon, authenticated, service_role"),
    missingTable(
      "auth.users",
      `create table auth.users (
     instance_id uuid,
     id uuid primary key,
     aud varchar(255),
     role varchar(255),
     email varchar(255),
     encrypted_password varchar(255),
     email_confirmed_at timestamptz,
     invited_at timestamptz,
     confirmation_token varchar(255),
     confirmation_sent_at timestamptz,
     recovery_token varchar(255),
     recovery_sent_at timestamptz,
     email_change_token_new varchar(255),
     email_change varchar(255),
     email_change_sent_at timestamptz,
     last_sign_in_at timestamptz,
     raw_app_meta_data jsonb,
     raw_user_meta_data jsonb,
     is_super_admin boolean,
     created_at timestamptz,
     updated_at timestamptz,
     phone text unique,
     phone_confirmed_at timestamptz,
     phone_change text default '',
     phone_change_token varchar(255) default '',
     phone_change_sent_at timestamptz,
     confirmed_at timestamptz generated always as (least(email_confirmed_at, phone_confirmed_at)) stored,
     email_change_token_current varchar(255) default '',
     email_change_confirm_status smallint default 0 check (email_change_confirm_status between 0 and 2),
     banned_until timestamptz,
     reauthentication_token varchar(255) default '',
     reauthentication_sent_at timestamptz,
     is_sso_user boolean not null default false,
     deleted_at timestamptz,
     is_anonymous boolean not null default false
   )`,
      "create index users_email_idx on auth.users (lower(email))",
      ...closed("auth.users")
    ),
    missingTable(
      "auth.identities",
      `create table auth.identities (
     provider_id text not null,
     user_id uuid not null references auth.users (id) on delete cascade,
     identity_data jsonb not null,
     provider text not null,
     last_sign_in_at timestamptz,
     created_at timestamptz,
     updated_at timestamptz,
     email text generated always as (lower(identity_data ->> 'email')) stored,
     id uuid primary key default gen_random_uuid(),
     unique (provider_id, provider)
   )`,
      "create index identities_user_id_idx on auth.identities (user_id)",
      ...closed("auth.identities")
    )
  ],
  { discard: true }
)
