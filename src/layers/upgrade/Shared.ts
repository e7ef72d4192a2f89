import { Effect } from "effect"
import { quoteLiteral, quoteName } from "../../domain/sql/Names.ts"
import { settingText } from "../dumps/Globals.ts"
import { type Ask } from "./Servers.ts"

type Row = Readonly<Record<string, unknown>>

/** What all databases of a cluster share, and the databases themselves, in a form that can be compared. */
export interface SharedObjects {
  readonly roles: ReadonlyArray<Row>
  readonly memberships: ReadonlyArray<Row>
  readonly settings: ReadonlyArray<Row>
  readonly parameters: ReadonlyArray<Row>
  readonly databases: ReadonlyArray<Row>
}

/** All but PostgreSQL's predefined ones. */
const rolesSql = `
  select rolname::text as name, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls,
         rolconnlimit, rolpassword, rolvaliduntil::text as until, shobj_description(oid, 'pg_authid') as comment
  from pg_authid where oid >= 16384 or oid = 10 order by 1`

/** Memberships have options since PostgreSQL 16. */
const membershipsSql = (major: number) => `
  select g.rolname::text as of, m.rolname::text as member, b.rolname::text as by, a.admin_option as admin,
         ${major < 16 ? "null::bool as inherits, true as sets" : "a.inherit_option as inherits, a.set_option as sets"}
  from pg_auth_members a join pg_authid g on g.oid = a.roleid join pg_authid m on m.oid = a.member
  join pg_authid b on b.oid = a.grantor
  where a.roleid >= 16384 or a.member >= 16384 order by 1, 2, 3`

const settingsSql = `
  select r.rolname::text as role, d.datname::text as database, s.setconfig as settings
  from pg_db_role_setting s left join pg_database d on d.oid = s.setdatabase left join pg_authid r on r.oid = s.setrole
  order by 1 nulls first, 2 nulls first`

/** The grants of an access list. */
const aclJson = (acl: string) => `(select json_agg(json_build_object('grantee', coalesce(g.rolname::text, ''),
    'privilege', a.privilege_type, 'grantable', a.is_grantable) order by g.rolname nulls first, a.privilege_type)
  from aclexplode(${acl}) a left join pg_authid g on g.oid = a.grantee)`

const parametersSql = `select parname as name, ${aclJson("paracl")} as acl from pg_parameter_acl order by 1`

const databasesSql = (major: number) => `
  select d.datname::text as name, r.rolname::text as owner, pg_encoding_to_char(d.encoding) as encoding,
         d.datlocprovider::text as provider, d.datcollate::text as collate, d.datctype::text as ctype,
         d.${major < 17 ? "daticulocale" : "datlocale"}::text as locale, ${major < 16 ? "null::text" : "d.daticurules::text"} as rules,
         d.datconnlimit as connections, d.datallowconn as connectable, d.datistemplate as template,
         shobj_description(d.oid, 'pg_database') as comment, ${aclJson("d.datacl")} as acl
  from pg_database d join pg_authid r on r.oid = d.datdba where d.datconnlimit <> -2 order by 1`

/** Reads it, of a server of that major version. */
export const readShared = (ask: Ask, major: number) =>
  Effect.all({
    roles: ask(rolesSql),
    memberships: ask(membershipsSql(major)),
    settings: ask(settingsSql),
    parameters: ask(parametersSql),
    databases: ask(databasesSql(major))
  })

const literal = (value: unknown) => quoteLiteral(String(value))

const roleSql = (row: Row) => {
  const name = quoteName(String(row["name"]))
  const options = Object.entries({
    rolsuper: "superuser",
    rolinherit: "inherit",
    rolcreaterole: "createrole",
    rolcreatedb: "createdb",
    rolcanlogin: "login",
    rolreplication: "replication",
    rolbypassrls: "bypassrls"
  }).map(([column, option]) => (row[column] === true ? option : `no${option}`))
  const until = row["until"] === null ? [] : [`valid until ${literal(row["until"])}`]
  const password = row["rolpassword"] === null ? "null" : literal(row["rolpassword"])
  const change = row["name"] === "postgres" ? "alter" : "create"
  const all = [...options, `connection limit ${String(row["rolconnlimit"])}`, `password ${password}`, ...until]
  return [
    `${change} role ${name} ${all.join(" ")}`,
    ...(row["comment"] === null ? [] : [`comment on role ${name} is ${literal(row["comment"])}`])
  ]
}

