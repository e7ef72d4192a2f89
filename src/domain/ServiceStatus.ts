import { Schema } from "effect"

/** What `GET /v1/status` answers. `uptime_seconds` is of this process. */
export const ServiceStatus = Schema.Struct({
  status: Schema.Literal("ok"),
  version: Schema.String,
  uptime_seconds: Schema.Int,
  database: Schema.Struct({ status: Schema.Literal("ok"), version: Schema.String })
})
export type ServiceStatus = typeof ServiceStatus.Type
