/** Codes of rows, functions and SQL; see RequestCodes.ts. */
export const rowCodes = {
  FILTER_REQUIRED: [
    400,
    "PATCH or DELETE without a filter (`21000` on `/rest/v1`): add one; `id=not.is.null` matches all rows"
  ],
  LIMIT_NOT_ALLOWED: [
    400,
    "PATCH or DELETE with an `offset`, or a `limit` below the number of matching rows: select them with the filter. Nothing was changed"
  ],
  TOO_MANY_ROWS: [
    400,
    "More than 30,000 rows, or 60,000 values of rows with different keys, in one insert (fewer values with NOT NULL domains): use the same keys in all rows, or several requests"
  ],
  JSON_TOO_DEEP: [
    400,
    "The JSON for a table or function exceeds 10,000 levels; PostgreSQL itself reads some 16,000. Send it as the text of a string"
  ],
  RESULT_TOO_LARGE: [
    400,
    "The response exceeds `SVC_DB_MAX_RESPONSE_MIB` (16; 128 for service keys); a write was undone. Select less; `Prefer: return=minimal` for writes"
  ],
  TOO_MANY_EMBEDS: [400, "More than 50 embeds: use several requests, a view or a function"],
  EMBEDS_TOO_DEEP: [400, "Embeds nested more than 10 levels deep: use several requests, a view or a function"],
  SQL_EMPTY: [400, "The text contains no statement"],
  SQL_MULTIPLE_STATEMENTS: [400, "Several statements: use `/v1/sql/transaction`"],
  SQL_NOT_ALLOWED: [
    400,
    "COPY, LISTEN, transaction control and similar are not allowed; `/v1/sql/transaction` runs transactions"
  ],
  SQL_INVALID_TEXT: [400, "PostgreSQL can't store NUL and unpaired surrogates: remove them"],
  SQL_INVALID_PARAMETER: [400, "A parameter has an unsupported value; see the message"],
  SQL_ROW_LIMIT: [400, "`row_limit` is not 1–10000"],
  SQL_TIMEOUT: [400, "`timeout` is not 1–600000 ms"],
  SQL_STATEMENT_COUNT: [400, "A transaction does not have 1–20 statements"],
  DATABASE_UNAVAILABLE: [503, "PostgreSQL is unreachable: try again; if it persists, check the log"],
  NODE_UNAVAILABLE: [
    503,
    "A worker of the Citus cluster is down, or does not admit the role: the log has its address and the reason; see [Citus](scaling.md#citus)"
  ],
  POOL_EXHAUSTED: [
    503,
    "All connections were busy for 4 s: try again; look for slow statements; raise `SVC_DB_POOL_SIZE`"
  ],
  DATABASE_BUSY: [
    503,
    "The schema took too long to read, or a table of the service's own over 30 s, or two changes collided there: try again; look for locks on the catalogue and schema `svc`"
  ],
  DEFINITIONS_CHANGED: [
    503,
    "Definitions changed (DDL) before the statement began; nothing was executed: send it again"
  ],
  EXECUTION_IN_DOUBT: [
    503,
    "Definitions changed while the statement ran, and by the new ones it may run user code; or its functions dropped prepared statements. It was rolled back, and is [not repeated](rows.md#one-request-one-execution): send it again, unless its functions have effects that a rollback does not undo"
  ],
  DATABASE_NO_SPACE: [503, "The database's disk is full"],
  TABLE_BUSY: [503, "Another transaction has locked the table: try again when it has ended"]
} as const

