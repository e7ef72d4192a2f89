import { HttpApi, OpenApi } from "effect/http-api"
import { DatabaseSchemasApi } from "./api/DatabaseSchemas.ts"
import { HealthApi } from "./api/Health.ts"
import { ClientKeysApi, KeysApi } from "./api/Keys.ts"
import { RealtimeApi } from "./api/Realtime.ts"
import { StatusApi } from "./api/Status.ts"
import { ClientStorageApi, StorageApi, StorageObjectsApi, StorageUploadsApi } from "./api/Storage.ts"
import { ClientWebhooksApi, WebhooksApi } from "./api/Webhooks.ts"
import { RequestErrors } from "./middleware/RequestErrors.ts"

/** Everything served through HttpApi. The row path is served on the router itself; http/OpenApi.ts joins both. */
export class Api extends HttpApi.make("svc")
  .add(HealthApi)
  .add(StatusApi)
  .add(DatabaseSchemasApi)
  .add(ClientKeysApi)
  .add(KeysApi)
  .add(RealtimeApi)
  .add(ClientWebhooksApi)
  .add(WebhooksApi)
  .add(ClientStorageApi)
  .add(StorageApi)
  .add(StorageObjectsApi)
  .add(StorageUploadsApi)
  .middleware(RequestErrors)
  .annotateMerge(OpenApi.annotations({ title: "Backend platform", version: "0.1.0" })) {}