const membershipSql = ({ admin, by, inherits, member, of, sets }: Row, bySuperuser: boolean) => {
  const options = [
    `admin ${String(admin)}`,
    ...(inherits === null ? [] : [`inherit ${String(inherits)}, set ${String(sets)}`])
  ]
  const from = bySuperuser ? "" : ` granted by ${quoteName(String(by))}`
  return `grant ${quoteName(String(of))} to ${quoteName(String(member))} with ${options.join(", ")}${from}`
}

/** In an order in which each grantor has the membership that it grants. */
const membershipsInOrder = (rows: ReadonlyArray<Row>) => {
  const able = new Set<string>()
  const key = (role: unknown, of: unknown) => JSON.stringify([role, of])
  const done: Array<string> = []
  let left = rows
  while (left.length > 0) {
    const next = left.filter(({ by, of }) => by === "postgres" || able.has(key(by, of)))
    // A grantor that has lost it since, as before PostgreSQL 16.
    const granted = next.length > 0 ? next : left
    for (const row of granted) {
      if (row["admin"] === true) able.add(key(row["member"], row["of"]))
      done.push(membershipSql(row, row["by"] === "postgres" || next.length === 0))
    }
    left = left.filter((row) => !granted.includes(row))
  }
  return done
}

interface Grant {
  readonly grantee: string
  readonly privilege: string
  readonly grantable: boolean
}

const grantsSql = (on: string, grants: ReadonlyArray<Grant>) =>
  grants.map(
    ({ grantable, grantee, privilege }) =>
      `grant ${privilege} on ${on} to ${grantee === "" ? "public" : quoteName(grantee)}${grantable ? " with grant option" : ""}`
  )

/** Statements that create roles, with their passwords, memberships and own settings. */
export const rolesScript = ({ memberships, parameters, roles, settings }: SharedObjects) => [
  ...roles.flatMap(roleSql),
  ...membershipsInOrder(memberships),
  ...settings
    .filter(({ database }) => database === null)
    .flatMap(({ role, settings }) =>
      (settings as ReadonlyArray<string>).map(
        (setting) => `alter role ${role === null ? "all" : quoteName(String(role))} set ${settingText(setting)}`
      )
    ),
  ...parameters.flatMap(({ acl, name }) =>
    grantsSql(`parameter ${String(name)}`, acl as ReadonlyArray<Grant>).filter(
      (text) => !text.endsWith('to "postgres"')
    )
  )
]

/** The options with which initdb and CREATE DATABASE make the same locale. */
export const localeOf = (row: Row) => {
  const provider = { b: "builtin", i: "icu", c: "libc" }[String(row["provider"])] ?? "libc"
  const locale = row["locale"] === null ? undefined : String(row["locale"])
  return {
    provider,
    locale,
    rules: row["rules"],
    collate: String(row["collate"]),
    ctype: String(row["ctype"]),
    encoding: String(row["encoding"])
  }
}

export const createDatabaseSql = (row: Row) => {
  const { collate, ctype, encoding, locale, provider, rules } = localeOf(row)
  return [
    `create database ${quoteName(String(row["name"]))} template template0 owner ${quoteName(String(row["owner"]))}`,
    `encoding ${literal(encoding)} locale_provider ${provider} lc_collate ${literal(collate)} lc_ctype ${literal(ctype)}`,
    ...(locale === undefined ? [] : [`${provider}_locale ${literal(locale)}`]),
    ...(rules === null ? [] : [`icu_rules ${literal(rules)}`])
  ].join(" ")
}

/** Statements that give a database its rights and settings, when it is filled. */
export const databaseScript = ({ settings }: SharedObjects, row: Row) => {
  const name = quoteName(String(row["name"]))
  const acl = row["acl"] as ReadonlyArray<Grant> | null
  return [
    ...(acl === null
      ? []
      : [
          `revoke all on database ${name} from public, ${quoteName(String(row["owner"]))}`,
          ...grantsSql(`database ${name}`, acl)
        ]),
    ...(row["comment"] === null ? [] : [`comment on database ${name} is ${literal(row["comment"])}`]),
    ...settings
      .filter(({ database }) => database === row["name"])
      .flatMap(({ role, settings }) =>
        (settings as ReadonlyArray<string>).map((setting) =>
          role === null
            ? `alter database ${name} set ${settingText(setting)}`
            : `alter role ${quoteName(String(role))} in database ${name} set ${settingText(setting)}`
        )
      ),
    `alter database ${name} with is_template ${String(row["template"])} connection limit ${String(row["connections"])}`
  ]
}
