import { type ServiceImpl } from "@connectrpc/connect"
import { asBoolean, asFloat, asInt, asObject, asString, resolve } from "./Evaluation.ts"
import { eventStream } from "./EventStream.ts"
import { type FlagService } from "./Service.ts"
import { type Service } from "../gen/flagd/evaluation/v2/evaluation_pb.ts"

/** flagd.evaluation.v2.Service: a flag without a value has neither value nor variant. */
export const evaluationV2 = (service: FlagService): ServiceImpl<typeof Service> => ({
  resolveBoolean: (request, { requestHeader }) => resolve(service, request, requestHeader, asBoolean),
  resolveString: (request, { requestHeader }) => resolve(service, request, requestHeader, asString),
  resolveFloat: (request, { requestHeader }) => resolve(service, request, requestHeader, asFloat),
  resolveInt: (request, { requestHeader }) => resolve(service, request, requestHeader, asInt),
  resolveObject: (request, { requestHeader }) => resolve(service, request, requestHeader, asObject),
  eventStream: (_request, { requestHeader, signal }) => eventStream(service, requestHeader, signal)
})
