import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { refusedByApp } from "../../../domain/supabase/AuthErrors.ts"
import { sqlStateOf } from "../../../services/OwnTables.ts"
import { statements } from "../migrations/statements.ts"

/** Failures of the server, which are not the app's. */
const reraise = `if sqlstate ~ '^(08|40|53|57)' then raise; end if;`

/**
 * Runs a statement that the app's triggers or foreign keys may refuse, and reports that with the text that Supabase's
 * users get.
 */
const guarded = (statement: string, message: string) => `begin
       ${statement}
     exception when others then
       ${reraise}
       raise warning 'svc: the account %: % (%)', person, sqlerrm, sqlstate;
       raise exception using errcode = '${refusedByApp}', message = '${message}', detail = sqlerrm;
     end;`

/**
 * Functions that write schema auth. They belong to the role of service keys, so that the triggers which it has created run
 * with its rights, and not with those of the service's login.
 */
const writers = [
  `create function auth.svc_save_user(u jsonb) returns void language plpgsql security definer
   set search_path = auth, public, extensions, pg_temp as $$
   declare
     own uuid := (u ->> 'id')::uuid;
     links jsonb := u -> 'links';
     mailed boolean;
     providers jsonb;
     app jsonb := u -> 'app';
     about jsonb := u -> 'user';
     before auth.users;
   begin
     select * into before from auth.users x where x.id = own;
     -- Those who sign in elsewhere alone have no identity of their address; of copied users, the copy says which they have.
     mailed := u ->> 'email' is not null and (u ->> 'hash' is not null or (links = '[]'
       and not exists (select from auth.identities x where x.user_id = own and x.provider <> 'email')
       and coalesce(before.raw_app_meta_data -> 'providers' ? 'email', true)));
     select coalesce(jsonb_agg(p.name order by p.place, p.name), '[]') into providers from (
       select name, min(place) as place from (
         select 'email' as name, 0 as place where mailed
         union all select l.value ->> 'provider', l.ordinality from jsonb_array_elements(links) with ordinality l
         union all select x.provider, 100 from auth.identities x where x.user_id = own
       ) named group by name) p;
     if providers <> '[]' then
       app := app || jsonb_build_object('providers', providers, 'provider',
         case when providers ? (before.raw_app_meta_data ->> 'provider') then before.raw_app_meta_data -> 'provider'
              else providers -> 0 end);
     elsif before.raw_app_meta_data ? 'providers' then
       app := app || jsonb_build_object('providers', before.raw_app_meta_data -> 'providers',
         'provider', before.raw_app_meta_data -> 'provider');
     end if;
     if before.raw_user_meta_data ? 'email' then
       about := about || jsonb_build_object('email', before.raw_user_meta_data -> 'email');
     end if;
     if before.id is null and links <> '[]' and about ? 'name' then
       about := jsonb_build_object('full_name', about -> 'name') || about;
     end if;
     insert into auth.users as t (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at,
         raw_app_meta_data, raw_user_meta_data, created_at, updated_at, banned_until, is_anonymous)
       values ('00000000-0000-0000-0000-000000000000', own, 'authenticated', 'authenticated', u ->> 'email', u ->> 'hash',
         (u ->> 'verified_at')::timestamptz, app, about, (u ->> 'created_at')::timestamptz, now(),
         case when not (u ->> 'active')::boolean then now() + interval '100 years' end,
         u ->> 'email' is null and links = '[]')
       on conflict (id) do update set email = excluded.email, encrypted_password = excluded.encrypted_password,
         email_confirmed_at = excluded.email_confirmed_at, raw_app_meta_data = excluded.raw_app_meta_data,
         raw_user_meta_data = excluded.raw_user_meta_data, updated_at = now(),
         banned_until = case when excluded.banned_until is not null then coalesce(t.banned_until, excluded.banned_until) end,
         is_anonymous = t.is_anonymous and excluded.is_anonymous
       where (t.email, nullif(t.encrypted_password, ''), t.email_confirmed_at, t.raw_app_meta_data, t.raw_user_meta_data,
           t.banned_until, t.is_anonymous)
         is distinct from (excluded.email, excluded.encrypted_password, excluded.email_confirmed_at,
           excluded.raw_app_meta_data, excluded.raw_user_meta_data,
           case when excluded.banned_until is not null then coalesce(t.banned_until, excluded.banned_until) end,
           t.is_anonymous and excluded.is_anonymous);
     insert into auth.identities as t (provider_id, user_id, provider, identity_data, last_sign_in_at, created_at, updated_at)
       select own::text, own, 'email', jsonb_build_object('sub', own, 'email', u -> 'email',
           'email_verified', u ->> 'verified_at' is not null, 'phone_verified', false), now(), now(), now()
         where mailed
       union all
       select l ->> 'subject', own, l ->> 'provider', jsonb_strip_nulls(jsonb_build_object('sub', l -> 'subject',
           'provider_id', l -> 'subject', 'iss', l -> 'issuer', 'name', about -> 'name', 'full_name', about -> 'name',
           'user_name', l -> 'account', 'email', case when l ->> 'account' like '%_@_%' then l -> 'account' end)),
           now(), (l ->> 'added_at')::timestamptz, now()
         from jsonb_array_elements(links) l
       on conflict (provider_id, provider) do update set identity_data = t.identity_data || excluded.identity_data, updated_at = now()
       where t.user_id = excluded.user_id and not t.identity_data @> excluded.identity_data;
   end $$`,
  // Columns that the accounts do not have. Of a user that is marked as deleted, only the row stays.
  `create function auth.svc_update_user(own uuid, patch jsonb) returns void language plpgsql security definer
   set search_path = auth, public, extensions, pg_temp as $$
   declare
     r auth.users;
   begin
     select * into r from auth.users u where u.id = own for update;
     if not found then return; end if;
     r := jsonb_populate_record(r, patch);
     update auth.users u set role = r.role, banned_until = r.banned_until, invited_at = r.invited_at,
         email_change = r.email_change, email_change_sent_at = r.email_change_sent_at,
         confirmation_sent_at = r.confirmation_sent_at, recovery_sent_at = r.recovery_sent_at,
         reauthentication_sent_at = r.reauthentication_sent_at, deleted_at = r.deleted_at
       where u.id = own;
     if r.deleted_at is null then return; end if;
     update auth.users u set email = null, phone = null, encrypted_password = null, raw_user_meta_data = '{}',
         raw_app_meta_data = '{}', email_change = '' where u.id = own;
     delete from auth.identities i where i.user_id = own;
   end $$`,
  // A user that is marked as deleted keeps its row.
  `create function auth.svc_delete_user(own uuid) returns void language sql security definer
   set search_path = auth, public, extensions, pg_temp
   as $$ delete from auth.users u where u.id = own and u.deleted_at is null $$`,
  `create function auth.svc_drop_identity(own uuid, name text, subject text) returns void language sql security definer
   set search_path = auth, public, extensions, pg_temp
   as $$ delete from auth.identities i where i.user_id = own and i.provider = name and i.provider_id = subject $$`,
  `create function auth.svc_signed_in(own uuid) returns void language sql security definer
   set search_path = auth, public, extensions, pg_temp
   as $$ update auth.users u set last_sign_in_at = now() where u.id = own $$`
]

