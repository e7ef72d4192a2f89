import { quoteName } from "../sql/Names.ts"

/** A name as pg_dump writes it, and a string literal under standard_conforming_strings. */
const name = '(?:"(?:[^"\\0]|"")+"|[a-z_][a-z0-9_]*)'
const literal = "'(?:[^'\\0]|'')*'"

/** Matches a whole statement; a space stands for any white space. */
const pattern = (text: string) =>
  new RegExp(`^${text.replaceAll("<name>", name).replaceAll("<text>", literal).replaceAll(" ", "\\s+")}$`)

const extension = pattern(`CREATE EXTENSION IF NOT EXISTS (<name>) WITH SCHEMA <name>`)
const extensionComment = pattern("COMMENT ON EXTENSION <name> IS (?:<text>|NULL)")
const defaultRights = pattern(
  "ALTER DEFAULT PRIVILEGES FOR ROLE <name>(?: IN SCHEMA <name>)? (?:GRANT|REVOKE)(?: GRANT OPTION FOR)? [A-Z, ]+ ON (?:TABLES|SEQUENCES|FUNCTIONS|ROUTINES|TYPES|SCHEMAS|LARGE OBJECTS) (?:TO|FROM) (?:PUBLIC|<name>)(?: WITH GRANT OPTION)?"
)
const publication = [
  pattern("CREATE PUBLICATION <name> FOR ALL TABLES(?:, ALL SEQUENCES)?(?: WITH \\([a-z0-9_=', ]*\\))?"),
  pattern("ALTER PUBLICATION <name> ADD TABLES IN SCHEMA <name>")
]
// `login` is excluded, because the service itself connects.
const eventTrigger = [
  pattern(
    "CREATE EVENT TRIGGER <name> ON (?:ddl_command_start|ddl_command_end|sql_drop|table_rewrite)(?: WHEN TAG IN \\(<text>(?:, <text>)*\\))? EXECUTE FUNCTION <name>\\.<name>\\(\\)"
  ),
  pattern("ALTER EVENT TRIGGER <name> (?:DISABLE|ENABLE(?: REPLICA| ALWAYS)?)"),
  pattern("COMMENT ON EVENT TRIGGER <name> IS (?:<text>|NULL)")
]
// pg_dump writes schemas and collations before extensions.
const harmlessBefore = [
  pattern("CREATE SCHEMA <name>"),
  pattern("CREATE COLLATION <name>\\.<name> \\([a-z_]+ = (?:[a-z]+|<text>)(?:, [a-z_]+ = (?:[a-z]+|<text>))*\\)"),
  pattern("COMMENT ON (?:SCHEMA <name>|COLLATION <name>\\.<name>) IS (?:<text>|NULL)")
]

/** Longest of these statements in bytes. */
export const maxPrivileged = 64 * 1024

/** A statement that the service's login runs for the role that a dump is restored as. */
export type Privileged =
  /** Creates an extension, if its name is among those that are allowed. */
  | { readonly kind: "extension"; readonly name: string }
  | { readonly kind: "now" }
  /** Runs at the end of the restore: event triggers must not fire for what the dump creates. */
  | { readonly kind: "event trigger" }

/**
 * Statements of pg_dump that only a superuser, or the owner of what a superuser has created, may run. None of them runs
 * code of the dump, whatever its names and texts are. Undefined for all others.
 *
 * @param text as Latin-1
 */
export const privileged = (text: string): Privileged | undefined => {
  const created = extension.exec(text)?.[1]
  if (created !== undefined) return { kind: "extension", name: unquoted(created) }
  if (eventTrigger.some((one) => one.test(text))) return { kind: "event trigger" }
  return [extensionComment, defaultRights, ...publication].some((one) => one.test(text)) ? { kind: "now" } : undefined
}

const unquoted = (text: string) => {
  const plain = text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text
  return Buffer.from(plain, "latin1").toString("utf8")
}

/**
 * Whether a statement leaves nothing behind that the script of an extension could run by mistake: extensions that a
 * superuser creates come before everything else.
 *
 * @param text as Latin-1
 */
export const precedesExtensions = (text: string): boolean =>
  harmlessBefore.some((one) => one.test(text)) ||
  extension.test(text) ||
  extensionComment.test(text) ||
  /^SET [a-z_]+ = [^;]*$/.test(text) ||
  /^SELECT pg_catalog\.set_config\('[a-z_]+', '[^']*', (?:true|false)\)$/.test(text)

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
