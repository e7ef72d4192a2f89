import { Context, type Effect } from "effect"
import {
  type BadGateway,
  type GatewayTimeout,
  type NotFound,
  type NotImplemented,
  type PayloadTooLarge,
  type Unavailable
} from "../../../domain/errors.ts"
import { type Actor } from "../Db.ts"

/** A request for a function, from within the service. */
export interface FunctionRequest {
  /** Default: POST. */
  readonly method?: string
  /** What follows the function's name in the URL: "", or a path or query that begins with `/` or `?`. Default: "". */
  readonly path?: string
  /** Names are in lower case. Those of the caller (`x-svc-*`) and of the connection are the service's to set. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** For whom the function runs. Default: the service itself, whose role is `service_role`. */
  readonly actor?: Actor
}

export interface FunctionResponse {
  readonly status: number
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The whole body, of at most 1 MiB. */
  readonly body: Uint8Array
}

/**
 * NotFound FUNCTION_NOT_FOUND: there is no such function. NotImplemented: no engine is installed. BadGateway: the function
 * ended, or never started. GatewayTimeout: it exceeded its time limit. Unavailable: it has as many calls as it may have at
 * a time. PayloadTooLarge: its response is larger than `FunctionResponse` allows. A response of the function with any status is a success here.
 */
export type FunctionFailure = NotFound | NotImplemented | BadGateway | GatewayTimeout | Unavailable | PayloadTooLarge

/** Port: calls of functions from within the service, which are neither authenticated nor sent over its own network. */
export class FunctionInvoker extends Context.Service<
  FunctionInvoker,
  {
    /** Starts the function if it is not running. Interruption ends the call. */
    readonly invoke: (name: string, request: FunctionRequest) => Effect.Effect<FunctionResponse, FunctionFailure>
  }
>()("svc/services/FunctionInvoker") {}
