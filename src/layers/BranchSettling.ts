import { Effect, Schedule } from "effect"
import { type BranchNames } from "../domain/Branch.ts"
import {
  bypassSql,
  closeMainSql,
  defaultRightsSql,
  reownSql,
  reportingSql,
  rolesSql,
  settingsSql,
  strippingSql
} from "../domain/BranchSql.ts"
import { quoteName } from "../domain/RowText.ts"
import { Unavailable } from "../domain/errors.ts"
import { type BranchPasswords } from "../services/BranchDatabases.ts"
import { copyFailure } from "./BranchSource.ts"
import { type Login } from "./Login.ts"
import { asOutage, connectAside, type Refused, type SideConnection } from "./SideConnection.ts"

const all = (on: SideConnection, texts: ReadonlyArray<string>) =>
  Effect.forEach(texts, (text) => on.query(text), { discard: true })

/** A missing right of our login is the caller's to know, everything else ours to mend. */
export const explained = (error: Refused) => {
  const failure = error.code === "42501" ? copyFailure(error) : undefined
  return failure === undefined ? asOutage(error) : Effect.fail(failure)
}

/**
 * Makes a copy a branch. What is the service's own goes first, then the roles are made, so that there is never anybody
 * who could look at it. Nothing runs in it as our own login once somebody else has the branch's password.
 */
export const settleBranch = Effect.fnUntraced(
  function* (
    main: SideConnection,
    address: Login,
    serviceRole: string,
    names: BranchNames,
    { given, own }: BranchPasswords
  ) {
    const branch = yield* connectAside({ ...address, database: names.database }, { search_path: "pg_catalog" })
    yield* all(branch, strippingSql)
    yield* main.query(closeMainSql)
    yield* all(branch, rolesSql(names, given, own))
    const [me] = yield* main.query(
      "select current_user::text as name, rolsuper as super from pg_roles where rolname = current_user"
    )
    if (me?.["super"] !== true) {
      // Who makes a role may manage it, but is not yet one who may act as it, or end its sessions.
      const member = quoteName(String(me?.["name"]))
      yield* branch.query(`grant ${names.role}, ${names.keysLogin}, ${names.rowsLogin} to ${member}`)
    }
    yield* branch.query(bypassSql(names, serviceRole))
    yield* branch.query(settingsSql(address.database, names.database))
    yield* branch.query(reownSql(names))
    yield* branch.query(defaultRightsSql(names, serviceRole))
    if (me?.["super"] === true) yield* all(branch, reportingSql)
    return undefined
  },
  Effect.scoped,
  Effect.catchTag("Refused", explained)
)

const inUse = (details: string) =>
  new Unavailable({
    error: "The branch is gone, but its database can't be dropped yet; it is tried again",
    code: "BRANCH_IN_USE",
    details
  })

/** Drops a branch's database, whoever is in it, and its roles, as far as they are there. */
export const dropBranch = Effect.fnUntraced(function* (main: SideConnection, names: BranchNames) {
  yield* main.query(`drop database if exists ${quoteName(names.database)} with (force)`).pipe(
    // Prepared transactions and the like, which nobody can end from outside.
    Effect.catchIf(
      ({ code }) => code === "55006",
      ({ message }) => Effect.fail(inUse(message))
    )
  )
  for (const role of [names.keysLogin, names.rowsLogin, names.role]) {
    yield* main.query(`drop role if exists ${quoteName(role)}`).pipe(
      // Another replica is at it too.
      Effect.retry({ while: ({ code }) => code === "XX000", times: 3, schedule: Schedule.spaced("100 millis") }),
      Effect.catchIf(
        // Somebody gave it rights elsewhere: it stays, but opens nothing any more.
        ({ code }) => code === "2BP01",
        () =>
          Effect.andThen(
            main.query(`alter role ${quoteName(role)} nologin`),
            Effect.logWarning(
              `Role ${role} of a dropped branch has rights in other databases and is left, without login`
            )
          )
      )
    )
  }
})