/**
 * Copies the service's accounts to schema auth at the end of the transaction: creating an account is several
 * statements.
 */
const outward = [
  `create function svc.supabase_mirror(person uuid) returns void language plpgsql security definer
   set search_path = pg_catalog, pg_temp as $$
   declare
     account jsonb;
   begin
     select jsonb_build_object('id', i.id, 'email', a.value, 'verified_at', a.verified_at,
         'hash', regexp_replace(i.password_hash, '^imported:', ''), 'active', i.state = 'active',
         'app', i.metadata_public - 'svc_role', 'user', i.traits - 'email', 'created_at', i.created_at,
         'links', coalesce((select jsonb_agg(jsonb_build_object('provider', l.provider, 'subject', l.subject,
             'issuer', l.issuer, 'account', l.account, 'added_at', l.added_at) order by l.added_at, l.provider)
           from svc.identity_links l where l.identity_id = i.id), '[]'))
       into account
       from svc.identities i left join lateral (select value, verified_at from svc.identity_addresses x
         where x.identity_id = i.id order by verified_at nulls last, lookup limit 1) a on true
       where i.id = person;
     if account is null then return; end if;
     ${guarded("perform auth.svc_save_user(account);", "Database error saving new user")}
   end $$`,
  `create function svc.supabase_account_changed() returns trigger language plpgsql security definer
   set search_path = pg_catalog, pg_temp as $$
   begin
     perform svc.supabase_mirror(case when tg_table_name = 'identities' then (to_jsonb(new) ->> 'id')::uuid
       else (to_jsonb(coalesce(new, old)) ->> 'identity_id')::uuid end);
     return null;
   end $$`,
  `create function svc.supabase_account_removed() returns trigger language plpgsql security definer
   set search_path = pg_catalog, pg_temp as $$
   declare
     person uuid := old.id;
   begin
     ${guarded("perform auth.svc_delete_user(person);", "Database error deleting user")}
     return null;
   end $$`,
  `create function svc.supabase_unlinked() returns trigger language plpgsql security definer
   set search_path = pg_catalog, pg_temp as $$
   begin
     perform auth.svc_drop_identity(old.identity_id, old.provider, old.subject);
     return null;
   end $$`,
  `create function svc.supabase_signed_in() returns trigger language plpgsql security definer
   set search_path = pg_catalog, pg_temp as $$
   begin
     perform auth.svc_signed_in(new.identity_id);
     return null;
   exception when others then
     raise warning 'svc: the sign-in of % is not in auth.users: %', new.identity_id, sqlerrm;
     return null;
   end $$`
]

