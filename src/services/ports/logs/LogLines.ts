import { Context, type Effect } from "effect"
import { type LogPage, type LogSearch } from "../../../domain/logs/Line.ts"

/** Port: the log lines that are kept on this machine. Real layer: layers/logs/Search.ts, on SVC_DATA_DIR. */
export class LogLines extends Context.Service<
  LogLines,
  {
    /** One search at a time; others wait. */
    readonly search: (query: LogSearch) => Effect.Effect<LogPage>
  }
>()("svc/services/LogLines") {}
