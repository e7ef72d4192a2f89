import { Context, Effect, Layer, Result } from "effect"
import { type Catalogue } from "../domain/Catalogue.ts"
import { type ClientError, InvalidRequest } from "../domain/errors.ts"
import { callSql, planCall, type RoutineCall } from "../domain/RoutineCall.ts"
import { Catalogues } from "./Catalogues.ts"
import { type Actor, type Database } from "./Db.ts"
import { RowSettings } from "./RowSettings.ts"

export interface FunctionCall {
  readonly database: Database
  readonly actor: Actor
  readonly schema: string
  readonly name: string
  /** Named arguments as a JSON object in text, and parsed. */
  readonly text: string
  readonly value: unknown
}

/** Stored functions by name (spec: `/v1/db/rpc/{function}`). */
export class Functions extends Context.Service<
  Functions,
  {
    /** The result as JSON text; undefined for a function that returns nothing (`void`). */
    readonly call: (call: FunctionCall) => Effect.Effect<string | undefined, ClientError>
  }
>()("svc/services/Functions") {
  static readonly layer = Layer.effect(
    Functions,
    Effect.gen(function* () {
      const catalogues = yield* Catalogues
      const { maxRows } = yield* RowSettings
      const limit = maxRows > 0 ? String(maxRows) : undefined

      const run = ({ database, actor, text }: FunctionCall, call: RoutineCall, trusted: boolean) => {
        const sql = callSql(call, text, limit)
        const { routine } = call
        return Effect.map(
          database.run(actor, {
            ...sql,
            access: routine.volatile ? "write" : "read",
            clean: trusted && routine.clean
          }),
          ([body]) => (routine.result === "void" ? undefined : String(body))
        )
      }

      const call = Effect.fnUntraced(function* (request: FunctionCall) {
        const { database, schema, name, value } = request
        if (typeof value !== "object" || value === null || Array.isArray(value)) {
          return yield* new InvalidRequest({
            error: "The body must be an object: argument name to value",
            code: "PGRST102"
          })
        }
        const names = Object.keys(value)
        const pick = (catalogue: Catalogue) => {
          const planned = planCall(schema, name, catalogue.routines(schema, name), names)
          return Result.isSuccess(planned)
            ? { call: planned.success, trusted: catalogues.trusted(database, catalogue) }
            : undefined
        }
        // Exact: an argument's type or the form of the result may have changed under the same names.
        const found = yield* catalogues.find(database, schema, name, pick, true)
        if (found) return yield* run(request, found.call, found.trusted)
        const catalogue = yield* catalogues.get(database)
        const planned = yield* Effect.fromResult(planCall(schema, name, catalogue.routines(schema, name), names))
        return yield* run(request, planned, false)
      })

      return Functions.of({ call })
    })
  )
}
