import { Context, type Effect } from "effect"
import { type ConnectionCheck } from "../../domain/connections/Connection.ts"
import { type ConnectionUrl } from "../../domain/connections/Url.ts"

/**
 * Port: tests a connection string within 5 seconds. A server outside the public Internet is refused unless settings allow
 * it, and files named in the string are never read. Implemented by layers/connections/Probe.ts.
 */
export class ConnectionProbe extends Context.Service<
  ConnectionProbe,
  {
    /** Never fails: errors are in the result, which contains no password. */
    readonly check: (url: ConnectionUrl) => Effect.Effect<ConnectionCheck>
  }
>()("svc/services/ConnectionProbe") {}
