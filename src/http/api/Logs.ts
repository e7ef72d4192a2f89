import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { LogPage, LogSearch } from "../../domain/logs/Line.ts"
import { Management } from "../access/Access.ts"

/** The log lines that are kept on the machine that answers. */
export class LogsApi extends HttpApiGroup.make("logs")
  .add(
    HttpApiEndpoint.get("search", "/api/logs", { query: LogSearch, success: LogPage }).annotateMerge(
      OpenApi.annotations({
        summary: "Search the service's log and that of the embedded PostgreSQL, the newest first",
        description: `Of the replica that answers, which \`host\` names, with all its workers; other replicas have their own. \`limit\` defaults to 200; for
older lines, set \`to\` to the time of the last one. Lines of requests are in \`GET /api/requests\`.`
      })
    )
  )
  .middleware(Management)
  .annotateMerge(OpenApi.annotations({ title: "Logs" })) {}