/** Copies schema auth, which seeds, dumps and functions of apps write, to the service's accounts. */
const inward = [
  // The form by which accounts are found, as domain/identity/Address.ts makes it.
  `create function svc.supabase_lookup(address text) returns text language plpgsql set search_path = pg_catalog, pg_temp as $$
   declare
     value text := btrim(case when address ~ '[^\\x20-\\x7e]' then normalize(address, NFKC) else address end);
   begin
     if length(address) > 254 or value !~ '^[^\\s@,;:<>()\\[\\]"\\\\]+@[\\x21-\\x7e]+$' or value ~ '@.*[@,;:<>()"\\\\]' then
       raise exception using errcode = '22023', message = 'svc: not an e-mail address that can be used to sign in';
     end if;
     return lower(regexp_replace(value, '\\.+$', ''));
   end $$`,
  `create function svc.supabase_set_address(person uuid, address text, verified timestamptz) returns void
   language plpgsql set search_path = pg_catalog, pg_temp as $$
   begin
     delete from svc.identity_addresses a where a.identity_id = person;
     if nullif(address, '') is null then return; end if;
     insert into svc.identity_addresses (lookup, identity_id, value, verified_at)
       values (svc.supabase_lookup(address), person, address, verified);
   end $$`,
  `create function svc.supabase_adopt(u jsonb) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
   declare
     person uuid := (u ->> 'id')::uuid;
     app jsonb := case jsonb_typeof(u -> 'raw_app_meta_data') when 'object' then u -> 'raw_app_meta_data' else '{}' end;
     about jsonb := case jsonb_typeof(u -> 'raw_user_meta_data') when 'object' then u -> 'raw_user_meta_data' else '{}' end;
     email text := nullif(u ->> 'email', '');
   begin
     insert into svc.identities (id, state, traits, metadata_public, password_hash, created_at, updated_at)
       values (person, case when (u ->> 'banned_until')::timestamptz > now() then 'inactive' else 'active' end,
         about - 'email' || case when email is null then '{}' else jsonb_build_object('email', email) end,
         app - '{provider,providers,svc_role}'::text[], 'imported:' || nullif(u ->> 'encrypted_password', ''),
         coalesce((u ->> 'created_at')::timestamptz, now()), coalesce((u ->> 'updated_at')::timestamptz, now()));
     perform svc.supabase_set_address(person, email, (u ->> 'email_confirmed_at')::timestamptz);
   end $$`,
  `create function svc.supabase_user_written() returns trigger language plpgsql security definer
   set search_path = pg_catalog, pg_temp as $$
   declare
     person svc.identities;
     address svc.identity_addresses;
     app jsonb := case jsonb_typeof(new.raw_app_meta_data) when 'object' then new.raw_app_meta_data else '{}' end
       - '{provider,providers,svc_role}'::text[];
     about jsonb := case jsonb_typeof(new.raw_user_meta_data) when 'object' then new.raw_user_meta_data else '{}' end - 'email';
     hash text := nullif(new.encrypted_password, '');
     banned boolean := coalesce(new.banned_until > now(), false);
   begin
     if new.deleted_at is not null then return null; end if;
     select * into person from svc.identities i where i.id = new.id;
     if not found then
       perform svc.supabase_adopt(to_jsonb(new));
       return null;
     end if;
     select * into address from svc.identity_addresses a where a.identity_id = new.id order by verified_at nulls last, lookup limit 1;
     -- Only what this statement changes: the rest may be about to be written from the account.
     if tg_op = 'UPDATE' and new.raw_user_meta_data is not distinct from old.raw_user_meta_data then
       about := person.traits - 'email';
     end if;
     if tg_op = 'UPDATE' and new.raw_app_meta_data is not distinct from old.raw_app_meta_data then
       app := person.metadata_public - 'svc_role';
     end if;
     if (tg_op = 'INSERT' or new.email is distinct from old.email) and nullif(new.email, '') is distinct from address.value then
       perform svc.supabase_set_address(new.id, new.email, new.email_confirmed_at);
       about := about || case when nullif(new.email, '') is null then '{}' else jsonb_build_object('email', new.email) end;
     else
       if (tg_op = 'INSERT' or new.email_confirmed_at is distinct from old.email_confirmed_at)
         and (new.email_confirmed_at is null) <> (address.verified_at is null) then
         update svc.identity_addresses a set verified_at = new.email_confirmed_at where a.lookup = address.lookup;
       end if;
       about := about || case when person.traits ? 'email' then jsonb_build_object('email', person.traits -> 'email') else '{}' end;
     end if;
     app := app || case when person.metadata_public ? 'svc_role'
       then jsonb_build_object('svc_role', person.metadata_public -> 'svc_role') else '{}' end;
     if (about, app) is distinct from (person.traits, person.metadata_public) then
       update svc.identities i set traits = about, metadata_public = app, updated_at = now() where i.id = new.id;
     end if;
     if (tg_op = 'INSERT' or new.encrypted_password is distinct from old.encrypted_password)
       and hash is distinct from regexp_replace(person.password_hash, '^imported:', '') then
       update svc.identities i set password_hash = 'imported:' || hash, password_changed_at = now(), updated_at = now()
         where i.id = new.id;
     end if;
     if tg_op = 'UPDATE' and old.banned_until is not distinct from new.banned_until then return null; end if;
     if banned and person.state = 'active' then
       update svc.identities i set state = 'inactive', updated_at = now() where i.id = new.id;
       delete from svc.identity_sessions s where s.identity_id = new.id;
     elsif tg_op = 'UPDATE' and not banned and person.state = 'inactive' then
       update svc.identities i set state = 'active', updated_at = now() where i.id = new.id;
     end if;
     return null;
   end $$`,
  `create function svc.supabase_user_deleted() returns trigger language plpgsql security definer
   set search_path = pg_catalog, pg_temp as $$
   begin
     delete from svc.identities i where i.id = old.id;
     return null;
   end $$`,
  // A dump is restored without triggers; and accounts that were made before there were any are in no table of schema auth.
  `create function svc.supabase_fill(most int) returns int language plpgsql set search_path = pg_catalog, pg_temp as $$
   declare
     row record;
     done int := 0;
   begin
     for row in (select to_jsonb(u) as u, u.id from auth.users u left join svc.identities i on i.id = u.id
         where i.id is null and u.deleted_at is null limit most)
       union all (select null, i.id from svc.identities i left join auth.users u on u.id = i.id where u.id is null limit most) loop
       begin
         if row.u is null then perform svc.supabase_mirror(row.id); else perform svc.supabase_adopt(row.u); end if;
         set constraints all immediate;
         set constraints all deferred;
         done := done + 1;
       exception when others then
         ${reraise}
         raise warning 'svc: the account % is not taken over: %', row.id, sqlerrm;
       end;
     end loop;
     return done;
   end $$`
]

