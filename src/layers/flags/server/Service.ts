import { Code, ConnectError } from "@connectrpc/connect"
import { type FlagEnvironment, selectFlags } from "../../../domain/flags/Environment.ts"
import { type FlagSet } from "../../../domain/flags/sets/Set.ts"
import { type FlagFeed } from "./Feed.ts"

/** The dependencies of the protocols. */
export interface FlagService {
  readonly feed: FlagFeed
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly current: (environment: FlagEnvironment) => FlagSet
  /** The default environment of requests. */
  readonly environment: FlagEnvironment
  /** Whether sync sends the version of a flag set, by which this process detects what a flagd has loaded. */
  readonly versioned: boolean
}

/** The selected environment; "none" for an unknown one. Throws INVALID_ARGUMENT for an invalid selector. */
export const selected = ({ environment }: FlagService, headers: Headers, field?: string): FlagEnvironment | "none" => {
  const selection = selectFlags(headers.get("flagd-selector") ?? field, environment)
  if (typeof selection === "object") throw new ConnectError(selection.problem, Code.InvalidArgument)
  return selection
}

/** The flags of the selected environment; undefined for an unknown one. */
export const flagsOf = (service: FlagService, headers: Headers) => {
  const environment = selected(service, headers)
  return environment === "none" ? undefined : service.current(environment)
}
