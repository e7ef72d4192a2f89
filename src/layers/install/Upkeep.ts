import { createHash, createHmac, pbkdf2Sync } from "node:crypto"
import { Cause, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { recordUnreportedSql } from "../../domain/catalogue/FingerprintSql.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { logFailure } from "../../services/OwnTables.ts"
import { Db } from "../../services/ports/Db.ts"

const scram = /^SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):/

/** Whether a password fits the verifier that PostgreSQL stores; true for MD5, which is not checked. */
const fitsVerifier = (password: string, verifier: string) => {
  const [, rounds = "", salt = "", stored = ""] = scram.exec(verifier) ?? []
  if (stored === "") return verifier.startsWith("md5")
  const salted = pbkdf2Sync(password, Buffer.from(salt, "base64"), Number(rounds), 32, "sha256")
  const clientKey = createHmac("sha256", salted).update("Client Key").digest()
  return createHash("sha256").update(clientKey).digest("base64") === stored
}

interface State {
  readonly role: string
  readonly password: string
  readonly superuser: boolean
}

/** Logins of branches, which callers of branches share. */
const branchLogins = "^svc_branch_[0-9a-f]{12}_(rows|keys)$"

/** The verifiers that were found to fit. */
const fitting = new Set<string>()

/**
 * A role may change its own password and its own settings, so a function that a caller calls can do that to the login that
 * all callers share: PostgreSQL has no way to forbid it. This takes it back. Only a superuser sees the password's verifier.
 */
const repairLogin = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const [state] = yield* sql<State>`
      select r.value as role, p.value as password, u.rolsuper as superuser
      from svc.settings r, svc.settings p, pg_roles u
      where r.name = 'authenticator_role' and p.name = 'authenticator_password' and u.rolname = current_user`
    if (state === undefined) return
    const { password, role, superuser } = state
    const changed = yield* sql<{ role: string; database: string | null }>`
      select r.rolname::text as role, d.datname::text as database
      from pg_db_role_setting s join pg_roles r on r.oid = s.setrole left join pg_database d on d.oid = s.setdatabase
      where r.rolname = ${role} or r.rolname ~ ${branchLogins}`
    for (const { database, role } of changed) {
      const where = database === null ? "" : `in database ${quoteName(database)}`
      yield* sql.unsafe(`alter role ${quoteName(role)} ${where} reset all`)
      yield* Effect.logWarning(`Reset settings of the role ${role}, which something had changed`)
    }
    if (!superuser) return
    const [row] = yield* sql<{ verifier: string | null }>`
      select rolpassword as verifier from pg_authid where rolname = ${role}`
    const verifier = row?.verifier ?? ""
    if (row === undefined || fitting.has(verifier)) return
    if (fitsVerifier(password, verifier)) {
      fitting.clear()
      fitting.add(verifier)
      return
    }
    yield* sql.unsafe(`alter role ${quoteName(role)} password '${password}'`)
    yield* Effect.logWarning(`Set the password of the role ${role} again, which something had changed`)
  })

/**
 * Changes whenever a transaction has changed anything since: as long as it is the same, so are all catalogues. After a
 * failover the same ids may belong to other transactions, and the switch of event triggers may be in a file.
 */
const stateSql = `select concat_ws(' ', pg_current_snapshot(), pg_postmaster_start_time(), pg_is_in_recovery(),
  current_setting('event_triggers', true)) as state`

/** Shortest and longest pause, in ms. */
const shortest = 1_000
const longest = 30_000
/** The pause while nothing is written, in ms. */
const unchanged = 2_000
/** The pause takes this many times as long as the comparison, so that PostgreSQL spends at most 1 % of a core on it. */
const restFactor = 100

/**
 * Repeats as long as the service runs: records changes of the catalogue that event triggers did not report, and undoes
 * what a caller's function changed of the login that all callers share.
 */
export const layerUpkeep = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* Db // makes sure that the schema is installed
    const sql = yield* SqlClient.SqlClient
    let failed = false
    let checked: string | undefined
    const check = Effect.gen(function* () {
      // Read before the comparison, so that a change during it is compared in the next round.
      const [now] = yield* sql.unsafe<{ readonly state: string }>(stateSql)
      if (now?.state === checked) return unchanged
      yield* repairLogin(sql)
      const [row] = yield* sql.unsafe<{ readonly millis: number }>(recordUnreportedSql)
      failed = false
      checked = now?.state
      return (row?.millis ?? 0) * restFactor
    }).pipe(
      Effect.catchCause((cause) => {
        if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
        const warn = failed ? Effect.void : logFailure("Failed to compare the catalogue")(cause)
        failed = true
        return Effect.as(warn, 0)
      })
    )
    yield* check.pipe(
      Effect.flatMap((millis) => Effect.sleep(Math.min(longest, Math.max(shortest, millis)))),
      Effect.forever,
      Effect.forkScoped
    )
  })
)
