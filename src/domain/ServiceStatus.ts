import { Schema } from "effect"

/** The response of `GET /v1/status`. `uptime_seconds` is that of this process. */
export const ServiceStatus = Schema.Struct({
  status: Schema.Literal("ok"),
  version: Schema.String,
  uptime_seconds: Schema.Int,
  database: Schema.Struct({ status: Schema.Literal("ok"), version: Schema.String })
})
export type ServiceStatus = typeof ServiceStatus.Type
