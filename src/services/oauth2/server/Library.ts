import { Effect } from "effect"
import { type IncomingMessage, type ServerResponse } from "node:http"
import type { Provider } from "oidc-provider"
import { Unavailable } from "../../../domain/errors.ts"

/** npm oidc-provider, configured. */
export interface Loaded {
  readonly provider: Provider
  /** Answers a request. Rejects with what the library answers with a status of 500. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>
}

/** The library is loaded when it is first needed: most starts of the service don't need it. */
export type Library = Effect.Effect<Loaded, Unavailable>

/** An error of the library that is its caller's fault. */
interface Refusal extends Error {
  readonly error: string
  readonly error_description?: string
}
const isRefusal = (error: unknown): error is Refusal =>
  error instanceof Error && "error" in error && "expose" in error && error.expose === true

/** Calls the library. An unreachable database fails as everywhere; `refused` maps refusals, all else is a defect. */
export const libraryCall = <A, E = never>(
  call: () => Promise<A>,
  { refused }: { readonly refused?: (refusal: Refusal) => E } = {}
): Effect.Effect<A, E | Unavailable> =>
  Effect.catch(
    Effect.tryPromise({ try: call, catch: (error) => ({ error }) }),
    ({ error }): Effect.Effect<never, E | Unavailable> => {
      if (error instanceof Unavailable) return Effect.fail(error)
      return refused !== undefined && isRefusal(error) ? Effect.fail(refused(error)) : Effect.die(error)
    }
  )
