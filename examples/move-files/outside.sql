-- Prints the statements of what a dump of the schema public does not contain: tables of the publication for changes, triggers
-- on auth.users, and policies on files and messages.
select format('alter publication supabase_realtime add table %I.%I;', schemaname, tablename)
from pg_publication_tables
where pubname = 'supabase_realtime' and schemaname = 'public';

select pg_get_triggerdef(oid) || ';'
from pg_trigger
where tgrelid = 'auth.users'::regclass and not tgisinternal and tgfoid in (select oid from pg_proc where pronamespace = 'public'::regnamespace);

select format('create policy %I on %I.%I as %s for %s to %s%s%s;', policyname, schemaname, tablename, permissive, cmd,
  (select string_agg(quote_ident(role), ', ') from unnest(roles) role),
  ' using (' || qual || ')', ' with check (' || with_check || ')')
from pg_policies
where schemaname in ('storage', 'realtime');
