import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { auditCsv } from "../../domain/audit/Entry.ts"
import { Audit } from "../../services/audit/Audit.ts"
import { headersOf } from "../wire/Headers.ts"
import { Api } from "../Api.ts"

export const AuditHandlers = HttpApiBuilder.group(
  Api,
  "audit",
  Effect.fn(function* (handlers) {
    const audit = yield* Audit
    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query }) {
        const { accept } = headersOf(yield* HttpServerRequest.HttpServerRequest)
        const page = yield* audit.list(query)
        // A page has at most 1,000 entries.
        return accept?.toLowerCase().includes("text/csv") === true
          ? HttpServerResponse.text(auditCsv(page.entries), {
              contentType: "text/csv; charset=utf-8",
              headers: page.next === null ? {} : { "x-next-before": String(page.next) }
            })
          : page
      })
    })
  })
)
