import { Code, ConnectError } from "@connectrpc/connect"
import { type FlagEnvironment, selectFlags } from "../../../domain/flags/Environment.ts"
import { type FlagSet } from "../../../domain/flags/sets/Set.ts"
import { type FlagFeed } from "./Feed.ts"

/** What the protocols are served from. */
export interface FlagService {
  readonly feed: FlagFeed
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly current: (environment: FlagEnvironment) => FlagSet
  /** Meant when a request names none. */
  readonly environment: FlagEnvironment
}

/** The environment that a call means, or none that there is. Throws INVALID_ARGUMENT when that can't be read. */
export const selected = ({ environment }: FlagService, headers: Headers, field?: string): FlagEnvironment | "none" => {
  const selection = selectFlags(headers.get("flagd-selector") ?? field, environment)
  if (typeof selection === "object") throw new ConnectError(selection.problem, Code.InvalidArgument)
  return selection
}

/** The flags that a call means; undefined when there are none. */
export const flagsOf = (service: FlagService, headers: Headers) => {
  const environment = selected(service, headers)
  return environment === "none" ? undefined : service.current(environment)
}
