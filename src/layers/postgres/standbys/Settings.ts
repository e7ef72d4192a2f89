import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { ddlTriggersSql, ddlWatchedSql } from "../../../domain/catalogue/DdlSql.ts"
import { duration, secret } from "../../../domain/Settings.ts"
import { StartError } from "../../process/StartError.ts"
import { addressFor } from "../Address.ts"
import { type Login } from "../Login.ts"
import { Standbys } from "./Standbys.ts"

const variable = "DATABASE_READ_URLS"
const maxStandbys = 32

/** The standbys of DATABASE_READ_URLS; undefined if there are none. `callers`: the login of anon and authenticated callers. */
export const makeStandbys = Effect.fnUntraced(function* (login: Login, callers: Login, serviceRole: string) {
  const given = yield* secret(variable)
  const maxLag = yield* duration("SVC_DB_READ_LAG", 10_000)
  const pace = yield* duration("SVC_DB_READ_PACE", 1)
  const uris =
    given === undefined
      ? []
      : Redacted.value(given)
          .trim()
          .split(/[\s,]+(?=postgres)|\s+/)
  if (uris.length > maxStandbys) {
    return yield* new StartError({ message: `${variable} must have ${maxStandbys} addresses at most` })
  }
  const places = yield* Effect.forEach(uris, (uri) => addressFor(login, Redacted.make(uri), variable))
  const other = places.find(({ at, database }) => database !== login.database || at.servers !== undefined)
  if (other !== undefined) {
    return yield* new StartError({
      message: `${variable} must have one host in each address, and the database of DATABASE_URL, ${login.database}`
    })
  }
  if (places.length === 0) return undefined
  const sql = yield* SqlClient.SqlClient
  const [state] = yield* sql.unsafe<{ watched: boolean }>(`select ${ddlWatchedSql} as watched`)
  const watched = state?.watched === true
  if (!watched) {
    yield* Effect.logWarning(
      `The standbys of ${variable} get no reads, because the login of DATABASE_URL may not create event triggers, which report changes of definitions. As a superuser, in the database ${login.database}: ${ddlTriggersSql.join("; ")}; then restart the service`
    )
  }
  const roles = ["anon", "authenticated", serviceRole]
  const standbys = new Standbys({ login, callers, watched, places: places.map(({ at }) => at), roles, maxLag, pace })
  yield* standbys.follow
  return standbys
})
