import { wakeUpLock } from "../../../domain/sql/AdvisoryLocks.ts"
import { statements } from "./statements.ts"

/**
 * Writes what happens to accounts to the outbox of the webhooks, in the same transaction. The payload has what the API
 * shows of an identity, and nothing of its password and factors.
 *
 * Changes are reported at the end of their transaction, once for each account: creating one is several statements. Like
 * svc.enqueue_webhooks(), a failure is a warning, and NOTIFY is sent only while a sleeping worker requests it.
 */
const enqueue = `create function svc.enqueue_identity_event() returns trigger language plpgsql security definer
   set search_path = pg_catalog, pg_temp set timezone = 'UTC'
   as $$
   declare
     subject uuid;
     event text;
     seen text;
     person json;
     former json;
     session text := '';
   begin
     if tg_table_name = 'identities' and tg_op = 'DELETE' then
       event := 'identity.deleted';
       subject := old.id;
       former := json_build_object('id', old.id, 'state', old.state, 'schema_id', old.schema_id,
         'traits', old.traits, 'metadata_public', old.metadata_public);
     elsif tg_table_name = 'identities' then
       event := case tg_op when 'INSERT' then 'identity.created' else 'identity.updated' end;
       subject := new.id;
     elsif tg_table_name = 'identity_addresses' then
       event := 'identity.updated';
       if tg_op = 'DELETE' then subject := old.identity_id; else subject := new.identity_id; end if;
     else
       event := 'identity.signed_in';
       subject := new.identity_id;
       -- With a second factor, the sign-in is complete when that was used.
       if new.aal = 'aal1' and (
         exists (select from svc.identities i where i.id = subject and i.totp_secret is not null)
         or exists (select from svc.identity_keys k where k.identity_id = subject and not k.passkey)
         or exists (select from svc.identity_recovery_codes c where c.identity_id = subject)) then
         return null;
       end if;
       session := ',"session":' || json_build_object('id', new.id, 'aal', new.aal, 'methods', new.methods,
         'ip', new.ip, 'user_agent', new.user_agent);
     end if;
     if event in ('identity.created', 'identity.updated') then
       seen := coalesce(current_setting('svc.identity_events', true), '');
       if position(subject::text in seen) > 0 then return null; end if;
       perform set_config('svc.identity_events', seen || ' ' || subject, true);
     end if;
     if not exists (select from svc.webhooks w where w.table_schema = 'svc' and w.table_name = 'identities'
       and w.active and event = any (w.events)) then
       return null;
     end if;
     if former is null then
       select json_build_object('id', i.id, 'state', i.state, 'schema_id', i.schema_id, 'traits', i.traits,
           'metadata_public', i.metadata_public,
           'addresses', coalesce((select json_agg(json_build_object('value', a.value, 'verified', a.verified_at is not null)
             order by a.lookup) from svc.identity_addresses a where a.identity_id = i.id), '[]'),
           'created_at', to_char(i.created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
           'updated_at', to_char(i.updated_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
         into person from svc.identities i where i.id = subject;
       -- Its addresses are deleted with it, which is no change of their own.
       if person is null then return null; end if;
     end if;
     insert into svc.webhook_messages (webhook_id, event_type, payload)
       select w.id, event, '{"event":"' || event || '","schema":"svc","table":"identities","row":'
         || coalesce(person::text, 'null') || ',"old_row":' || coalesce(former::text, 'null') || session
         || ',"timestamp":"' || to_char(clock_timestamp(), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"}'
       from svc.webhooks w
       where w.table_schema = 'svc' and w.table_name = 'identities' and w.active and event = any (w.events);
     if found and not pg_try_advisory_xact_lock_shared(${wakeUpLock}) then
       perform pg_notify('svc_webhooks', '');
     end if;
     return null;
   exception when others or assert_failure then
     raise warning 'svc: a webhook misses %: % (%)', event, sqlerrm, sqlstate;
     return null;
   end $$`

const run = "for each row execute function svc.enqueue_identity_event()"
const atEnd = "deferrable initially deferred for each row"

/** Webhooks of accounts: their table is svc.identities, whose rows they do not get. */
export const identityEvents = statements(
  "alter table svc.webhooks drop constraint webhooks_events_check",
  `alter table svc.webhooks add constraint webhooks_events_check check (events <> '{}' and (
     events <@ '{INSERT,UPDATE,DELETE}'::text[]
     or table_schema = 'svc' and table_name = 'identities'
       and events <@ '{identity.created,identity.updated,identity.deleted,identity.signed_in}'::text[]))`,
  enqueue,
  "revoke all on function svc.enqueue_identity_event() from public",
  `create constraint trigger svc_identity_created after insert on svc.identities ${atEnd}
     execute function svc.enqueue_identity_event()`,
  `create constraint trigger svc_identity_updated after update on svc.identities ${atEnd}
     when (old.state is distinct from new.state or old.traits is distinct from new.traits
       or old.metadata_public is distinct from new.metadata_public)
     execute function svc.enqueue_identity_event()`,
  `create trigger svc_identity_deleted after delete on svc.identities ${run}`,
  `create constraint trigger svc_identity_address after insert or delete on svc.identity_addresses ${atEnd}
     execute function svc.enqueue_identity_event()`,
  `create constraint trigger svc_identity_address_changed after update on svc.identity_addresses ${atEnd}
     when ((old.value, old.verified_at) is distinct from (new.value, new.verified_at))
     execute function svc.enqueue_identity_event()`,
  `create trigger svc_identity_signed_in after insert on svc.identity_sessions ${run}`,
  // A factor that is added to a session also makes it aal2, but is no sign-in.
  `create trigger svc_identity_completed after update on svc.identity_sessions for each row
     when (old.aal = 'aal1' and new.aal = 'aal2' and old.authenticated_at <> new.authenticated_at)
     execute function svc.enqueue_identity_event()`
)
