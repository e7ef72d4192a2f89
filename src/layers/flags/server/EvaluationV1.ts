import { type MessageInitShape } from "@bufbuild/protobuf"
import { type ServiceImpl } from "@connectrpc/connect"
import { type FlagResult } from "../../../domain/flags/Result.ts"
import { type FlagSet } from "../../../domain/flags/sets/Set.ts"
import { allFlags } from "./AllFlags.ts"
import { asBoolean, asFloat, asInt, asObject, asString, checked, type Resolved, resolve } from "./Evaluation.ts"
import { eventStream } from "./EventStream.ts"
import { type FlagService, flagsOf } from "./Service.ts"
import { type AnyFlagSchema, type Service } from "../gen/flagd/evaluation/v1/evaluation_pb.ts"

/** flagd.evaluation.v1.Service: a flag without a value has the zero value and an empty variant. */
export const evaluationV1 = (service: FlagService): ServiceImpl<typeof Service> => ({
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
