import { Effect, Redacted } from "effect"
import { duration, secret } from "../../../domain/Settings.ts"
import { StartError } from "../../process/StartError.ts"
import { addressOf } from "../Address.ts"
import { type Login } from "../Login.ts"
import { Standbys } from "./Standbys.ts"

const variable = "DATABASE_READ_URLS"
const maxStandbys = 32

/** The standbys of DATABASE_READ_URLS; undefined if there are none. */
export const makeStandbys = Effect.fnUntraced(function* (login: Login, serviceRole: string) {
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
  const places = yield* Effect.forEach(uris, (uri) => addressOf(Redacted.make(uri), variable))
  const other = places.find(({ database, servers }) => database !== login.database || servers !== undefined)
  if (other !== undefined) {
    return yield* new StartError({
      message: `${variable} must have one host in each address, and the database of DATABASE_URL, ${login.database}`
    })
  }
  if (places.length === 0) return undefined
  const roles = ["anon", "authenticated", serviceRole]
  const standbys = new Standbys({ login, places, roles, maxLag, pace })
  yield* standbys.follow
  return standbys
})
