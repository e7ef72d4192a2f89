import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { shownRowCopy } from "../../domain/audit/Shown.ts"
import { describeChange } from "../../services/audit/Change.ts"
import { BranchRows } from "../../services/branches/rows/BranchRows.ts"
import { Api } from "../Api.ts"

export const BranchRowsHandlers = HttpApiBuilder.group(
  Api,
  "branchRows",
  Effect.fn(function* (handlers) {
    const rows = yield* BranchRows
    return handlers.handleAll({
      listTables: ({ params }) => rows.tables(params.id),
      listDifferences: ({ params, query }) => rows.differences(params.id, query),
      countDifferences: ({ params, query }) => rows.count(params.id, query),
      copyRows: ({ params, payload }) =>
        Effect.tap(rows.copy(params.id, payload), (result) =>
          describeChange({ subject: `branch:${params.id}`, after: shownRowCopy(result) })
        )
    })
  })
)
