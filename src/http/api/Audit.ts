import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AuditList, AuditQuery } from "../../domain/audit/Entry.ts"
import { Unavailable } from "../../domain/errors.ts"
import { Management } from "../access/Access.ts"

/** The changes made by the management API, with their authors. */
export class AuditApi extends HttpApiGroup.make("audit")
  .add(
    HttpApiEndpoint.get("list", "/api/audit", {
      query: AuditQuery,
      success: AuditList,
      error: Unavailable
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List changes made by the management API, the newest first",
        description: `Who did what to what, with what it was before and after, without secrets; failed and refused attempts too. \`next\` is the
parameter \`before\` of the next page. With \`Accept: text/csv\` the page is CSV, and the header \`X-Next-Before\` has \`next\`. Entries are deleted after SVC_AUDIT_DAYS, and can't be changed or deleted otherwise.`
      })
    )
  )
  .middleware(Management)
  .annotateMerge(OpenApi.annotations({ title: "Audit" })) {}
