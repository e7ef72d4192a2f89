import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { BranchId } from "../../domain/branches/Branch.ts"
import {
  ComparableTable,
  CountQuery,
  DifferenceCounts,
  DifferencePage,
  DifferencesQuery,
  maxCopied,
  RowCopy,
  RowCopyResult
} from "../../domain/branches/rows/Comparison.ts"
import {
  Conflict,
  Forbidden,
  GatewayTimeout,
  InvalidRequest,
  NotFound,
  Unavailable,
  Unprocessable
} from "../../domain/errors.ts"
import { Management } from "../access/Access.ts"
import { Utf8Bodies } from "../wire/Body.ts"

const params = { id: BranchId }
const compareErrors = [
  InvalidRequest,
  Forbidden,
  NotFound,
  Conflict,
  Unprocessable,
  Unavailable,
  GatewayTimeout
] as const

/** Rows of a branch compared with the main database's, and copied into it (spec: Branch). */
export class BranchRowsApi extends HttpApiGroup.make("branchRows")
  .add(
    HttpApiEndpoint.get("listTables", "/tables", {
      params,
      success: Schema.Array(ComparableTable),
      error: compareErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the tables of a branch and of the main database",
        description:
          "`keys` are those by which rows can be compared, `refusal` says why a table can't be. The numbers of rows are estimates."
      })
    ),
    HttpApiEndpoint.get("listDifferences", "/differences", {
      params,
      query: DifferencesQuery.fields,
      success: DifferencePage,
      error: compareErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Compare a table with the main database's, by key",
        description:
          "Rows that are `only_in_branch`, `changed` or `only_in_main`, in the order of the key; `kinds` chooses some, separated by commas. Both sides are shown, with `differs`. `cursor` begins the next page; after 15 s a page ends early. `key` names a unique index instead of the primary key."
      })
    ),
    HttpApiEndpoint.get("countDifferences", "/differences/count", {
      params,
      query: CountQuery.fields,
      success: DifferenceCounts,
      error: compareErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Count the differences of a table",
        description:
          "Counts for 15 s at most; a `cursor` that is not null continues, with counts of the rest. The digests of the last response name all rows of a kind, for a copy of `all`."
      })
    ),
    HttpApiEndpoint.post("copyRows", "/copy-rows", {
      params,
      payload: RowCopy,
      success: RowCopyResult,
      error: compareErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Copy rows of a branch into the main database",
        description: `One transaction, of ${maxCopied} rows at most. \`rows\` have the key and the token of a comparison; \`all\` has the digests of a count. If a row has changed since, nothing is written (409 \`COPY_ROWS_CHANGED\`). Rows that are only in the main database are deleted if \`delete\` is true. Triggers and foreign keys apply; tables that others refer to are written first. With \`dry_run\` everything is rolled back.`
      })
    )
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/branches/:id")
  .annotateMerge(
    OpenApi.annotations({
      title: "Rows of branches",
      description: "Rows back from a branch into the main database, with the rights of the management role"
    })
  ) {}
