import { Context, Effect, Layer, Redacted } from "effect"
import { StartError } from "../process/StartError.ts"
import { type Login, parseLogin } from "./Login.ts"

/**
 * Address of the main database and credentials of its owner: of the embedded server, or from DATABASE_URL. The rest of
 * the program does not depend on which it is.
 */
export class PostgresAddress extends Context.Service<PostgresAddress, Login>()("svc/layers/PostgresAddress") {}

const address = (uri: Redacted.Redacted): Effect.Effect<Login, StartError> => {
  const login = parseLogin(Redacted.value(uri))
  return login === undefined
    ? Effect.fail(
        new StartError({
          // The value contains a password, so the message does not repeat it.
          message:
            "DATABASE_URL must be postgres://user:password@host:port/database with one host, and sslmode disable, require or verify-full"
        })
      )
    : Effect.succeed(login)
}

/** The PostgreSQL (15 or newer) of DATABASE_URL. */
export const layerExternal = (uri: Redacted.Redacted) => Layer.effect(PostgresAddress, address(uri))
