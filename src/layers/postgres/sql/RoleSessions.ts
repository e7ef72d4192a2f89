import { randomBytes } from "node:crypto"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { scheduleLoginLock } from "../../../domain/sql/AdvisoryLocks.ts"
import { quoteLiteral, quoteName } from "../../../domain/sql/Names.ts"
import { onOwnTables, sqlStateOf } from "../../../services/OwnTables.ts"
import { Db } from "../../../services/ports/Db.ts"
import { RoleSessions, RoleUnusable, type StoredRole } from "../../../services/ports/schedules/RoleSessions.ts"
import { PostgresAddress } from "../Address.ts"
import { DbSettings } from "../Db.ts"
import { type Login } from "../Login.ts"
import { MainSessions } from "../MainSessions.ts"
import { makeSqlSessions } from "./Sessions.ts"
import { supabaseSearchPath } from "../../install/supabase/0012_search_path.ts"

interface State {
  /** The name that the role has today; null: it was dropped. */
  readonly name: string | null
  readonly database: string
  /** Whether the login is a member of the role, and of no other. */
  readonly member: boolean
  readonly connects: boolean
  readonly exists: boolean
  /** Whether a session of it has changed settings of its own login. */
  readonly changed: boolean
  readonly password: string | null
}

const stateSql = `
  select r.rolname::text as name, current_database()::text as database,
    coalesce((select array_agg(distinct m.roleid::text) = array[$1] from pg_auth_members m where m.member = l.oid), false) as member,
    coalesce(has_database_privilege(l.oid, current_database(), 'connect'), false) as connects,
    l.oid is not null as exists,
    exists (select from pg_db_role_setting s where s.setrole = l.oid) as changed,
    (select value from svc.settings where name = $2) as password
  from (select) one left join pg_roles r on r.oid = $1::text::oid left join pg_roles l on l.rolname = $2`

/** Connections of roles, each by a login that is made for the role, and is a member of it alone. */
export const layerRoleSessions = Layer.effect(
  RoleSessions,
  Effect.gen(function* () {
    yield* Db // makes sure that the schema is installed
    const sql = yield* SqlClient.SqlClient
    const address = yield* PostgresAddress
    const sessions = yield* MainSessions
    const { serviceRole, supabase } = yield* DbSettings

    /** Roles are of all databases of a server, and another one of them may be of a service too. */
    const [{ database } = { database: "" }] = yield* Effect.orDie(
      sql<{ database: string }>`select oid::text as database from pg_database where datname = current_database()`
    )

    const stateOf = (oid: string, login: string) =>
      Effect.flatMap(sql.unsafe<State & object>(stateSql, [oid, login]), ([state]) =>
        state === undefined
          ? Effect.die(new Error("A query without a condition returned no row"))
          : Effect.succeed(state)
      )

    /** Makes the login, or repairs it: a session may change the password and the settings of its own. */
    const makeLogin = (name: string, login: string, state: State, password: string) =>
      Effect.gen(function* () {
        const verb = state.exists ? "alter" : "create"
        const quoted = quoteName(login)
        yield* sql.unsafe(`${verb} role ${quoted} login noinherit password ${quoteLiteral(password)}`)
        if (state.exists) yield* sql.unsafe(`alter role ${quoted} reset all`)
        if (state.exists) yield* sql.unsafe(`alter role ${quoted} in database ${quoteName(state.database)} reset all`)
        const others = yield* sql.unsafe<{ readonly name: string }>(
          "select r.rolname::text as name from pg_auth_members m join pg_roles r on r.oid = m.roleid where m.member = $1::text::regrole",
          [quoted]
        )
        for (const other of others)
          if (other.name !== name) yield* sql.unsafe(`revoke ${quoteName(other.name)} from ${quoted}`)
        yield* sql.unsafe(`grant ${quoteName(name)} to ${quoted}`)
        if (!state.connects) {
          yield* sql.unsafe(`grant connect on database ${quoteName(state.database)} to ${quoted}`)
        }
        yield* sql.unsafe(
          "insert into svc.settings (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value",
          [login, password]
        )
      })

    const ready = ({ exists, changed, connects, member, password }: State) =>
      exists && connects && member && !changed && password !== null

    /** The login of a role, with the role's name of today. */
    const loginOf = Effect.fnUntraced(function* ({ name: stored, oid }: StoredRole, again: boolean) {
      const login = `svc_job_${database}_${oid}`
      const known = yield* stateOf(oid, login)
      const name = known.name
      if (name === null) return yield* new RoleUnusable({ reason: `The role "${stored}" was dropped` })
      if (name === serviceRole) return { name, login: address }
      if (ready(known) && !again) {
        return { name, login: { ...address, user: login, password: Redacted.make(known.password ?? "") } }
      }
      const made = sql.withTransaction(
        Effect.gen(function* () {
          yield* sql.unsafe(`select pg_advisory_xact_lock(${scheduleLoginLock})`)
          const state = yield* stateOf(oid, login)
          const password = state.password ?? randomBytes(24).toString("base64url")
          if (!ready(state) || again) yield* makeLogin(name, login, state, password)
          return password
        })
      )
      const password = yield* Effect.catchIf(
        made,
        (error) => sqlStateOf(error) === "42501",
        () =>
          new RoleUnusable({
            reason: `The service's login may not make a login for "${name}": as an administrator, give it CREATEROLE, and ADMIN on the role "${name}"`
          })
      )
      return { name, login: { ...address, user: login, password: Redacted.make(password) } }
    })

    const connect = Effect.fnUntraced(function* (name: string, login: Login, timeout: number) {
      const open = yield* makeSqlSessions(login, {
        role: name,
        poolSize: 1,
        sqlTimeout: timeout,
        searchPath: supabase ? supabaseSearchPath : undefined,
        settings: { "request.jwt.claims": JSON.stringify({ role: name }), application_name: "svc schedule" }
      })
      yield* sessions.add(open)
      const session = yield* open({ role: "service_role", claims: "", sub: "" })
      const { rows } = yield* session.query(
        "select pid::text, backend_start::text from pg_catalog.pg_stat_activity where pid = pg_catalog.pg_backend_pid()",
        [],
        1
      )
      const [pid, start] = rows[0] ?? []
      return { ...session, pid: Number(pid), start: String(start) }
    })

    const open = Effect.fnUntraced(function* (role: StoredRole, timeout: number) {
      const { login, name } = yield* onOwnTables(loginOf(role, false))
      if (login === address) return yield* connect(name, login, timeout)
      return yield* Effect.catchTag(connect(name, login, timeout), "Unavailable", () =>
        // Its password may have been changed.
        Effect.flatMap(onOwnTables(loginOf(role, true)), (repaired) => connect(repaired.name, repaired.login, timeout))
      )
    })

    return RoleSessions.of({ open })
  })
).pipe(Layer.provide([MainSessions.layer, DbSettings.layer]))
