import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Conflict, Forbidden, InvalidRequest, NotFound, PreconditionFailed, Unavailable } from "../../domain/errors.ts"
import {
  NewWorkspaceItem,
  WorkspaceEntry,
  WorkspaceItem,
  WorkspaceItemChange,
  WorkspaceItemId,
  WorkspaceKind
} from "../../domain/workspace/Item.ts"
import { mostStatements, NewRanStatement, RanStatement } from "../../domain/workspace/Statement.ts"
import { Management } from "../access/Access.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"
import { IfMatch, IfNoneMatch, Tagged } from "../wire/Preconditions.ts"
import { asRecordChange } from "../wire/RecordChange.ts"

const params = { id: WorkspaceItemId }
const OneItem = HttpApiSchema.WithHeaders(WorkspaceItem, Tagged)
const refused = [NotFound, InvalidRequest, Forbidden, PreconditionFailed, Unavailable] as const

/** What people keep in the dashboard, each their own, and what they share. The ETag of an item is its revision. */
export class WorkspaceApi extends HttpApiGroup.make("workspace")
  .add(
    HttpApiEndpoint.get("list", "/items", {
      query: {
        kind: Schema.optionalKey(WorkspaceKind),
        schema: Schema.optionalKey(Schema.String),
        table: Schema.optionalKey(Schema.String)
      },
      success: Schema.Array(WorkspaceEntry),
      error: Unavailable
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List your own items and those that are shared, without their content",
        description: "A `query` is a saved statement, a `view` the way a table is shown, a `board` charts of queries."
      })
    ),
    HttpApiEndpoint.post("create", "/items", {
      payload: NewWorkspaceItem,
      success: OneItem.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, Conflict, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Save an item; you are its owner",
        description: "The fields of `content` determine the kind: `sql` a query, `table` a view, `charts` a board."
      })
    ),
    HttpApiEndpoint.get("find", "/items/:id", {
      params,
      headers: IfNoneMatch,
      success: OneItem,
      error: [NotFound, InvalidRequest, Unavailable]
    }).annotateMerge(OpenApi.annotations({ summary: "Get an item" })),
    HttpApiEndpoint.patch("update", "/items/:id", {
      params,
      headers: IfMatch,
      payload: asRecordChange(WorkspaceItemChange, WorkspaceItem),
      success: OneItem,
      error: [...refused, Conflict]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Update an item of yours",
        description: "Changing a shared item whose owner was a key that has been revoked makes it yours."
      })
    ),
    HttpApiEndpoint.delete("remove", "/items/:id", {
      params,
      headers: IfMatch,
      success: Success,
      error: refused
    }).annotateMerge(OpenApi.annotations({ summary: "Delete an item of yours" })),
    HttpApiEndpoint.get("history", "/history", {
      success: Schema.Array(RanStatement),
      error: Unavailable
    }).annotateMerge(OpenApi.annotations({ summary: "List the statements that you have run, newest first" })),
    HttpApiEndpoint.post("addHistory", "/history", {
      payload: Schema.Struct({
        statements: Schema.Array(NewRanStatement).check(Schema.isBetweenLength(1, mostStatements))
      }),
      success: Success,
      error: [InvalidRequest, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Remember statements that have run",
        description: `The last ${mostStatements} are kept for 30 days, each text once; texts with the word \`password\` are not kept.`
      })
    ),
    HttpApiEndpoint.delete("clearHistory", "/history", { success: Success, error: Unavailable }).annotateMerge(
      OpenApi.annotations({ summary: "Delete the statements that you have run from your history" })
    )
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/workspace")
  .annotateMerge(
    OpenApi.annotations({ title: "Workspace", description: "Queries, views of tables, boards, and your history" })
  ) {}
