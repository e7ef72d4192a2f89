import { Effect } from "effect"
import { type ClientError } from "../../domain/errors.ts"
import { type ChosenResponse, nothingChosen, readResponseSettings } from "../../domain/rows/ResponseSettings.ts"
import { sizeRefusal } from "../../domain/rows/Refusals.ts"
import { explainSql, type RowSql } from "../../domain/rows/sql/Statement.ts"
import { type Turns } from "../access/Turns.ts"
import { type AnswerForm, type Preferences, type RequestContext } from "../../domain/rows/Preferences.ts"
import { type Actor, type Answer, type Database, type Freshness, type Statement } from "../ports/Db.ts"

/** What a request says of how its statement is run. */
export interface RowExecution {
  readonly database: Database
  readonly actor: Actor
  /** The schemas of unqualified names in user code: `RowSettings.searchPath` of the schema. */
  readonly searchPath: string
  readonly preferences: Preferences
  readonly form: AnswerForm
  readonly context: RequestContext
}

/** Facts about a statement from the catalogue; see `Statement`. */
export interface Known {
  readonly epoch: number | undefined
  readonly freshPlans: boolean
  readonly clean: boolean
  readonly freshness?: Freshness | undefined
  readonly replan?: Statement["replan"]
}

/** Nothing is known of the statement: it is checked again, and may run user code. */
export const unseen: Known = { epoch: undefined, freshPlans: true, clean: false }

/** Runs a statement as the request's caller; costly ones of a client take turns. */
export const runSql = (
  turns: Turns["Service"],
  { database, actor, searchPath, preferences, context }: RowExecution,
  sql: RowSql,
  access: "read" | "write",
  { clean, epoch, freshness, freshPlans, replan }: Known
) => {
  const { timezone, tx } = preferences
  const ran = database.run(actor, {
    ...sql,
    access,
    bytes: true,
    epoch,
    freshPlans,
    clean,
    replan,
    context,
    searchPath,
    freshness,
    rollback: tx === "rollback",
    timezone
  })
  const refused = Effect.mapError(ran, sizeRefusal)
  return sql.costly === true && actor.client !== undefined ? turns.take(actor.client, refused) : refused
}

/** The body of a response, in the first column of an answer. */
export const answeredBody = (value: unknown) => (Buffer.isBuffer(value) ? value : String(value))

/** The plan of a statement as PostgreSQL writes it. */
export const runExplain = (turns: Turns["Service"], request: RowExecution, sql: RowSql, access: "read" | "write") =>
  Effect.map(runSql(turns, request, explainSql(sql, request.form), access, unseen), ([plan]) => String(plan))

/** The parts of the response that user code has set. */
export const chosen = ({
  lsn,
  response
}: Answer): Effect.Effect<ChosenResponse & { readonly lsn?: string }, ClientError> => {
  if (response === undefined) return Effect.succeed(lsn === undefined ? nothingChosen : { ...nothingChosen, lsn })
  return Effect.map(Effect.fromResult(readResponseSettings(response)), (own) =>
    lsn === undefined ? own : { ...own, lsn }
  )
}
