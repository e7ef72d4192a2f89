import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Unavailable } from "../../domain/errors.ts"
import { ChangeStatus } from "../../domain/changes/ChangeStatus.ts"
import { Management } from "../access/Access.ts"

/** The source of row changes for realtime and webhooks. */
export class ChangesApi extends HttpApiGroup.make("changes")
  .add(
    HttpApiEndpoint.get("status", "/api/changes", { success: ChangeStatus, error: Unavailable }).annotateMerge(
      OpenApi.annotations({
        summary: "Show where row changes come from, and how far their reader is behind",
        description:
          "Triggers, or with `SVC_CHANGES=wal` the write-ahead log. `remaining_bytes` is what PostgreSQL may add to the log before it drops what the slot needs, and changes are missing."
      })
    )
  )
  .middleware(Management)
  .annotateMerge(OpenApi.annotations({ title: "Changes" })) {}
