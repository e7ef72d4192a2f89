import { Context, Effect, Layer } from "effect"
import { type ClientError } from "../../domain/errors.ts"
import { type AnswerForm, type Preferences, type RequestContext } from "../../domain/rows/Preferences.ts"
import { nothingChosen, readResponseSettings } from "../../domain/rows/ResponseSettings.ts"
import { type CallBody } from "../../domain/rows/functions/Call.ts"
import { prepareCall } from "../../domain/rows/functions/Planner.ts"
import { type RowRange } from "../../domain/rows/plan/Page.ts"
import { checkedRefusal } from "../../domain/rows/Refusals.ts"
import { explainSql, type RowSql } from "../../domain/rows/sql/Statement.ts"
import { bodyForm } from "../../domain/rows/plan/WritePlanner.ts"
import { Catalogues } from "../catalogue/Catalogues.ts"
import { type Actor, type Database } from "../ports/Db.ts"
import { lookUp } from "./Lookup.ts"
import { type RowsAnswer } from "./Rows.ts"
import { RowSettings } from "./Settings.ts"

export interface FunctionCall {
  readonly database: Database
  readonly actor: Actor
  readonly schema: string
  readonly name: string
  /** The decoded pairs of the query string, in order; of a GET and HEAD the arguments are among them. */
  readonly query: ReadonlyArray<readonly [string, string]>
  readonly method: "GET" | "HEAD" | "POST"
  readonly body: CallBody
  readonly preferences: Preferences
  /** Of a GET's Range header. */
  readonly range: RowRange | undefined
  readonly form: AnswerForm
  readonly context: RequestContext
}

/** `body` is undefined for a function that returns nothing (`void`). */
export type FunctionAnswer = Omit<RowsAnswer, "body"> & { readonly body: string | undefined }

/** Stored functions by name (spec: `/v1/db/rpc/{function}`). */
export class Functions extends Context.Service<
  Functions,
  { readonly call: (call: FunctionCall) => Effect.Effect<FunctionAnswer, ClientError> }
>()("svc/services/Functions") {
  static readonly layer = Layer.effect(
    Functions,
    Effect.gen(function* () {
      const catalogues = yield* Catalogues
      const options = yield* RowSettings

      const run = (
        { database, actor, preferences, context }: FunctionCall,
        sql: RowSql,
        access: "read" | "write",
        mayShare: boolean
      ) => {
        const { timezone } = preferences
        const rollback = preferences.tx === "rollback"
        const clean = mayShare && !rollback && timezone === undefined
        return database.run(actor, { ...sql, access, clean, context, rollback, timezone })
      }

      const call = Effect.fnUntraced(function* (request: FunctionCall) {
        const { database, schema, name, query, method, body, form, range, preferences } = request
        const explains = form.media === "plan-json" || form.media === "plan-text"
        const reads = method !== "POST"
        const asked = {
          schema,
          name,
          query,
          reads,
          body,
          range,
          count: preferences.count,
          form: bodyForm(form, method !== "HEAD"),
          alone: form.media === "object",
          most: preferences.handling === "strict" && !explains ? preferences.maxAffected : undefined
        }
        // Exact: an argument's type or the form of the result may have changed under the same names.
        const place = { database, schema, table: name, query: query.filter(([key]) => key === "select"), exact: true }
        const { value, trusted } = yield* lookUp(catalogues, place, (catalogue) =>
          prepareCall(catalogue, asked, options)
        )
        const { sql, fn, offset } = value
        const access = !reads && fn.volatile ? "write" : "read"
        if (explains) {
          const explained = explainSql(sql, form.media === "plan-text" ? "text" : "json", form.options)
          const [plan] = yield* run(request, explained, access, false)
          return { ...bare, body: typeof plan === "string" ? plan : JSON.stringify(plan) }
        }
        const answered = run(request, sql, access, trusted && value.clean)
        const answer = yield* value.checked ? Effect.mapError(answered, checkedRefusal) : answered
        const [result, count, total] = answer
        return {
          ...bare,
          ...(answer.response && (yield* Effect.fromResult(readResponseSettings(answer.response)))),
          body: fn.result === "void" ? undefined : String(result),
          count: Number(count),
          offset,
          total: total === undefined ? undefined : Number(total)
        }
      })

      return Functions.of({ call })
    })
  )
}

const bare: Omit<FunctionAnswer, "body"> = {
  ...nothingChosen,
  count: 1,
  offset: 0,
  total: undefined,
  inserted: false,
  location: undefined
}
