import { Effect } from "effect"
import { quoteLiteral, quoteName } from "../../domain/sql/Names.ts"
import { type Login } from "../postgres/Login.ts"
import { outageOrDie, connectDirectly, type DirectConnection } from "../postgres/client/DirectConnection.ts"

/** The server's own roles, which the script does not create. */
const predefined = "'^pg_'"
/** Roles whose memberships and rights it leaves out in addition: the service's login gets them from the service itself. */
const foreign = "'^(pg_|svc_authenticator(_[0-9]+)?$)'"

/**
 * Roles on which an object of the database depends, those with settings in it, its owner, and the bootstrap superuser,
 * whose objects are not recorded in pg_shdepend; and all roles of which these are members.
 */
const neededSql = `
  with recursive here as (
    select oid, datdba from pg_database where datname = current_database()
  ), needed (oid) as (
    select s.refobjid from pg_shdepend s, here where s.refclassid = 'pg_authid'::regclass
      and (s.dbid = here.oid or (s.classid = 'pg_database'::regclass and s.objid = here.oid))
    union select datdba from here
    union select 10::oid
    union select setrole from pg_db_role_setting s, here where setdatabase = here.oid and setrole <> 0
    union select m.roleid from pg_auth_members m join needed n on n.oid = m.member
  )`

const rolesSql = `${neededSql}
  select r.rolname::text as name, r.rolinherit as inherits, r.rolbypassrls and not r.rolsuper as bypasses,
         coalesce(s.setconfig, '{}') as settings
  from needed join pg_roles r using (oid) left join pg_db_role_setting s on s.setdatabase = 0 and s.setrole = r.oid
  where r.rolname !~ ${predefined} order by 1`

/** Memberships have options since PostgreSQL 16. */
const membershipsSql = (version: number) => `${neededSql}
  select g.rolname::text as of, m.rolname::text as member, bool_or(a.admin_option) as admin,
         ${version < 160_000 ? "null::bool as inherits, null::bool as sets" : "bool_or(a.inherit_option) as inherits, bool_or(a.set_option) as sets"}
  from pg_auth_members a join needed n on n.oid = a.member
  join pg_roles g on g.oid = a.roleid join pg_roles m on m.oid = a.member
  where m.rolname !~ ${foreign} group by 1, 2 order by 1, 2`

const databaseSql = `
  select pg_encoding_to_char(encoding) as encoding, datcollate as collate, datctype as ctype, datacl is not null as has_acl
  from pg_database where datname = current_database()`

const aclSql = `
  select lower(a.privilege_type) as privilege, r.rolname::text as role, a.is_grantable as grantable
  from pg_database d, aclexplode(d.datacl) a left join pg_roles r on r.oid = a.grantee
  where d.datname = current_database() and (a.grantee = 0 or r.rolname !~ ${foreign}) order by 2 nulls first, 1`

const settingsSql = `
  select r.rolname::text as role, s.setconfig as settings
  from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase left join pg_roles r on r.oid = s.setrole
  where d.datname = current_database() and (s.setrole = 0 or r.rolname !~ ${foreign}) order by 1 nulls first`

/** Settings that are lists of names, which need quotes one by one. */
const lists = /^(search_path|temp_tablespaces|unix_socket_directories|\w+_preload_libraries)$/

/** The names of such a list. Its author may have fewer rights than the user who runs the script. */
export const roleNamesOf = (list: string) =>
  [...list.matchAll(/\s*(?:"((?:[^"]|"")*)"|([^,]*?))\s*(?:,|$)/g)]
    .slice(0, -1) // the empty match at the end
    .map(([, quoted, bare]) => quoted?.replaceAll('""', '"') ?? bare ?? "")

/** Converts `name=value` of pg_db_role_setting to the arguments of SET. */
export const settingText = (setting: string) => {
  const at = setting.indexOf("=")
  const name = setting.slice(0, at)
  const value = setting.slice(at + 1)
  const values =
    lists.test(name) && value !== "" ? roleNamesOf(value).map(quoteLiteral).join(", ") : quoteLiteral(value)
  return `${quoteName(name)} to ${values}`
}

