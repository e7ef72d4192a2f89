import { Context } from "effect"
import { type Login } from "./Login.ts"

/**
 * Where PostgreSQL is and how to come in as its owner. Given by the embedded server or by DATABASE_URL; the rest of the
 * program can't tell which.
 */
export class PostgresAddress extends Context.Service<PostgresAddress, Login>()("svc/layers/PostgresAddress") {}
