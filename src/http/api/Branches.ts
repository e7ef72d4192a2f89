import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Branch, BranchChanges, BranchId, NewBranch } from "../../domain/branches/Branch.ts"
import { Conflict, Forbidden, NotFound, Unavailable } from "../../domain/errors.ts"
import { Management } from "../access/Access.ts"
import { asRecordChange } from "../wire/RecordChange.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"

const params = { id: BranchId }

/** Branches of the database (spec: Branch). */
export class BranchesApi extends HttpApiGroup.make("branches")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: { all: Schema.optionalKey(Schema.Literals(["true", "false"])) },
      success: Schema.Array(Branch),
      error: Unavailable
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List branches that can be used",
        description: "With `all=true` also those that are being filled, with their `progress`."
      })
    ),
    HttpApiEndpoint.post("create", "/", {
      headers: { prefer: Schema.optionalKey(Schema.String) },
      payload: NewBranch,
      success: [Branch.pipe(HttpApiSchema.status(201)), Branch.pipe(HttpApiSchema.status(202))],
      error: [Conflict, Forbidden, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Copy the database into a new branch",
        description:
          "Responds when the branch can be used, or with `Prefer: respond-async` with 202 when only the copy is left to wait for, which continues when the caller leaves; if it fails, `GET` of the branch is 404 with the reason in `details`. `connection` contains the password of the branch's login, which is only shown here. Without `ttlHours`, or with 0, it does not expire. `access`: `service_role`, the default, closes it to anon keys and JWTs; `clients` opens it."
      })
    ),
    HttpApiEndpoint.get("find", "/:id", { params, success: Branch, error: [NotFound, Unavailable] }).annotateMerge(
      OpenApi.annotations({
        summary: "Show a branch",
        description: "Also shows a branch that is being filled: its `status` is `restoring` until it can be used."
      })
    ),
    HttpApiEndpoint.patch("change", "/:id", {
      params,
      payload: asRecordChange(BranchChanges, Branch),
      success: Branch,
      error: [NotFound, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Change a branch",
        description:
          "`access` opens it to anon keys and JWTs, or closes it, at once. `ttlHours` counts from now; with 0 it no longer expires."
      })
    ),
    HttpApiEndpoint.delete("remove", "/:id", {
      params,
      success: Success,
      error: [NotFound, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Drop a branch and terminate its sessions",
        description: "Also cancels a branch that is being filled."
      })
    )
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/branches")
  .annotateMerge(
    OpenApi.annotations({
      title: "Branches",
      description: "Copies of the database, used through `/v1` with the header `X-Svc-Branch: <id>`"
    })
  ) {}
