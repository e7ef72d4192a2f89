import { type JsonObject } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { type FlagFailure } from "../../../domain/flags/Result.ts"
import { contextProblems } from "../../../domain/flags/Json.ts"
import { problemLines } from "../../../domain/flags/Problem.ts"
import { isJsonObject } from "../../../domain/text/JsonObject.ts"
import { type FlagService, flagsOf } from "./Service.ts"

interface ResolveRequest {
  readonly flagKey: string
  readonly context?: JsonObject | undefined
}

export interface Resolved<A> {
  readonly reason: string
  /** Both undefined: the caller's own default counts. */
  readonly value: A | undefined
  readonly variant: string | undefined
  readonly metadata: JsonObject
}

/** A flag's value as a call of one type gives it; undefined: it is of another type. */
export type Typed<A> = (value: unknown) => A | undefined

export const asBoolean: Typed<boolean> = (value) => (typeof value === "boolean" ? value : undefined)
export const asString: Typed<string> = (value) => (typeof value === "string" ? value : undefined)
export const asFloat: Typed<number> = (value) => (typeof value === "number" ? value : undefined)
/** Fractions are cut off. */
export const asInt: Typed<bigint> = (value) => (typeof value === "number" ? BigInt(Math.trunc(value)) : undefined)
export const asObject: Typed<JsonObject> = (value) => (isJsonObject(value) ? (value as JsonObject) : undefined)

/** What flagd says, and the codes from which its clients make OpenFeature's again. */
const failures: Readonly<Record<FlagFailure["errorCode"], readonly [text: string, code: Code]>> = {
  FLAG_NOT_FOUND: ["Flag not found", Code.NotFound],
  PARSE_ERROR: ["Error parsing input or configuration", Code.DataLoss],
  GENERAL: ["General error", Code.Unknown]
}

/** Throws what gRPC answers when there is no value of that type. */
export const resolve = <A>(
  service: FlagService,
  { context, flagKey }: ResolveRequest,
  headers: Headers,
  typed: Typed<A>
): Resolved<A> => {
  const result = flagsOf(service, headers)?.evaluate(flagKey, checked(context), service.now())
  if (result === undefined) throw new ConnectError(...failures.FLAG_NOT_FOUND)
  if (result.reason === "ERROR") throw new ConnectError(...failures[result.errorCode])
  const { reason, variant } = result
  const metadata = { ...result.metadata }
  if (variant === undefined) return { reason, value: undefined, variant, metadata }
  const value = typed(result.value)
  if (value === undefined) throw new ConnectError("Type mismatch error", Code.InvalidArgument)
  return { reason, value, variant, metadata }
}

/** Protobuf's numbers may be none of JSON's, and its structures deeper than a rule may look. */
export const checked = (context: JsonObject = {}): JsonObject => {
  const [problem] = problemLines(contextProblems(context))
  if (problem !== undefined) throw new ConnectError(`context: ${problem}`, Code.InvalidArgument)
  return context
}
