import {
  type FlagDefinition,
  type FlagContext,
  type FlagFailure,
  type FlagResult,
  type FlagSetMetadata
} from "../Evaluation.ts"
import { type FlagEnvironment } from "../Environment.ts"
import { compileRule } from "../logic/Logic.ts"
import { isNumber, kindOf } from "../logic/Values.ts"
import { type FlagHashing, FlagScope, type Rule, RuleError } from "../logic/Scope.ts"
import { isJsonObject } from "../../text/JsonObject.ts"

/** A context with `$flagd`. All flags of an evaluation share it, and each writes its key into it. */
interface FlagData {
  readonly data: FlagContext
  readonly flagd: { flagKey: string; readonly timestamp: number }
}

const dataOf = (context: FlagContext, nowMillis: number): FlagData => {
  const flagd = { flagKey: "", timestamp: Math.floor(nowMillis / 1000) }
  return { data: { ...context, $flagd: flagd }, flagd }
}

/** Throws RuleError for numbers that JSON can't represent. */
const checkNumbers = (value: unknown, scope: FlagScope): void => {
  const left = [value]
  while (left.length > 0) {
    const next = left.pop()
    if (typeof next === "number" && !Number.isFinite(next))
      throw new RuleError("the rule returned a number that is infinite or NaN")
    if (typeof next !== "object" || next === null) continue
    const parts = Object.values(next)
    scope.spend(parts.length)
    for (const part of parts) left.push(part)
  }
}

/** The result of a rule as the name of a variant; undefined for lists and objects. */
const nameOf = (outcome: unknown): string | undefined => {
  if (typeof outcome === "string") return outcome
  if (typeof outcome === "boolean") return String(outcome)
  if (isNumber(outcome)) return Object.is(outcome, -0) ? "-0" : String(outcome)
  return undefined
}

const hasNoTargeting = (targeting: unknown): boolean =>
  targeting === undefined || (isJsonObject(targeting) && Object.keys(targeting).length === 0)

/** A flag with its compiled rule. The rule is compiled at the first evaluation, or by `warm`. */
export class CompiledFlag {
  readonly definition: FlagDefinition
  /** Time of the last evaluation, in milliseconds; 0 for never. */
  evaluatedAt = 0
  private readonly hashing: FlagHashing
  private readonly isStatic: boolean
  private rule: Rule | undefined
  private text: string | undefined
  /** The last result that does not depend on the context. */
  private settled: FlagResult | undefined

  constructor(definition: FlagDefinition, hashing: FlagHashing) {
    this.definition = definition
    this.hashing = hashing
    this.isStatic = definition.state === "DISABLED" || hasNoTargeting(definition.targeting)
  }

  evaluate(context: FlagContext, nowMillis: number, metadata: FlagSetMetadata): FlagResult {
    this.evaluatedAt = nowMillis
    return this.isStatic ? this.withoutRule(metadata) : this.withRule(dataOf(context, nowMillis), metadata)
  }

  /** Compiles the rule before the first evaluation. */
  warm(): void {
    if (!this.isStatic) this.rule ??= compileRule(this.definition.targeting)
  }

  /** Like `evaluate`, with a context that all flags of the evaluation share. */
  evaluateShared(data: FlagData, nowMillis: number, metadata: FlagSetMetadata): FlagResult {
    this.evaluatedAt = nowMillis
    return this.isStatic ? this.withoutRule(metadata) : this.withRule(data, metadata)
  }

  /** Key and definition in the JSON of a flag configuration of flagd. */
  get configuration(): string {
    if (this.text === undefined) {
      const { key, state, variants, defaultVariant, targeting } = this.definition
      this.text = `${JSON.stringify(key)}:${JSON.stringify({ state, variants, defaultVariant, targeting })}`
    }
    return this.text
  }

  private withoutRule(metadata: FlagSetMetadata): FlagResult {
    if (this.settled?.metadata === metadata) return this.settled
    const { key, state, defaultVariant } = this.definition
    this.settled =
      state === "DISABLED" ? { key, reason: state, metadata } : this.variant("STATIC", defaultVariant, metadata)
    return this.settled
  }

