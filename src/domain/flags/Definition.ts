/** One flag in one environment, as an engine is given it: segments are already in their places. */
export interface FlagDefinition {
  readonly key: string
  readonly state: "ENABLED" | "DISABLED"
  /** Name and value, all values of one type, in the order they were given. */
  readonly variants: Readonly<Record<string, unknown>>
  readonly defaultVariant: string
  /** JsonLogic without `$ref`; `{}` when there is no rule. */
  readonly targeting: unknown
}
