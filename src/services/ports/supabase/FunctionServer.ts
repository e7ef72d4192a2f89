import { Context, type Effect, type Scope, type Stream } from "effect"
import { type Readable } from "node:stream"
import { type BadGateway, type GatewayTimeout, type NotFound, PayloadTooLarge } from "../../../domain/errors.ts"

/** Bytes of a request's body. */
export const maxFunctionBody = 100 * 1024 * 1024
export const bodyTooLarge = new PayloadTooLarge({ error: "The body exceeds 100 MiB" })

export interface PassedOnCall {
  readonly method: string
  /** The path and query below the server's URL, beginning with a slash, sent as it is. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Undefined for requests without a body. */
  readonly body: Readable | undefined
}

export interface FunctionReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The body, which is read as fast as it is taken. Ends early if the server sends nothing for too long. */
  readonly body: Stream.Stream<Uint8Array, BadGateway>
}

/** Port: the HTTP server of SVC_FUNCTIONS_URL. Redirects are not followed. Implemented by layers/supabase/Functions.ts. */
export class FunctionServer extends Context.Service<
  FunctionServer,
  {
    /** Passes a request on, until the scope closes. NotFound if there is no such server. */
    readonly call: (
      call: PassedOnCall
    ) => Effect.Effect<FunctionReply, NotFound | BadGateway | GatewayTimeout | PayloadTooLarge, Scope.Scope>
  }
>()("svc/services/FunctionServer") {}
