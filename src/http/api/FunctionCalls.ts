import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  BadGateway,
  GatewayTimeout,
  NotFound,
  NotImplemented,
  PayloadTooLarge,
  Unavailable
} from "../../domain/errors.ts"

const error = [NotFound, PayloadTooLarge, NotImplemented, BadGateway, Unavailable, GatewayTimeout]
const params = { name: Schema.String }
const description =
  "The function gets the request with all headers but cookies, and its response is sent as it is. Any method, and paths below, are passed on too. See docs/functions.md."

/** The contract of `/v1/functions/{name}`; served by http/handlers/FunctionCalls.ts on the router itself. */
export class FunctionCallsApi extends HttpApiGroup.make("functionCalls")
  .add(
    HttpApiEndpoint.get("read", "/v1/functions/:name", { params, success: Schema.Unknown, error }).annotateMerge(
      OpenApi.annotations({ summary: "Call a function with GET", description })
    ),
    HttpApiEndpoint.post("call", "/v1/functions/:name", {
      params,
      payload: Schema.Unknown,
      success: Schema.Unknown,
      error
    }).annotateMerge(OpenApi.annotations({ summary: "Call a function", description }))
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Functions (client API)", description: "Calls of code in the service" })
  ) {}
