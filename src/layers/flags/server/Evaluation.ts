import { type JsonObject, type MessageInitShape } from "@bufbuild/protobuf"
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect"
import { type FlagFailure, type FlagResult } from "../../../domain/flags/Evaluation.ts"
import { contextProblems } from "../../../domain/flags/Json.ts"
import { problemLines } from "../../../domain/flags/Problem.ts"
import { isJsonObject } from "../../../domain/text/JsonObject.ts"
import { type FlagService, flagsOf, selected } from "./Service.ts"
import { type FlagSet } from "../../../domain/flags/sets/Set.ts"
import { allFlags } from "./AllFlags.ts"
import { type AnyFlagSchema, type Service as ServiceV1 } from "../gen/flagd/evaluation/v1/evaluation_pb.ts"
import { type Service as ServiceV2 } from "../gen/flagd/evaluation/v2/evaluation_pb.ts"

interface ResolveRequest {
  readonly flagKey: string
  readonly context?: JsonObject | undefined
}

interface Resolved<A> {
  readonly reason: string
  /** Both undefined: the caller's own default counts. */
  readonly value: A | undefined
  readonly variant: string | undefined
  readonly metadata: JsonObject
}

/** A flag's value as a call of one type gives it; undefined: it is of another type. */
type Typed<A> = (value: unknown) => A | undefined

const asBoolean: Typed<boolean> = (value) => (typeof value === "boolean" ? value : undefined)
const asString: Typed<string> = (value) => (typeof value === "string" ? value : undefined)
const asFloat: Typed<number> = (value) => (typeof value === "number" ? value : undefined)
/** Fractions are cut off. */
const asInt: Typed<bigint> = (value) => (typeof value === "number" ? BigInt(Math.trunc(value)) : undefined)
const asObject: Typed<JsonObject> = (value) => (isJsonObject(value) ? (value as JsonObject) : undefined)

/** What flagd says, and the codes from which its clients make OpenFeature's again. */
const failures: Readonly<Record<FlagFailure["errorCode"], readonly [text: string, code: Code]>> = {
  FLAG_NOT_FOUND: ["Flag not found", Code.NotFound],
  PARSE_ERROR: ["Error parsing input or configuration", Code.DataLoss],
  GENERAL: ["General error", Code.Unknown]
}

/** Throws what gRPC answers when there is no value of that type. */
const resolve = <A>(
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
const checked = (context: JsonObject = {}): JsonObject => {
  const [problem] = problemLines(contextProblems(context))
  if (problem !== undefined) throw new ConnectError(`context: ${problem}`, Code.InvalidArgument)
  return context
}

/** How often a stream says that it is alive, in ms. */
const keepAliveMillis = 20_000

interface FlagEvent {
  readonly type: "provider_ready" | "configuration_change" | "keep_alive" | "provider_shutdown"
  readonly data: JsonObject
}

/** What happens from now on, until the signal aborts or the service ends: then it throws, UNAVAILABLE. */
export async function* eventStream(
  service: FlagService,
  headers: Headers,
  signal: AbortSignal
): AsyncGenerator<FlagEvent, void> {
  // Providers evaluate with their selector but listen without: they are told of every environment.
  const followed = headers.has("flagd-selector") ? selected(service, headers) : "all"
  const follower = service.feed.follow(followed, signal)
  yield { type: "provider_ready", data: {} }
  for (;;) {
    const changes = await follower.next(keepAliveMillis)
    if (follower.ended && !signal.aborted) yield { type: "provider_shutdown", data: {} }
    follower.check()
    if (changes === undefined) yield { type: "keep_alive", data: {} }
    else if (changes.size > 0) {
      const flags = Object.fromEntries(Array.from(changes, ([key, type]) => [key, { type }]))
      yield { type: "configuration_change", data: { flags } }
    }
  }
}

/** flagd.evaluation.v1.Service: a flag without a value has the zero value and an empty variant. */
export const evaluationV1 = (service: FlagService): ServiceImpl<typeof ServiceV1> => ({
  resolveBoolean: (request, { requestHeader }) => zeroed(resolve(service, request, requestHeader, asBoolean), false),
  resolveString: (request, { requestHeader }) => zeroed(resolve(service, request, requestHeader, asString), ""),
  resolveFloat: (request, { requestHeader }) => zeroed(resolve(service, request, requestHeader, asFloat), 0),
  resolveInt: (request, { requestHeader }) => zeroed(resolve(service, request, requestHeader, asInt), 0n),
  resolveObject: (request, { requestHeader }) => zeroed(resolve(service, request, requestHeader, asObject), {}),
  resolveAll: async (request, { requestHeader }) => {
    const context = checked(request.context)
    const set = flagsOf(service, requestHeader)
    if (set === undefined) return { flags: {}, metadata: {} }
    const results = await allFlags(set, context, service.now())
    const flags = Object.fromEntries(results.map((result) => [result.key, anyFlagOf(set, result)]))
    return { flags, metadata: { ...set.metadata } }
  },
  eventStream: (_request, { requestHeader, signal }) => eventStream(service, requestHeader, signal)
})

const zeroed = <A>({ metadata, reason, value, variant }: Resolved<A>, zero: A) => ({
  value: value ?? zero,
  reason,
  variant: variant ?? "",
  metadata
})

/** With the zero value of the flag's type where there is no value: clients learn the type from it. */
const anyFlagOf = (set: FlagSet, result: FlagResult): MessageInitShape<typeof AnyFlagSchema> => {
  const { metadata, reason } = result
  const definition = set.flags.get(result.key)?.definition
  const [value, variant] = reason === "ERROR" ? [undefined, ""] : [result.value, result.variant ?? ""]
  const example = value ?? definition?.variants[definition.defaultVariant]
  const typed = { reason, variant, metadata: { ...metadata } }
  if (typeof example === "boolean") {
    return { ...typed, value: { case: "boolValue", value: asBoolean(value) ?? false } }
  }
  if (typeof example === "string") return { ...typed, value: { case: "stringValue", value: asString(value) ?? "" } }
  if (typeof example === "number") return { ...typed, value: { case: "doubleValue", value: asFloat(value) ?? 0 } }
  return { ...typed, value: { case: "objectValue", value: asObject(value) ?? {} } }
}

/** flagd.evaluation.v2.Service: a flag without a value has neither value nor variant. */
export const evaluationV2 = (service: FlagService): ServiceImpl<typeof ServiceV2> => ({
  resolveBoolean: (request, { requestHeader }) => resolve(service, request, requestHeader, asBoolean),
  resolveString: (request, { requestHeader }) => resolve(service, request, requestHeader, asString),
  resolveFloat: (request, { requestHeader }) => resolve(service, request, requestHeader, asFloat),
  resolveInt: (request, { requestHeader }) => resolve(service, request, requestHeader, asInt),
  resolveObject: (request, { requestHeader }) => resolve(service, request, requestHeader, asObject),
  eventStream: (_request, { requestHeader, signal }) => eventStream(service, requestHeader, signal)
})
