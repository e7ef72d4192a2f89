import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ApiKey, KeyId, KeyType, Label, RateLimit } from "../../domain/access/ApiKey.ts"
import { NotFound, Unavailable } from "../../domain/errors.ts"
import { Management, ServiceRole } from "../access/Access.ts"
import { asRecordChange } from "../wire/RecordChange.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"

const params = { id: KeyId }

/** API keys (spec: Keys). `rate_limit` is in requests a minute; null or absent: unlimited. */
export class KeysApi extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.get("list", "/", { success: Schema.Array(ApiKey.json), error: Unavailable }).annotateMerge(
      OpenApi.annotations({ summary: "List keys, including revoked ones" })
    ),
    HttpApiEndpoint.post("create", "/", {
      payload: Schema.Struct({
        keyType: KeyType,
        label: Schema.optionalKey(Label),
        rate_limit: Schema.optionalKey(RateLimit)
      }),
      success: Schema.Struct({ key: ApiKey.json, secret: Schema.String }).pipe(HttpApiSchema.status(201)),
      error: Unavailable
    }).annotateMerge(OpenApi.annotations({ summary: "Create a key; `secret` is returned only once" })),
    HttpApiEndpoint.patch("update", "/:id", {
      params,
      payload: asRecordChange(
        Schema.Struct({ label: Schema.optionalKey(Label), rate_limit: Schema.optionalKey(RateLimit) }),
        ApiKey.json
      ),
      success: ApiKey.json,
      error: [NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Change a key's label or rate limit" })),
    HttpApiEndpoint.delete("revoke", "/:id", {
      params,
      success: Success,
      error: [NotFound, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Revoke a key; its record stays" }))
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/keys")
  .annotateMerge(OpenApi.annotations({ title: "API keys", description: "Create, limit and revoke API keys" })) {}

/** The list of keys for callers of the client API. */
export class ClientKeysApi extends HttpApiGroup.make("clientKeys")
  .add(
    HttpApiEndpoint.get("list", "/v1/keys", { success: Schema.Array(ApiKey.json), error: Unavailable }).annotateMerge(
      OpenApi.annotations({ summary: "List keys, including revoked ones" })
    )
  )
  .middleware(ServiceRole)
  .annotateMerge(OpenApi.annotations({ title: "API keys (client API)", description: "Management read" })) {}
