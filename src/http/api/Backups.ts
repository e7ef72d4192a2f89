import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Backup, BackupId, NewBackup, PointInTime } from "../../domain/backups/Backup.ts"
import { Branch, NewBranch } from "../../domain/branches/Branch.ts"
import {
  BadGateway,
  Conflict,
  Forbidden,
  GatewayTimeout,
  InvalidRequest,
  NotFound,
  NotImplemented,
  Unavailable,
  Unprocessable
} from "../../domain/errors.ts"
import { Management } from "../access/Access.ts"
import { Utf8Bodies } from "../front/Utf8Bodies.ts"
import { Success } from "../wire/Body.ts"

const params = { id: BackupId }
/** What the object store may say. */
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
        summary: "Begin a backup",
        description: "Two are made at a time at most. Nobody is kept from the database by one."
      })
    ),
    // Before the routes with an id.
    HttpApiEndpoint.post("pointInTime", "/pitr", {
      payload: PointInTime,
      success: Backup.pipe(HttpApiSchema.status(201)),
      error: NotImplemented
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Go back to a moment",
        description: "Needs archived logs, which this service does not keep: 501 `PITR_NOT_CONFIGURED`."
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
      OpenApi.annotations({ summary: "Delete a backup, its file and its copy; one that is being made is stopped" })
    ),
    HttpApiEndpoint.post("cancel", "/:id/cancel", {
      params,
      success: Backup,
      error: [NotFound, Conflict, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Stop a backup that is being made" })),
    HttpApiEndpoint.get("file", "/:id/file", {
      params,
      headers: { range: Schema.optionalKey(Schema.String) },
      success: [Bytes, Bytes.pipe(HttpApiSchema.status(206))],
      error: stored
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Download the file of a backup, or one range of it",
        description: "`custom` is for pg_restore; `plain` is SQL for psql, compressed with zstd."
      })
    ),
    HttpApiEndpoint.get("globals", "/:id/globals", {
      params,
      success: Schema.String.pipe(HttpApiSchema.asText()),
      error: [NotFound, Conflict, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "SQL that makes what the file refers to but does not hold",
        description: "Roles without their passwords, and the settings of the database. Can be run more than once."
      })
    ),
    HttpApiEndpoint.post("restore", "/:id/restore", {
      params,
      headers: { prefer: Schema.optionalKey(Schema.String) },
      payload: [
        Schema.Struct({ label: Schema.optionalKey(NewBranch.fields.label), ttlHours: NewBranch.fields.ttlHours }),
        Schema.Void
      ],
      success: [Branch.pipe(HttpApiSchema.status(201)), Branch.pipe(HttpApiSchema.status(202))],
      error: [...stored, Unprocessable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Replay a backup into a new branch",
        description:
          "Answers when the branch can be used; with `Prefer: respond-async` at once, 202. It goes on when the caller leaves. `connection` holds the password of the branch's login, which is shown only now."
      })
    )
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/backups")
  // Every field that is wrong gets its line, not only the first.
  .annotate(HttpApi.PayloadParseOptions, { errors: "all" })
  .annotateMerge(
    OpenApi.annotations({ title: "Backups", description: "Dumps of the database, restored into branches" })
  ) {}
