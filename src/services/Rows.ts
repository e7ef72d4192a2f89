import { Context, Effect, Layer, Result } from "effect"
import { type Relation } from "../domain/Catalogue.ts"
import { type ClientError, type DatabaseError, InvalidRequest, NotFound, type Unavailable } from "../domain/errors.ts"
import { planPayload, planRows, type RowPlan } from "../domain/RowPlan.ts"
import { parseRowQuery, type RowQuery } from "../domain/RowQuery.ts"
import {
  deleteSql,
  insertSql,
  mixedRowsLimit,
  readSql,
  type Returning,
  type RowSql,
  updateSql
} from "../domain/RowSql.ts"
import { Catalogues } from "./Catalogues.ts"
import { type Actor, type Database } from "./Db.ts"
import { RowSettings } from "./RowSettings.ts"

/** A request on one table or view. */
export interface RowRequest {
  readonly database: Database
  readonly actor: Actor
  readonly schema: string
  readonly table: string
  /** The decoded pairs of the query string, in order. */
  readonly query: ReadonlyArray<readonly [string, string]>
}

export interface RowBody {
  /** The body as it came, and parsed. */
  readonly text: string
  readonly value: unknown
}

/** Rows as a JSON array in text ("" when none were asked for), how many, and the offset of the first. */
export interface RowsAnswer {
  readonly body: string
  readonly count: number
  readonly offset: number
}

type Answered = Effect.Effect<RowsAnswer, ClientError>

const empty: RowsAnswer = { body: "[]", count: 0, offset: 0 }

/** Create, read, update and delete on tables and views, as whoever asks (spec: `/v1/db/{table}`). */
export class Rows extends Context.Service<
  Rows,
  {
    readonly read: (request: RowRequest) => Answered
    readonly insert: (request: RowRequest, body: RowBody, returning: Returning) => Answered
    readonly update: (request: RowRequest, body: RowBody, returning: Returning) => Answered
    readonly remove: (request: RowRequest, returning: Returning) => Answered
  }
