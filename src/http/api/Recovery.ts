import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Branch } from "../../domain/branches/Branch.ts"
import { Conflict, Forbidden, NotImplemented, Unavailable, Unprocessable } from "../../domain/errors.ts"
import { RecoveryDrill, RecoveryDrills } from "../../domain/recovery/Drill.ts"
import { PointInTime, RecoveryKeyText, RecoveryState } from "../../domain/recovery/Recovery.ts"
import { ChangesQuery, ChangesSince } from "../../domain/recovery/TableChanges.ts"
import { Management } from "../access/Access.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"

/** Point-in-time recovery (spec: the endpoint for point-in-time restore). */
export class RecoveryApi extends HttpApiGroup.make("recovery")
  .add(
    HttpApiEndpoint.get("state", "/", { success: RecoveryState, error: [NotImplemented, Unavailable] }).annotateMerge(
      OpenApi.annotations({
        summary: "Show which times can be restored",
        description: "501 `PITR_NOT_CONFIGURED` unless `SVC_PITR` is set."
      })
    ),
    HttpApiEndpoint.post("restore", "/", {
      headers: { prefer: Schema.optionalKey(Schema.String) },
      payload: PointInTime,
      success: [Branch.pipe(HttpApiSchema.status(201)), Branch.pipe(HttpApiSchema.status(202))],
      error: [NotImplemented, Unprocessable, Conflict, Forbidden, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Restore the database as of a time into a new branch",
        description:
          "`target_time` is ISO 8601 with a time zone, from `earliest` to `latest`; otherwise 422 `TARGET_TIME_OUTSIDE`. Responds when the branch can be used, or at once with 202 for `Prefer: respond-async`. The restore continues when the caller leaves. `connection` contains the password of the branch's login, which is only shown here."
      })
    ),
    HttpApiEndpoint.get("drills", "/drills", {
      success: RecoveryDrills,
      error: [NotImplemented, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the drills, the newest first",
        description:
          "A drill restores the archive to a recent moment into a temporary cluster, reads all of it, and removes it: after each base backup (`SVC_PITR_DRILL`), and on request. At most 100."
      })
    ),
    HttpApiEndpoint.post("startDrill", "/drills", {
      success: RecoveryDrill.pipe(HttpApiSchema.status(202)),
      error: [NotImplemented, Conflict, Unprocessable, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({ summary: "Start a drill", description: "409 `DRILL_RUNNING` while one runs." })
    ),
    HttpApiEndpoint.get("changes", "/changes", {
      query: ChangesQuery,
      success: ChangesSince,
      error: [NotImplemented, Unprocessable, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Count the rows of each table that have changed since a time",
        description:
          "What a restore to `since` would take back. Counts are PostgreSQL's, read once a minute: they include changes from `counted_from` on, rows that were written twice, and transactions that were rolled back. Tables that were dropped or truncated come first; at most 200."
      })
    ),
    HttpApiEndpoint.post("makeKey", "/key", {
      success: RecoveryKeyText.pipe(HttpApiSchema.status(201)),
      error: [NotImplemented, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Make the recovery key, in place of the last one",
        description: "Opens the archive without the installation's secrets. It is only shown here: keep it elsewhere."
      })
    ),
    HttpApiEndpoint.post("confirmKey", "/key/confirm", {
      payload: RecoveryKeyText,
      success: Success,
      error: [NotImplemented, Unprocessable, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Confirm that the recovery key was kept",
        description: "422 `RECOVERY_KEY_WRONG` for another key."
      })
    )
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/backups/pitr")
  .annotateMerge(
    OpenApi.annotations({ title: "Recovery", description: "The database as of any second of the last days" })
  ) {}
