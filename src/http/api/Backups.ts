import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Backup, BackupId, LostObjects, NewBackup } from "../../domain/backups/Backup.ts"
import { Branch, RestoreOptions } from "../../domain/branches/Branch.ts"
import {
  BadGateway,
  Conflict,
  Forbidden,
  GatewayTimeout,
  InvalidRequest,
  NotFound,
  Unavailable,
  Unprocessable
} from "../../domain/errors.ts"
import { Management } from "../access/Access.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"

const params = { id: BackupId }
/** Errors of the object store. */
const stored = [InvalidRequest, Forbidden, NotFound, Conflict, BadGateway, Unavailable, GatewayTimeout] as const

const Bytes = Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array())

/** Backups of the database (spec: Backup). */
export class BackupsApi extends HttpApiGroup.make("backups")
  .add(
    HttpApiEndpoint.get("list", "/", { success: Schema.Array(Backup), error: Unavailable }).annotateMerge(
      OpenApi.annotations({ summary: "List backups, newest first" })
    ),
    HttpApiEndpoint.post("create", "/", {
      payload: NewBackup,
      success: Backup.pipe(HttpApiSchema.status(201)),
      error: [NotFound, Conflict, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Start a backup",
        description: "At most two run at a time. The database stays usable meanwhile."
      })
    ),
    HttpApiEndpoint.get("find", "/:id", { params, success: Backup, error: [NotFound, Unavailable] }).annotateMerge(
      OpenApi.annotations({ summary: "Show a backup and its restores" })
    ),
    HttpApiEndpoint.delete("remove", "/:id", {
      params,
      success: Success,
      error: stored
    }).annotateMerge(
      OpenApi.annotations({ summary: "Delete a backup, its file and its copy; stops it first if it is in progress" })
    ),
    HttpApiEndpoint.post("cancel", "/:id/cancel", {
      params,
      success: Backup,
      error: [NotFound, Conflict, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Cancel a backup in progress" })),
    HttpApiEndpoint.get("file", "/:id/file", {
      params,
      headers: { range: Schema.optionalKey(Schema.String) },
      success: [Bytes, Bytes.pipe(HttpApiSchema.status(206))],
      error: [...stored, Unprocessable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Download the file of a backup, or a range of it",
        description: "`custom` is an archive for pg_restore; `plain` is SQL for psql, compressed with zstd."
      })
    ),
    HttpApiEndpoint.get("globals", "/:id/globals", {
      params,
      success: Schema.String.pipe(HttpApiSchema.asText()),
      error: [NotFound, Conflict, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Get the SQL for roles and settings that the file refers to",
        description: "Creates roles, without passwords, and the settings of the database. It can be run more than once."
      })
    ),
    HttpApiEndpoint.get("objects", "/:id/objects", {
      params,
      success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "application/x-ndjson" })),
      error: [...stored, Unprocessable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the objects that the store had when the backup was made",
        description: "One JSON object a line: `bucket`, `key`, `size`, `etag`, and `version` where the bucket has them."
      })
    ),
    HttpApiEndpoint.get("lostObjects", "/:id/objects/lost", {
      params,
      success: LostObjects,
      error: [...stored, Unprocessable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Compare these objects with the store: those that are gone or changed since",
        description: "`objects` has the first 1000 of them."
      })
    ),
    HttpApiEndpoint.post("restore", "/:id/restore", {
      params,
      headers: { prefer: Schema.optionalKey(Schema.String) },
      payload: [RestoreOptions, Schema.Void],
      success: [Branch.pipe(HttpApiSchema.status(201)), Branch.pipe(HttpApiSchema.status(202))],
      error: [...stored, Unprocessable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Restore a backup into a new branch",
        description:
          "Responds when the branch can be used, or at once with 202 for `Prefer: respond-async`. The restore continues when the caller leaves. `connection` contains the password of the branch's login, which is only shown here."
      })
    )
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/backups")
  .annotateMerge(
    OpenApi.annotations({ title: "Backups", description: "Dumps of the database, restored into branches" })
  ) {}