  private withRule({ data, flagd }: FlagData, metadata: FlagSetMetadata): FlagResult {
    flagd.flagKey = this.definition.key
    const scope = new FlagScope(data, this.hashing)
    try {
      this.rule ??= compileRule(this.definition.targeting)
      return this.outcome(this.rule(scope), scope, metadata)
    } catch (error) {
      if (error instanceof RuleError) return this.failure("PARSE_ERROR", error.message, metadata)
      throw error
    }
  }

  private outcome(value: unknown, scope: FlagScope, metadata: FlagSetMetadata): FlagResult {
    if (value === null) return this.variant("DEFAULT", this.definition.defaultVariant, metadata)
    if (typeof value !== "string") checkNumbers(value, scope)
    const name = nameOf(value)
    if (name !== undefined && Object.hasOwn(this.definition.variants, name))
      return this.variant("TARGETING_MATCH", name, metadata)
    const given = name === undefined ? kindOf(value) : JSON.stringify(name.slice(0, 64))
    return this.failure("GENERAL", `the rule returned ${given}, which is not a variant of the flag`, metadata)
  }

  private variant(
    reason: "STATIC" | "TARGETING_MATCH" | "DEFAULT",
    name: string,
    metadata: FlagSetMetadata
  ): FlagResult {
    return { key: this.definition.key, reason, variant: name, value: this.definition.variants[name], metadata }
  }

  private failure(errorCode: FlagFailure["errorCode"], errorDetails: string, metadata: FlagSetMetadata): FlagFailure {
    return { key: this.definition.key, reason: "ERROR", errorCode, errorDetails, metadata }
  }
}

/** The flags of one environment at one version. Immutable, except for counts and times of evaluations. */
export class FlagSet {
  readonly environment: FlagEnvironment
  /** The revision of the last change of this set. */
  readonly version: number
  readonly flags: ReadonlyMap<string, CompiledFlag>
  readonly metadata: FlagSetMetadata
  /** How many flags have been evaluated. */
  evaluations = 0
  private readonly texts = new Map<boolean, string>()

  constructor(environment: FlagEnvironment, version: number, flags: ReadonlyMap<string, CompiledFlag>) {
    this.environment = environment
    this.version = version
    this.flags = flags
    this.metadata = { flagSetId: environment, version: String(version) }
  }

  /** Never throws, and takes at most some 20 ms. `context` is JSON; its `$flagd` is overwritten. */
  evaluate(key: string, context: FlagContext, nowMillis: number): FlagResult {
    this.evaluations++
    const flag = this.flags.get(key)
    if (flag !== undefined) return flag.evaluate(context, nowMillis, this.metadata)
    const errorDetails = `there is no flag ${JSON.stringify(key.slice(0, 128))}`
    return { key, reason: "ERROR", errorCode: "FLAG_NOT_FOUND", errorDetails, metadata: this.metadata }
  }

  /** Evaluates all flags, including disabled ones, in the order of the map. */
  evaluateAll(context: FlagContext, nowMillis: number): ReadonlyArray<FlagResult> {
    const data = dataOf(context, nowMillis)
    const results: Array<FlagResult> = []
    this.evaluations += this.flags.size
    for (const flag of this.flags.values()) results.push(flag.evaluateShared(data, nowMillis, this.metadata))
    return results
  }

  /**
   * The set as JSON of a flag configuration of flagd, created once on demand. `versioned`: with the version in the set's
   * metadata, which clients count as part of each flag, so that all flags seem to change.
   */
  configuration(versioned: boolean): string {
    const known = this.texts.get(versioned)
    if (known !== undefined) return known
    const flags: Array<string> = []
    for (const flag of this.flags.values()) flags.push(flag.configuration)
    const metadata = versioned ? this.metadata : { flagSetId: this.environment }
    const text = `{"flags":{${flags.join(",")}},"metadata":${JSON.stringify(metadata)}}`
    this.texts.set(versioned, text)
    return text
  }
}