/** A DO block, quoted so that its content can't end it. */
const block = (lines: ReadonlyArray<string>) => {
  const text = lines.map((line) => `  ${line}\n`).join("")
  let tag = "$do$"
  for (let n = 0; text.includes(tag); n++) tag = `$do${n}$`
  return `do ${tag}\nbegin\n${text}end ${tag};\n`
}

/** A statement about the database in which the script runs, whatever its name. */
const onDatabase = (before: string, after: string) =>
  `execute pg_catalog.format('%s %I %s', ${quoteLiteral(before)}, pg_catalog.current_database(), ${quoteLiteral(after)});`

const roleBlock = (row: Readonly<Record<string, unknown>>) => {
  const name = String(row["name"])
  const can = `nologin${row["inherits"] === true ? "" : " noinherit"}${row["bypasses"] === true ? " bypassrls" : ""}`
  return block([
    `if not exists (select from pg_catalog.pg_roles where rolname = ${quoteLiteral(name)}) then`,
    `  create role ${quoteName(name)} ${can};`,
    ...(row["settings"] as ReadonlyArray<string>).map(
      (setting) => `  alter role ${quoteName(name)} set ${settingText(setting)};`
    ),
    "end if;"
  ])
}

const membership = ({ admin, inherits, member, of, sets }: Readonly<Record<string, unknown>>) => {
  const options =
    inherits === null
      ? admin === true
        ? " with admin option"
        : ""
      : ` with admin ${String(admin)}, inherit ${String(inherits)}, set ${String(sets)}`
  return `grant ${quoteName(String(of))} to ${quoteName(String(member))}${options};\n`
}

const write = Effect.fnUntraced(function* (side: DirectConnection) {
  const [about] = yield* side.query("select current_setting('server_version_num')::int as number, version() as text")
  const [database] = yield* side.query(databaseSql)
  const roles = yield* side.query(rolesSql)
  const memberships = yield* side.query(membershipsSql(Number(about?.["number"])))
  const granted = yield* side.query(aclSql)
  const settings = yield* side.query(settingsSql)

  const rights = granted.map(({ grantable, privilege, role }) =>
    onDatabase(
      `grant ${String(privilege)} on database`,
      `to ${role === null ? "public" : quoteName(String(role))}${grantable === true ? " with grant option" : ""}`
    )
  )
  const set = settings.flatMap(({ role, settings }) =>
    (settings as ReadonlyArray<string>).map((setting) =>
      role === null
        ? onDatabase("alter database", `set ${settingText(setting)}`)
        : onDatabase(`alter role ${quoteName(String(role))} in database`, `set ${settingText(setting)}`)
    )
  )
  const closing = database?.["has_acl"] === true ? [onDatabase("revoke all on database", "from public")] : []
  const about2 = [
    about?.["text"],
    `encoding ${database?.["encoding"]}, collate ${database?.["collate"]}, ctype ${database?.["ctype"]}`
  ]
  return [
    ...about2.map((line) => `-- ${String(line).replaceAll(/\s+/g, " ")}\n`),
    "-- Run this as a superuser in the new database, before the backup is restored into it. It can be run again.\n",
    "-- Missing roles are created without passwords, and can't log in.\n\n",
    "set standard_conforming_strings = on;\n\n",
    ...roles.map(roleBlock),
    "\n",
    ...memberships.map(membership),
    "\n",
    ...(closing.length + rights.length + set.length === 0 ? [] : [block([...closing, ...rights, ...set])])
  ].join("")
})

/** The script that creates what a dump of a database refers to but does not contain. */
export const globalsScript = (login: Login) => (database: string) =>
  connectDirectly({ ...login, database }).pipe(
    Effect.flatMap(write),
    Effect.scoped,
    Effect.catchTag("QueryFailed", outageOrDie)
  )
