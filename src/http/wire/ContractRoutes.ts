import { Effect } from "effect"
import { type HttpMethod, type HttpRouter, type HttpServerRequest, type HttpServerResponse } from "effect/http"

interface Contract {
  readonly endpoints: Readonly<
    Record<string, { readonly method: HttpMethod.HttpMethod; readonly path: HttpRouter.PathInput }>
  >
}

type Handler<E> = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  E,
  HttpServerRequest.HttpServerRequest | HttpRouter.RouteContext
>
type Handlers<Names extends PropertyKey> = { readonly [Name in Names]: Handler<unknown> }
type Only<Names extends PropertyKey, A> = A & { readonly [Name in Exclude<keyof A, Names>]: never }

/**
 * Serves a contract on the router itself, where HttpApi would decode what is passed through. A handler for each
 * endpoint, by name: the type checker refuses an endpoint that is described but not served, and the reverse.
 */
export const addRoutes = <C extends Contract, All extends Handlers<keyof C["endpoints"]>>(
  router: HttpRouter.HttpRouter,
  { endpoints }: C,
  handlers: Only<keyof C["endpoints"], All>
) =>
  Effect.forEach(
    Object.entries(endpoints),
    ([name, { method, path }]) =>
      router.add(method as "GET", path, handlers[name as keyof All] as Handler<Effect.Error<All[keyof All]>>),
    { discard: true }
  )
