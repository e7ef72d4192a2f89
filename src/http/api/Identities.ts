import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { BadGateway, GatewayTimeout, InvalidRequest, Unavailable } from "../../domain/errors.ts"
import { Identity } from "../../domain/identity/Identity.ts"
import { ServiceRole } from "../access/Access.ts"

const Text = Schema.String.check(Schema.isBetweenLength(1, 1000), Schema.isPattern(/^[^\p{Cc}]+$/u))

/** The identities of the identity provider, which alone creates and changes them (spec: Sessions). */
export class IdentitiesApi extends HttpApiGroup.make("identities")
  .add(
    HttpApiEndpoint.get("list", "/v1/auth/identities", {
      query: {
        page_size: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 250 }))),
        page_token: Schema.optionalKey(Text),
        identifier: Schema.optionalKey(Text)
      },
      success: Schema.Struct({
        identities: Schema.Array(Identity),
        next_page_token: Schema.NullOr(Schema.String)
      }),
      error: [InvalidRequest, Unavailable, BadGateway, GatewayTimeout]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List identities",
        description: "`page_size` defaults to 50; `identifier` finds the identity that signs in with that name."
      })
    )
  )
  .middleware(ServiceRole)
  .annotateMerge(OpenApi.annotations({ title: "Identities", description: "Management read" })) {}