/** Codes of MCP. */
export const mcpCodes = {
  MCP_BATCH: [400, "The body is an array: send one message"],
  SQL_TOO_LONG: [400, "A statement of a tool that only reads exceeds 20,000 characters: use `/v1/sql`"],
  SQL_NOT_READ_ONLY: [
    403,
    "The statement uses a function, operator or type that is not on the list for reading: use PostgreSQL's own, `pg_catalog.name` where a user has one of the same name, or run it on a branch"
  ],
  MCP_READ_ONLY: [403, "`SVC_MCP` does not allow writes here: write to a branch of `create_branch`, or set it"],
  MCP_NOT_OWN: [403, "`drop_branch` drops branches of `create_branch` only: use `DELETE /api/branches/{id}`"],
  MCP_ROLE_MISSING: [
    403,
    "The database lacks the role `svc_assistant` of read-only statements, and the service may not create it: run the statement of `hint` as an administrator, and restart the service"
  ],
  MCP_ORIGIN: [403, "The request is of a page of another site: set `PUBLIC_URL`"],
  MCP_HOST: [403, "The request's host is not that of `PUBLIC_URL`"],
  MCP_OFF: [404, "This service has no MCP server: set `SVC_MCP`"],
  MCP_NO_OAUTH2: [
    404,
    "The service has no OAuth 2.0 server of its own for MCP clients: give them the address of the other one"
  ],
  MCP_BRANCH_LIMIT: [409, "There are 5 branches of `create_branch`: drop one"]
} as const

/** Codes of realtime, webhooks and functions. */
export const eventCodes = {
  TABLE_NOT_WATCHABLE: [
    400,
    "Views, foreign tables, system tables and the like can't be watched: watch the underlying table"
  ],
  TABLE_DISTRIBUTED: [
    409,
    "Realtime and webhooks are not available for tables that are [distributed by Citus](scaling.md#citus), which have no triggers"
  ],
  TABLE_NOT_OWNED: [
    403,
    "The login of `DATABASE_URL` may not create triggers on the table: make it a member of the owner, or grant TRIGGER"
  ],
  TABLE_NOT_FOUND: [404, "No such table; see `GET /api/realtime/tables`"],
  SUBSCRIPTION_NOT_FOUND: [404, "The table has no subscription; see `GET /api/realtime/subscriptions`"],
  WEBHOOK_NOT_FOUND: [404, "No webhook with this id; see `GET /api/webhooks`"],
  LOG_NOT_FOUND: [404, "No such log entry; see `GET /api/webhooks/{id}/logs`. Old entries are deleted"],
  FUNCTION_NOT_FOUND: [404, "No function with this name; see `GET /api/functions`"],
  FUNCTION_VERSION_NOT_FOUND: [404, "The function has no such version; see `GET /api/functions/{name}/versions`"],
  SECRET_NOT_FOUND: [404, "No secret with this name; see `GET /api/functions/secrets`"],
  FUNCTION_NOT_BUILT: [
    422,
    "Deno could not build the function, as an import is missing or the code has a syntax error: see `details`"
  ],
  TOO_MANY_CONNECTIONS: [429, "One client has `SVC_REALTIME_MAX_PER_CLIENT` connections: close others"],
  FUNCTIONS_NOT_INSTALLED: [501, "Functions need Deno: run `npm install deno`, or set `SVC_FUNCTIONS_DENO`"],
  FUNCTION_FAILED: [502, "The function ended before it had answered, or could not be started: see its log"],
  FUNCTIONS_UNAVAILABLE: [502, "The server of `SVC_FUNCTIONS_URL` does not respond, or incorrectly"],
  TOO_MANY_CLIENTS: [503, "`SVC_REALTIME_MAX_CLIENTS` are connected: try again; add a replica; raise the limit"],
  FUNCTIONS_NETWORK_OPEN: [
    503,
    "The machine is in a private network of IPv6, which functions could reach; set SVC_FUNCTIONS_HOSTS"
  ],
  FUNCTION_BUSY: [
    503,
    "The function has `SVC_FUNCTIONS_CONCURRENCY` calls, or functions have `SVC_FUNCTIONS_PROCESSES` processes: try again; add a replica; raise the limit"
  ],
  FUNCTION_TIMEOUT: [
    504,
    "The function did not answer within `SVC_FUNCTIONS_TIMEOUT`, or computed for `SVC_FUNCTIONS_BLOCKED` without a pause"
  ],
  FUNCTION_BUILD_TIMEOUT: [504, "The imports of the function could not be fetched within 2 minutes: deploy it again"],
  FUNCTIONS_TIMEOUT: [504, "The server of `SVC_FUNCTIONS_URL` sent nothing for `SVC_FUNCTIONS_TIMEOUT`"]
} as const
