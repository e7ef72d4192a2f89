import { Effect } from "effect"
import { type BranchNames } from "../../domain/branches/Branch.ts"
import {
  bypassSql,
  defaultRightsSql,
  reownSql,
  rolesSql,
  settingsSql,
  strippingSql
} from "../../domain/branches/BranchSql.ts"
import { ddlSql, ddlTriggersSql } from "../../domain/catalogue/DdlSql.ts"
import { resetSessionSql } from "../../domain/sql/ResetSession.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { signalsSql } from "../../domain/sql/Signals.ts"
import { type BranchPasswords } from "../../services/ports/BranchDatabases.ts"
import { copyFailure } from "./Source.ts"
import { type Login } from "../postgres/Login.ts"
import { outageOrDie, connectDirectly, type QueryFailed, type DirectConnection } from "../postgres/DirectConnection.ts"

const all = (on: DirectConnection, texts: ReadonlyArray<string>) =>
  Effect.forEach(texts, (text) => on.query(text), { discard: true })

/** Reports a missing right of the service's login to the caller; everything else is an outage or a defect. */
export const explained = (error: QueryFailed) => {
  const failure = error.code === "42501" ? copyFailure(error) : undefined
  return failure === undefined ? outageOrDie(error) : Effect.fail(failure)
}

/**
 * Turns a copy, or a restored dump, into a branch. The main database is closed to new roles before. The service's own
 * objects are dropped before the roles are created, so that no one can read them, and the service's login runs nothing in
 * the branch once its password is out.
 */
export const finaliseBranch = Effect.fnUntraced(
  function* (address: Login, serviceRole: string, names: BranchNames, { given, own }: BranchPasswords) {
    const branch = yield* connectDirectly({ ...address, database: names.database })
    const [me] = yield* branch.query(
      "select current_user::text as name, rolsuper as super from pg_roles where rolname = current_user"
    )
    // The database's own event triggers must not fire. PostgreSQL has the setting since version 17.
    if (me?.["super"] === true) {
      yield* branch.query("select set_config(name, 'off', false) from pg_settings where name = 'event_triggers'")
    }
    yield* all(branch, strippingSql)
    yield* all(branch, rolesSql(names, given, own))
    if (me?.["super"] !== true) {
      // The creator of a role may manage it, but needs membership to act as it, or to end its sessions.
      const member = quoteName(String(me?.["name"]))
      yield* branch.query(`grant ${names.role}, ${names.keysLogin}, ${names.rowsLogin} to ${member}`)
    }
    yield* branch.query(bypassSql(names, serviceRole))
    yield* branch.query(settingsSql(address.database, names.database))
    yield* branch.query(reownSql(names))
    yield* branch.query(defaultRightsSql(names, serviceRole))
    yield* all(branch, me?.["super"] === true ? [...ddlSql, ...ddlTriggersSql, ...signalsSql([names.role])] : ddlSql)
    yield* branch.query(resetSessionSql)
    return undefined
  },
  Effect.scoped,
  Effect.catchTag("QueryFailed", explained)
)