const atEnd = "deferrable initially deferred for each row"
const changed = "execute function svc.supabase_account_changed()"

const triggers = [
  `create constraint trigger svc_supabase_created after insert on svc.identities ${atEnd} ${changed}`,
  `create constraint trigger svc_supabase_updated after update on svc.identities ${atEnd}
     when ((old.state, old.traits, old.metadata_public, old.password_hash)
       is distinct from (new.state, new.traits, new.metadata_public, new.password_hash)) ${changed}`,
  `create constraint trigger svc_supabase_removed after delete on svc.identities ${atEnd}
     execute function svc.supabase_account_removed()`,
  `create constraint trigger svc_supabase_address after insert or update or delete on svc.identity_addresses ${atEnd} ${changed}`,
  `create constraint trigger svc_supabase_linked after insert on svc.identity_links ${atEnd} ${changed}`,
  `create constraint trigger svc_supabase_link_gone after delete on svc.identity_links ${atEnd} ${changed}`,
  `create trigger svc_supabase_unlinked after delete on svc.identity_links for each row
     execute function svc.supabase_unlinked()`,
  `create trigger svc_supabase_signed_in after insert on svc.identity_sessions for each row
     execute function svc.supabase_signed_in()`,
  `create trigger svc_user_written after insert or update on auth.users for each row
     execute function svc.supabase_user_written()`,
  `create trigger svc_user_deleted after delete on auth.users for each row execute function svc.supabase_user_deleted()`
]

