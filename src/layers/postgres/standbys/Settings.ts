import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { ddlTriggersSql, ddlWatchedSql } from "../../../domain/catalogue/DdlSql.ts"
import { duration, secret } from "../../../domain/Settings.ts"
import { StartError } from "../../process/StartError.ts"
import { addressFor, readServerUri } from "../Address.ts"
import { type Login } from "../Login.ts"
import { Standbys } from "./Standbys.ts"

const variable = "DATABASE_READ_URLS"
const maxStandbys = 32

const readTimes = Effect.all({ maxLag: duration("SVC_DB_READ_LAG", 10_000), pace: duration("SVC_DB_READ_PACE", 1) })

const readUris = Effect.flatMap(secret(variable), (given) => {
  const uris =
    given === undefined
      ? []
      : Redacted.value(given)
          .trim()
          .split(/[\s,]+(?=postgres)|\s+/)
  return uris.length > maxStandbys
    ? Effect.fail(new StartError({ message: `${variable} must have ${maxStandbys} addresses at most` }))
    : Effect.succeed(uris.map((uri) => Redacted.make(uri)))
})

/** Reads the settings of standbys without a login, to which their addresses have to belong. */
export const readStandbys = Effect.all([
  readTimes,
  Effect.flatMap(
    readUris,
    Effect.forEach((uri) => readServerUri(uri, variable))
  )
])

/** The settings of standbys, whose addresses belong to a login. */
export const standbySettings = Effect.fnUntraced(function* (login: Login) {
  const { maxLag, pace } = yield* readTimes
  const uris = yield* readUris
  const places = yield* Effect.forEach(uris, (uri) => addressFor(login, uri, variable))
  const other = places.find(({ at, database }) => database !== login.database || at.servers !== undefined)
  if (other !== undefined) {
    return yield* new StartError({
      message: `${variable} must have one host in each address, and the database of DATABASE_URL, ${login.database}`
    })
  }
  return { places: places.map(({ at }) => at), maxLag, pace }
})

/** The standbys of DATABASE_READ_URLS; undefined if there are none. `callers`: the login of anon and authenticated callers. */
export const makeStandbys = Effect.fnUntraced(function* (login: Login, callers: Login, serviceRole: string) {
  const { maxLag, pace, places } = yield* standbySettings(login)
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
  const standbys = new Standbys({ login, callers, watched, places, roles, maxLag, pace })
  yield* standbys.follow
  return standbys
})
