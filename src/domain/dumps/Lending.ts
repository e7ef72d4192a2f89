import { quoteName } from "../sql/Names.ts"

/** Lists `privilege` and `object` for each object of an extension that a dump fills or uses, but does not own. */
const loans = `
  select 'usage' as privilege, format('foreign data wrapper %I', w.fdwname) as object
  from pg_foreign_data_wrapper w join pg_depend d on d.classid = 'pg_foreign_data_wrapper'::regclass and d.objid = w.oid
  where d.deptype = 'e'
  union all
  select 'all', format('table %s', c.oid::regclass) from pg_extension e, unnest(e.extconfig) c (oid)`

const each = (statement: string) => `do $do$
declare
  loan record;
begin
  for loan in ${loans} loop
    execute format('${statement}', loan.privilege, loan.object);
  end loop;
exception when insufficient_privilege then null;
end $do$`

/**
 * Lets a role fill the extensions' own tables that pg_dump dumps (their configuration), and create servers of their
 * foreign data wrappers.
 */
export const lendSql = (role: string) => each(`grant %s on %s to ${quoteName(role)}`)

/** Takes that back. */
export const returnSql = (role: string) => each(`revoke %s on %s from ${quoteName(role)}`)
