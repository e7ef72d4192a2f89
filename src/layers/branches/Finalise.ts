import { Effect } from "effect"
import { type BranchNames } from "../../domain/branches/Branch.ts"
import {
  bypassSql,
  defaultRightsSql,
  openRoleSql,
  reownSql,
  rolesSql,
  settingsSql,
  strippingSql
} from "../../domain/branches/BranchSql.ts"
import { ddlRightsSql, ddlSql, ddlTriggersSql } from "../../domain/catalogue/DdlSql.ts"
import { resetSessionSql } from "../../domain/sql/ResetSession.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { signalsSql } from "../../domain/sql/Signals.ts"
import { type BranchPasswords } from "../../services/ports/BranchDatabases.ts"
import { copyFailure } from "./Source.ts"
import { type Login } from "../postgres/Login.ts"
import {
  outageOrDie,
  connectDirectly,
  type QueryFailed,
  type DirectConnection
} from "../postgres/client/DirectConnection.ts"

const all = (on: DirectConnection, texts: ReadonlyArray<string>) =>
  Effect.forEach(texts, (text) => on.query(text), { discard: true })

/** Reports a missing right of the service's login to the caller; everything else is an outage or a defect. */
export const explained = (error: QueryFailed) => {
  const failure = error.code === "42501" ? copyFailure(error) : undefined
  return failure === undefined ? outageOrDie(error) : Effect.fail(failure)
}

/** Creates the branch's roles, if a restore did not need them before. */
const createRoles = Effect.fnUntraced(function* (branch: DirectConnection, names: BranchNames, own: string) {
  const [me] = yield* branch.query(
    `select current_user::text as name, rolsuper as super, to_regrole('${names.role}') is not null as done
     from pg_roles where rolname = current_user`
  )
  if (me?.["done"] === true) return
  yield* all(branch, rolesSql(names, own))
  if (me?.["super"] === true) return
  // The creator of a role may manage it, but needs membership to act as it, or to end its sessions.
  const member = quoteName(String(me?.["name"]))
  yield* branch.query(`grant ${names.role}, ${names.keysLogin}, ${names.rowsLogin} to ${member}`)
})

/** Creates the roles of an empty branch, which is then filled with the rights of its owner alone. */
export const giveToRole = Effect.fnUntraced(function* (address: Login, names: BranchNames, own: string) {
  const branch = yield* connectDirectly({ ...address, database: names.database })
  yield* createRoles(branch, names, own)
  yield* branch.query(`alter schema public owner to ${names.role}`)
}, Effect.scoped)

/**
 * Turns a copy, or a restored dump, into a branch. The main database is closed to new roles before. The service's own
 * objects are dropped before the branch's owner may log in, so that no one can read them, and the service's login runs
 * nothing in the branch once its password is out.
 */
export const finaliseBranch = Effect.fnUntraced(
  function* (address: Login, serviceRole: string, names: BranchNames, { given, own }: BranchPasswords) {
    const branch = yield* connectDirectly({ ...address, database: names.database })
    const [{ super: superuser } = {}] = yield* branch.query(
      "select rolsuper as super from pg_roles where rolname = current_user"
    )
    // The database's own event triggers must not fire. PostgreSQL has the setting since version 17.
    if (superuser === true) {
      yield* branch.query("select set_config(name, 'off', false) from pg_settings where name = 'event_triggers'")
    }
    yield* all(branch, strippingSql)
    yield* createRoles(branch, names, own)
    yield* branch.query(bypassSql(names, serviceRole))
    yield* branch.query(settingsSql(address.database, names.database))
    yield* branch.query(reownSql(names))
    yield* branch.query(defaultRightsSql(names, serviceRole))
    yield* all(branch, superuser === true ? [...ddlSql, ...ddlTriggersSql, ...signalsSql([names.role])] : ddlSql)
    yield* branch.query(resetSessionSql)
    yield* branch.query(ddlRightsSql)
    // A pg_dump by the branch's own login reads every table.
    yield* branch.query(`grant select on all tables in schema svc_ddl to ${names.role}`)
    yield* branch.query(openRoleSql(names, given))
    return undefined
  },
  Effect.scoped,
  Effect.catchTag("QueryFailed", explained)
)