const closed = [...writers, ...outward, ...inward].map(
  (text) => /function (\S+\()([^)]*)\)/.exec(text)!.slice(1) as [string, string]
)
const revoked = closed.map(
  ([name, parameters]) =>
    `revoke all on function ${name}${parameters
      .split(", ")
      .map((one) => one.split(" ").slice(1).join(" "))
      .join(", ")}) from public`
)

/**
 * Keeps the service's accounts and the tables of schema auth the same, in the transaction that changes either. If auth.users
 * is not as it is at Supabase, the service does without, and does not serve /auth/v1.
 */
export const users = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql
    .withTransaction(
      statements(
        // Names the columns that are written.
        `select instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, raw_app_meta_data, raw_user_meta_data,
           created_at, updated_at, banned_until, is_anonymous, deleted_at, last_sign_in_at, invited_at, confirmation_sent_at,
           recovery_sent_at, email_change, email_change_sent_at, reauthentication_sent_at from auth.users limit 0`,
        "select provider_id, user_id, provider, identity_data, last_sign_in_at, created_at, updated_at, id from auth.identities limit 0",
        ...writers,
        ...outward,
        ...inward,
        ...revoked,
        ...triggers
      )
    )
    .pipe(
      Effect.catchIf(
        (error) => sqlStateOf(error).startsWith("42"),
        (error) =>
          Effect.logWarning(
            `The tables of schema auth are not as expected (SQLSTATE ${sqlStateOf(error)}): accounts are not in them, and /auth/v1 is not served`
          )
      )
    )
})
