import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { BadGateway, GatewayTimeout, InvalidRequest, Unavailable } from "../../domain/errors.ts"
import { IdentityRecord } from "../../domain/identity/SessionRecord.ts"
import { ServiceRole } from "../access/Access.ts"

const Text = Schema.String.check(Schema.isBetweenLength(1, 1000), Schema.isPattern(/^[^\p{Cc}]+$/u))

/** Whom the idp knows; made and changed there, not here (spec: Sessions). */
export class IdentitiesApi extends HttpApiGroup.make("identities")
  .add(
    HttpApiEndpoint.get("list", "/v1/auth/identities", {
      query: {
        page_size: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 250 }))),
        page_token: Schema.optionalKey(Text),
        identifier: Schema.optionalKey(Text)
      },
      success: Schema.Struct({
        identities: Schema.Array(IdentityRecord),
        next_page_token: Schema.NullOr(Schema.String)
      }),
      error: [InvalidRequest, Unavailable, BadGateway, GatewayTimeout]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List identities",
        description: "50 unless `page_size` says otherwise; `identifier` finds who signs in by that name."
      })
    )
  )
  .middleware(ServiceRole)
  .annotateMerge(OpenApi.annotations({ title: "Identities", description: "Management read" })) {}
