/** Set metadata as every protocol carries it: which flag set answered, and at which revision. */
export interface FlagSetMetadata {
  readonly flagSetId: string
  readonly version: string
}

/** What an evaluation context is: JSON, its own properties only. */
export type FlagContext = Readonly<Record<string, unknown>>

export interface FlagValue {
  readonly key: string
  readonly reason: "STATIC" | "TARGETING_MATCH" | "DEFAULT" | "DISABLED"
  /** Both absent when the flag is disabled: the caller's own default counts then. */
  readonly variant?: string
  readonly value?: unknown
  readonly metadata: FlagSetMetadata
}

export interface FlagFailure {
  readonly key: string
  readonly reason: "ERROR"
  readonly errorCode: "FLAG_NOT_FOUND" | "PARSE_ERROR" | "GENERAL"
  readonly errorDetails: string
  readonly metadata: FlagSetMetadata
}

/** The outcome of one evaluation (flagd 0.16). */
export type FlagResult = FlagValue | FlagFailure
