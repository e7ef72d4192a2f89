import { Context } from "effect"
import { type Login } from "./Login.ts"

/**
 * Address of the main database and credentials of its owner: of the embedded server, or from DATABASE_URL. The rest of
 * the program does not depend on which it is.
 */
export class PostgresAddress extends Context.Service<PostgresAddress, Login>()("svc/layers/PostgresAddress") {}