>()("svc/services/Rows") {
  static readonly layer = Layer.effect(
    Rows,
    Effect.gen(function* () {
      const catalogues = yield* Catalogues
      const { maxRows } = yield* RowSettings

      const relationOf = ({ database, schema, table }: RowRequest) =>
        Effect.filterOrFail(
          catalogues.find(database, schema, table, (catalogue) => {
            const relation = catalogue.relation(schema, table)
            return relation && { relation, trusted: catalogues.trusted(database, catalogue) }
          }),
          (found) => found !== undefined,
          () =>
            new NotFound({
              error: `Could not find the table '${schema}.${table}' in the schema cache`,
              code: "PGRST205"
            })
        )

      const run = (
        request: RowRequest,
        sql: RowSql,
        access: "read" | "write",
        clean: boolean,
        offset = 0
      ): Answered => {
        const { text, params, prepare } = sql
        const { database, actor } = request
        const answer = database.run(actor, { text, params, prepare, access, clean })
        // Where it is kept prepared, it may still have the parameter types of before an ALTER that we have not heard of.
        const sure =
          clean && prepare && params.length > 0
            ? Effect.catchIf(answer, mayBeStale, () =>
                database.run(actor, { text, params, prepare: false, access, clean: false })
              )
            : answer
        return Effect.map(sure, ([body, count]) => ({ body: String(body), count: Number(count), offset }))
      }

      const read = (request: RowRequest): Answered => {
        const query = parseRowQuery(request.query)
        if (Result.isFailure(query)) return Effect.fail(query.failure)
        return Effect.flatMap(relationOf(request), ({ relation, trusted }) => {
          const plan = planRows(query.success, relation, maxRows)
          const clean = trusted && relation.clean_read && plan.plain
          return run(request, readSql(plan), "read", clean, Number(plan.offset ?? 0))
        })
      }

      const payloadOf = (request: RowRequest, body: RowBody, query: RowQuery, relation: Relation) =>
        Effect.suspend(() => {
          const payload = planPayload(body.text, body.value, relation, query.columns)
          if (Result.isSuccess(payload)) return Effect.succeed({ payload: payload.success, relation })
          if (payload.failure.code !== "PGRST204") return Effect.fail(payload.failure)
          // A column we do not know may be newer than what we read.
          return Effect.filterOrFail(
            catalogues.find(request.database, request.schema, request.table, (catalogue) => {
              const now = catalogue.relation(request.schema, request.table)
              const again = now && planPayload(body.text, body.value, now, query.columns)
              return now && again && Result.isSuccess(again) ? { payload: again.success, relation: now } : undefined
            }),
            (found) => found !== undefined,
            () => payload.failure
          )
        })

      const insert = Effect.fnUntraced(function* (request: RowRequest, body: RowBody, returning: Returning) {
        const query = yield* Effect.fromResult(parseRowQuery(request.query))
        const found = yield* relationOf(request)
        const { payload, relation } = yield* payloadOf(request, body, query, found.relation)
        if (payload._tag === "Uniform" && payload.rows === 0) return empty
        if (payload._tag === "Mixed" && payload.rows.length > mixedRowsLimit) {
          return yield* new InvalidRequest({
            error: `At most ${mixedRowsLimit} rows with different keys can be inserted at once`,
            code: "TOO_MANY_ROWS",
            hint: "Give all rows the same keys, or send them in several requests"
          })
        }
        const plan = planRows(query, relation, 0)
        const clean = found.trusted && relation.clean_insert && plan.plain
        return yield* run(request, insertSql(plan, payload, returning), "write", clean)
      })

      const update = Effect.fnUntraced(function* (request: RowRequest, body: RowBody, returning: Returning) {
        const query = yield* Effect.fromResult(parseRowQuery(request.query))
        yield* filtered(query)
        const found = yield* relationOf(request)
        if (Array.isArray(body.value)) {
          return yield* new InvalidRequest({
            error: "The body must be one object: column name to new value",
            code: "PGRST102"
          })
        }
        const { payload, relation } = yield* payloadOf(request, body, query, found.relation)
        // Of the names in `columns`, those the body has: what is not there stays as it is.
        const keys = payload._tag === "Uniform" ? payload.keys : [...(payload.rows[0]?.has ?? [])]
        if (keys.length === 0) return empty
        const plan = planRows(query, relation, 0)
        const clean = found.trusted && relation.clean_change && plan.plain
        return yield* run(request, updateSql(plan, keys, body.text, returning), "write", clean)
      })

      const remove = Effect.fnUntraced(function* (request: RowRequest, returning: Returning) {
        const query = yield* Effect.fromResult(parseRowQuery(request.query))
        yield* filtered(query)
        const { relation, trusted } = yield* relationOf(request)
        const plan: RowPlan = planRows(query, relation, 0)
        const clean = trusted && relation.clean_change && plan.plain
        return yield* run(request, deleteSql(plan, returning), "write", clean)
      })

      return Rows.of({ read, insert, update, remove })
    })
  )
}

/** Bad literals, missing operators and types that are gone. */
const mayBeStale = (error: DatabaseError | Unavailable) =>
  error._tag === "DatabaseError" && /^(22|42(?!501)|XX)/.test(error.code)

/** What a PATCH or DELETE must have, and must not: it always means all rows that match. */
const filtered = (query: RowQuery) => {
  if (query.filters.length === 0) {
    return Effect.fail(
      new InvalidRequest({
        error: "A PATCH or DELETE needs a filter",
        code: "FILTER_REQUIRED",
        hint: "Add one such as ?id=eq.1. To mean every row, use one that is always true: ?id=not.is.null"
      })
    )
  }
  return query.limit === undefined && query.offset === undefined
    ? Effect.void
    : Effect.fail(
        new InvalidRequest({
          error: "limit and offset don't go with PATCH and DELETE: every row that matches is meant",
          code: "LIMIT_NOT_ALLOWED",
          hint: "Name the rows in the filter, for example ?id=in.(1,2)"
        })
      )
}
