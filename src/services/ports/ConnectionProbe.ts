import { Context, type Effect } from "effect"
import { type ConnectionCheck } from "../../domain/connections/Connection.ts"
import { type ConnectionUrl } from "../../domain/connections/Url.ts"

/**
 * Port: tries a connection string, for 5 seconds at most. A server that is not on the public Internet is refused unless
 * settings allow it; no file is read that the string names. Real layer: layers/ConnectionProbeNet.ts.
 */
export class ConnectionProbe extends Context.Service<
  ConnectionProbe,
  {
    /** Never fails: what went wrong is in the answer, which holds no password. */
    readonly check: (url: ConnectionUrl) => Effect.Effect<ConnectionCheck>
  }
>()("svc/services/ConnectionProbe") {}
