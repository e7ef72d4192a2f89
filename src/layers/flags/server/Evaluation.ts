import { type JsonObject, type MessageInitShape } from "@bufbuild/protobuf"
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect"
import { type FlagFailure, type FlagResult } from "../../../domain/flags/Evaluation.ts"
import { contextProblems } from "../../../domain/flags/Json.ts"
import { problemLines } from "../../../domain/flags/Problem.ts"
import { isJsonObject } from "../../../domain/text/JsonObject.ts"
import { type CallContext, peerIn } from "./Peer.ts"
import { type FlagService, allFlags, flagsOf, selected } from "./Service.ts"
import { type FlagSet } from "../../../domain/flags/sets/Set.ts"
import { type AnyFlagSchema, type Service as ServiceV1 } from "../gen/flagd/evaluation/v1/evaluation_pb.ts"
import { type Service as ServiceV2 } from "../gen/flagd/evaluation/v2/evaluation_pb.ts"

interface ResolveRequest {
  readonly flagKey: string
  readonly context?: JsonObject | undefined
}

interface Resolved<A> {
  readonly reason: string
  /** Both undefined when the client uses its own default. */
  readonly value: A | undefined
  readonly variant: string | undefined
  readonly metadata: JsonObject
}

/** The value as the type of the call; undefined: the value has another type. */
type Typed<A> = (value: unknown) => A | undefined

const asBoolean: Typed<boolean> = (value) => (typeof value === "boolean" ? value : undefined)
const asString: Typed<string> = (value) => (typeof value === "string" ? value : undefined)
const asFloat: Typed<number> = (value) => (typeof value === "number" ? value : undefined)
/** Truncates fractions. */
const asInt: Typed<bigint> = (value) => (typeof value === "number" ? BigInt(Math.trunc(value)) : undefined)
const asObject: Typed<JsonObject> = (value) => (isJsonObject(value) ? (value as JsonObject) : undefined)

/** Messages of flagd, and the codes that its clients map to those of OpenFeature. */
const failures: Readonly<Record<FlagFailure["errorCode"], readonly [text: string, code: Code]>> = {
  FLAG_NOT_FOUND: ["Flag not found", Code.NotFound],
  PARSE_ERROR: ["Error parsing input or configuration", Code.DataLoss],
  GENERAL: ["General error", Code.Unknown]
}

/** Throws the gRPC error if the flag has no value of that type. */
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

/** Rejects what protobuf allows and a context does not: infinite numbers and NaN, and too many levels. */
const checked = (context: JsonObject = {}): JsonObject => {
  const [problem] = problemLines(contextProblems(context))
  if (problem !== undefined) throw new ConnectError(`context: ${problem}`, Code.InvalidArgument)
  return context
}

/** Interval of keep-alive events, in ms. */
const keepAliveMillis = 20_000

interface FlagEvent {
  readonly type: "provider_ready" | "configuration_change" | "keep_alive" | "provider_shutdown"
  readonly data: JsonObject
}

/** Events from now on, until the signal aborts. At shutdown it throws UNAVAILABLE. */
export async function* eventStream(service: FlagService, context: CallContext): AsyncGenerator<FlagEvent, void> {
  const { requestHeader: headers, signal } = context
  // Providers open the stream without their selector, so without one it covers every environment.
  const environments = headers.has("flagd-selector") ? selected(service, headers) : "all"
  const subscription = service.feed.subscribe(environments, signal, peerIn(context))
  yield { type: "provider_ready", data: {} }
  for (;;) {
    const changes = await subscription.next(keepAliveMillis)
    if (subscription.ended && !signal.aborted) yield { type: "provider_shutdown", data: {} }
    subscription.check()
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
  eventStream: (_request, context) => eventStream(service, context)
})

const zeroed = <A>({ metadata, reason, value, variant }: Resolved<A>, zero: A) => ({
  value: value ?? zero,
  reason,
  variant: variant ?? "",
  metadata
})

/** A result without a value has the zero value of the flag's type, which shows clients the type. */
const anyFlagOf = (set: FlagSet, result: FlagResult): MessageInitShape<typeof AnyFlagSchema> => {
  const { metadata, reason } = result
  const definition = set.flags.get(result.key)?.definition
  const [value, variant] = reason === "ERROR" ? [undefined, ""] : [result.value, result.variant ?? ""]
  const sample = value ?? definition?.variants[definition.defaultVariant]
  const typed = { reason, variant, metadata: { ...metadata } }
  if (typeof sample === "boolean") {
    return { ...typed, value: { case: "boolValue", value: asBoolean(value) ?? false } }
  }
  if (typeof sample === "string") return { ...typed, value: { case: "stringValue", value: asString(value) ?? "" } }
  if (typeof sample === "number") return { ...typed, value: { case: "doubleValue", value: asFloat(value) ?? 0 } }
  return { ...typed, value: { case: "objectValue", value: asObject(value) ?? {} } }
}

/** flagd.evaluation.v2.Service: a flag without a value has neither value nor variant. */
export const evaluationV2 = (service: FlagService): ServiceImpl<typeof ServiceV2> => ({
  resolveBoolean: (request, { requestHeader }) => resolve(service, request, requestHeader, asBoolean),
  resolveString: (request, { requestHeader }) => resolve(service, request, requestHeader, asString),
  resolveFloat: (request, { requestHeader }) => resolve(service, request, requestHeader, asFloat),
  resolveInt: (request, { requestHeader }) => resolve(service, request, requestHeader, asInt),
  resolveObject: (request, { requestHeader }) => resolve(service, request, requestHeader, asObject),
  eventStream: (_request, context) => eventStream(service, context)
})
