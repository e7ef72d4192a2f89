import { Effect, Layer, Redacted } from "effect"
import { type Login, parseLogin } from "./Login.ts"
import { PostgresAddress } from "./Address.ts"
import { StartError } from "../process/StartError.ts"

const address = (uri: Redacted.Redacted): Effect.Effect<Login, StartError> => {
  const login = parseLogin(Redacted.value(uri))
  return login === undefined
    ? Effect.fail(
        new StartError({
          // The value contains a password, so the message does not repeat it.
          message:
            "DATABASE_URL must be postgres://user:password@host:port/database, with sslmode disable, require or verify-full"
        })
      )
    : Effect.succeed(login)
}

/** The PostgreSQL (15 or newer) of DATABASE_URL. */
export const layerExternal = (uri: Redacted.Redacted) => Layer.effect(PostgresAddress, address(uri))
