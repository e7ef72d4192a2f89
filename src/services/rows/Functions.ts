import { Context, Effect, Layer } from "effect"
import { LRUCache } from "lru-cache"
import { type ClientError } from "../../domain/errors.ts"
import { bodyForm, isExplain } from "../../domain/rows/Preferences.ts"
import { nothingChosen } from "../../domain/rows/ResponseSettings.ts"
import { type CallBody } from "../../domain/rows/functions/Call.ts"
import { RowCalls } from "../../domain/rows/functions/Planner.ts"
import { checkedRefusal } from "../../domain/rows/Refusals.ts"
import { type JsonOutline } from "../../domain/text/JsonOutline.ts"
import { type Catalogue } from "../../domain/catalogue/Catalogue.ts"
import { Turns } from "../access/Turns.ts"
import { Catalogues } from "../catalogue/Catalogues.ts"
import { outlineOf } from "./JsonBody.ts"
import { lookUp, replanOf } from "./Lookup.ts"
import { answeredBody, chosen, runExplain, runSql } from "./Execution.ts"
import { type RowRequest, type RowsAnswer } from "./Rows.ts"
import { RowSettings } from "./Settings.ts"

/** A call of a stored function. For GET and HEAD the arguments are in `query`. */
export interface FunctionCall extends Omit<RowRequest, "table"> {
  readonly name: string
  readonly method: "GET" | "HEAD" | "POST"
  readonly body: CallBody
}

/** `body` is undefined for a function that returns nothing (`void`). */
export type FunctionAnswer = Omit<RowsAnswer, "body"> & { readonly body: RowsAnswer["body"] | undefined }

type Response = Effect.Effect<FunctionAnswer, ClientError>

/** Bytes, or UTF-16 code units, of an answer that may be built on all of a client's connections at once. */
const maxSmall = 4 * 1024 * 1024

/** Stored functions by name (spec: `/v1/db/rpc/{function}`). */
export class Functions extends Context.Service<Functions, { readonly call: (call: FunctionCall) => Response }>()(
  "svc/services/Functions"
) {
  static readonly layer = Layer.effect(
    Functions,
    Effect.gen(function* () {
      const catalogues = yield* Catalogues
      const turns = yield* Turns
      const { limits, maxRows } = yield* RowSettings
      const calls = new RowCalls({ maxRows, ...limits })
      /** The functions whose last answer was small. Others may build answers of any size in PostgreSQL's memory. */
      const small = new LRUCache<string, true>({ max: 2_000 })

      const isCut = (count: number, offset: number, total: unknown) =>
        count >= maxRows && (total === undefined || offset + count < Number(total))

      const note = (key: string, isSmall: boolean) => (isSmall ? small.set(key, true) : small.delete(key))

      const call = (request: FunctionCall): Response => {
        const { body } = request
        return body._tag === "Json"
          ? Effect.flatMapEager(outlineOf(body.json), (json) => called(request, { ...body, json }))
          : called(request, body)
      }

      const called = (request: FunctionCall, body: CallBody<JsonOutline>): Response => {
        const { database, schema, name, query, method, form, range, preferences } = request
        const explains = isExplain(form)
        const reads = method !== "POST"
        const callRequest = {
          schema,
          name,
          query,
          reads,
          body,
          range,
          count: preferences.count,
          form: bodyForm(form, method !== "HEAD"),
          alone: form.media === "object",
          maxAffected: preferences.handling === "strict" && !explains ? preferences.maxAffected : undefined
        }
        // Exact: an argument's type or the result's form may have changed under the same name.
        const place = { database, schema, table: name, query: query.filter(([key]) => key === "select"), exact: true }
        const plan = (catalogue: Catalogue) => calls.prepare(catalogue, callRequest)
        return Effect.flatMapEager(lookUp(catalogues, place, plan), (planned): Response => {
          const { epoch, freshPlans, value } = planned
          const { sql, fn, offset } = value
          const access = !reads && fn.volatile ? "write" : "read"
          if (explains) {
            return Effect.map(runExplain(turns, request, sql, access), (body) => ({ ...bare, body }))
          }
          const key = `${database.name}\0${schema}\0${name}`
          const costly = sql.costly === true || (request.actor.role !== "service_role" && !small.has(key))
          const replan = replanOf(catalogues, database, planned, plan)
          const run = runSql(turns, request, { ...sql, costly }, access, {
            epoch,
            freshPlans,
            clean: value.clean,
            replan
          })
          const noted = Effect.mapError(run, (error) => {
            const { _tag, code, status } = error
            note(key, _tag === "DatabaseError" && status < 500 && code !== "RESULT_TOO_LARGE")
            return value.checked ? checkedRefusal(error) : error
          })
          return Effect.flatMap(noted, (answer) => {
            const [result, count, total] = answer
            const body = answeredBody(result)
            note(key, body.length <= maxSmall)
            return Effect.mapEager(chosen(answer), (own) => ({
              ...bare,
              ...own,
              body: fn.result === "void" ? undefined : body,
              count: Number(count),
              offset,
              total: total === undefined ? undefined : Number(total),
              cut: value.capped && isCut(Number(count), offset, total) ? maxRows : undefined
            }))
          })
        })
      }

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
