import type { Values } from "../ui/page/queries.ts"
import { request } from "../wire/request.ts"
import { type Viewer, viewerStatements } from "../wire/viewer.ts"
import type { PlanDocument } from "./Plan.tsx"
import { parseResult, parseResults, type Result } from "./result/rows.ts"
import type { Statement } from "./statements.ts"

export interface RunOptions {
  readonly values: Values
  readonly writes: boolean
  readonly rowLimit: number
  readonly viewer: Viewer
  readonly signal: AbortSignal
}

/** With a value for each number up to the last that it has: PostgreSQL counts them. */
const withValues = ({ parameters, text }: Pick<Statement, "text" | "parameters">, values: Values) => {
  const length = parameters.at(-1)
  if (length === undefined) return { sql: text }
  return { sql: text, params: Array.from({ length }, (_, at) => values[at + 1] ?? null) }
}

/** The request that runs statements: read-only by PostgreSQL itself, unless writes are allowed. Nothing is guessed from their text. */
const requestOf = (statements: ReadonlyArray<Statement>, { rowLimit, values, viewer, writes }: RunOptions) => {
  const before = viewerStatements(viewer)
  const common = { row_limit: rowLimit, ...(writes ? {} : { read_only: true }) }
  const [only] = statements
  if (before.length === 0 && statements.length === 1 && only !== undefined)
    return { path: "/v1/sql", payload: { ...withValues(only, values), ...common } } as const
  const all = [...before, ...statements.map((one) => withValues(one, values))]
  return { path: "/v1/sql/transaction", payload: { statements: all, ...common } } as const
}
export type Sent = ReturnType<typeof requestOf>

export interface Outcome {
  readonly results: ReadonlyArray<Result>
  readonly millis: number
  readonly sent: Sent
}

export const runStatements = async (statements: ReadonlyArray<Statement>, options: RunOptions): Promise<Outcome> => {
  const sent = requestOf(statements, options)
  const common = { method: "POST", payload: sent.payload, signal: options.signal }
  if (sent.path === "/v1/sql") {
    const { body, millis } = await request<Result>(sent.path, { ...common, parse: parseResult })
    return { results: [body], millis, sent }
  }
  const { body, millis } = await request<ReadonlyArray<Result>>(sent.path, { ...common, parse: parseResults })
  return { results: body.slice(statementsBefore(options.viewer)), millis, sent }
}

/** How many statements come before the user's, which shifts the index of one that fails. */
export const statementsBefore = (viewer: Viewer) => viewerStatements(viewer).length

export const explainPrefix = "explain (analyze, buffers, format json) "

/** The plan in a result of EXPLAIN. */
export const planOf = ({ columns, rows }: Result): PlanDocument | undefined => {
  if (columns[0]?.name !== "QUERY PLAN") return undefined
  const value = rows.slice(0, 1)[0]?.["QUERY PLAN"] as ReadonlyArray<PlanDocument> | string | undefined
  return typeof value === "object" && value[0]?.Plan !== undefined ? value[0] : undefined
}
