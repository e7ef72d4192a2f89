import { statements } from "./statements.ts"

/**
 * The OAuth 2.0 server's data of a person is deleted together with the identity, whichever statement deletes it:
 * `oauth2_subjects` has a row for each identity that has signed in to a client. Items are deleted first: a consent is
 * stored only while its grant exists and is locked (services/oauth2/server/Challenges.ts).
 */
export const oauth2Subjects = statements(
  `alter table svc.oauth2_challenges add column subject text`,
  `create index on svc.oauth2_challenges (subject) where subject is not null`,
  `alter table svc.oauth2_answers add column subject text`,
  `create index on svc.oauth2_answers (subject) where subject is not null`,
  `create index on svc.oauth2_logouts (subject)`,
  `create table svc.oauth2_subjects (
     identity_id uuid primary key references svc.identities on delete cascade
   )`,
  `create function svc.delete_oauth2_subject() returns trigger language plpgsql security definer
   set search_path = pg_catalog, pg_temp as $$
   declare
     gone text := old.identity_id::text;
   begin
     delete from svc.oauth2_items where account_id = gone;
     delete from svc.oauth2_consents where subject = gone;
     delete from svc.oauth2_answers where subject = gone;
     delete from svc.oauth2_logouts where subject = gone;
     delete from svc.oauth2_requests where challenge_hash in (
       select id from svc.oauth2_challenges where subject = gone);
     delete from svc.oauth2_challenges where subject = gone;
     return null;
   end $$`,
  `create trigger delete_oauth2_subject after delete on svc.oauth2_subjects
     for each row execute function svc.delete_oauth2_subject()`,
  `insert into svc.oauth2_subjects (identity_id)
   select id from svc.identities i
   where exists (select from svc.oauth2_consents where subject = i.id::text)
      or exists (select from svc.oauth2_items where account_id = i.id::text)
      or exists (select from svc.oauth2_logouts where subject = i.id::text)`
)
