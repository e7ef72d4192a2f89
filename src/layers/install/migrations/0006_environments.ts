import { statements } from "./statements.ts"

/**
 * Deferred to the end of the transaction, within which one environment may stop being the default before another becomes
 * it. The index prevents a second default, the check constraint a deleted one.
 */
const keepDefault = `create function svc.keep_default_environment() returns trigger language plpgsql
   set search_path = pg_catalog, pg_temp
   as $$
   declare
     project text;
   begin
     foreach project in array array[case when tg_op <> 'INSERT' then old.project_id end,
                                    case when tg_op <> 'DELETE' then new.project_id end] loop
       if exists (select from svc.environments where project_id = project and deleted_at is null)
          and not exists (select from svc.environments where project_id = project and is_default) then
         raise exception using errcode = 'integrity_constraint_violation', constraint = 'environments_keep_default',
           message = 'project "' || project || '" has environments, but none of them is the default';
       end if;
     end loop;
     return null;
   end $$`

/**
 * Environments. A schema can be made in one transaction with its record, a bucket can't: before one is created, its
 * name is recorded in `svc.environment_drafts`, by a transaction of its own; the one that records the environment
 * deletes that draft. A draft that is left is of an attempt that failed or was interrupted, whose bucket belongs to no
 * environment.
 */
export const environments = statements(
  `create table svc.environments (
     id integer generated always as identity primary key,
     project_id text not null,
     name text not null check (char_length(name) between 1 and 100),
     slug text not null,
     is_default boolean not null default false,
     schema_name text not null,
     bucket_name text not null,
     config jsonb not null default '{}' check (jsonb_typeof(config) = 'object'),
     created_at timestamptz not null default now(),
     updated_at timestamptz not null default now(),
     deleted_at timestamptz,
     constraint environments_default_is_there check (not (is_default and deleted_at is not null)),
     constraint environments_config_size check (octet_length(config::text) <= 65536)
   )`,
  `create unique index environments_one_default on svc.environments (project_id) where is_default`,
  `create unique index environments_slug on svc.environments (project_id, slug) where deleted_at is null`,
  `create unique index environments_schema on svc.environments (schema_name) where deleted_at is null`,
  `create unique index environments_bucket on svc.environments (bucket_name) where deleted_at is null`,
  keepDefault,
  `create constraint trigger environments_keep_default after insert or update or delete on svc.environments
     deferrable initially deferred for each row execute function svc.keep_default_environment()`,
  `create table svc.environment_drafts (
     bucket_name text primary key,
     token uuid not null default gen_random_uuid(),
     created_at timestamptz not null default now()
   )`
)
