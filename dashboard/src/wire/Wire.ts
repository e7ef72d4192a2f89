import type { Schema } from "effect"
import type { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import type { Api } from "../../../src/http/Api.ts"
import type { SqlApi } from "../../../src/http/api/Sql.ts"

/*
 * What goes over the wire, from the server's own contract. Only types are imported, so nothing of the server is in the
 * bundle, and nothing is generated: a renamed field of an endpoint is an error in the page that uses it.
 */

type GroupsOf<A> = A extends HttpApi.HttpApi<infer _Id, infer G> ? G : never
type EndpointsOf<G> = G extends HttpApiGroup.HttpApiGroup<infer _I, infer E, infer _T> ? E : never

/** The JSON of a schema. A codec of the wire is made around the schema that the contract has, whose encoded side it is. */
type Json<S> =
  S extends HttpApiSchema.WithHeaders<infer I, infer _H>
    ? Json<I>
    : S extends { readonly schema: infer Inner extends Schema.Top }
      ? Inner["Encoded"]
      : S extends Schema.Top
        ? S["Encoded"]
        : never
type Plain<S> = S extends { readonly schema: infer Inner extends Schema.Top } ? Inner["Encoded"] : never

type Shape<E> =
  E extends HttpApiEndpoint.HttpApiEndpoint<
    infer _I,
    infer M,
    infer P,
    infer Params,
    infer Q,
    infer Payload,
    infer _H,
    infer S,
    infer _E,
    infer _Mi,
    infer _MS
  >
    ? { [K in `${M} ${P}`]: { params: Plain<Params>; query: Plain<Q>; payload: Json<Payload>; success: Json<S> } }
    : never
type All<U> = (U extends unknown ? (k: U) => void : never) extends (k: infer I) => void ? I : never

/** Every endpoint by its method and path: `"PATCH /api/keys/:id": { params, query, payload, success }`. */
export type Wire = All<Shape<EndpointsOf<GroupsOf<typeof Api> | typeof SqlApi>>>
export type Op = keyof Wire & string
