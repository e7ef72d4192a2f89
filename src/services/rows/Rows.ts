import { Context, Effect, Layer, Result, type Stream } from "effect"
import { type ClientError, type InvalidRequest } from "../../domain/errors.ts"
import { bodyForm, isExplain, maxCellOf } from "../../domain/rows/Preferences.ts"
import { type ChosenResponse, nothingChosen } from "../../domain/rows/ResponseSettings.ts"
import { type RowRange } from "../../domain/rows/plan/Page.ts"
import { parseRows } from "../../domain/rows/parse/Parser.ts"
import { type RowPlan } from "../../domain/rows/plan/Plan.ts"
import { type PreparedRead, type RowRead, RowReads } from "../../domain/rows/Reads.ts"
import { type Operation, RowWrites } from "../../domain/rows/Writes.ts"
import { checkedRefusal, notSingle } from "../../domain/rows/Refusals.ts"
import { csvLines, isTooLarge, mayStream } from "./CsvLines.ts"
import { estimateSql, type RowSql } from "../../domain/rows/sql/Statement.ts"
import { type Catalogue } from "../../domain/catalogue/Catalogue.ts"
import { Turns } from "../access/Turns.ts"
import { Catalogues } from "../catalogue/Catalogues.ts"
import { type Answer, type Freshness } from "../ports/Db.ts"
import { outlineOf } from "./JsonBody.ts"
import { answeredBody, chosen, type RowExecution, runExplain, runSql, unseen } from "./Execution.ts"
import { lookUp, replanOf } from "./Lookup.ts"
import { RowSettings } from "./Settings.ts"

/** A request on one table or view. */
export interface RowRequest extends RowExecution {
  readonly schema: string
  readonly table: string
  /** The decoded pairs of the query string, in order. */
  readonly query: ReadonlyArray<readonly [string, string]>
  /** The Range header of a GET. */
  readonly range: RowRange | undefined
  /** See `Statement`; of reads. */
  readonly freshness?: Freshness | undefined
}

export interface RowsAnswer extends ChosenResponse {
  /** The body in the requested form, as text or UTF-8; "" if none was requested. */
  readonly body: string | Buffer
  /** The number of rows in the body, or that would be in it. */
  readonly count: number
  /** Offset of the first row. */
  readonly offset: number
  /** The number of rows without limit and offset, if requested. */
  readonly total: number | undefined
  /** Whether a POST or PUT inserted a row. */
  readonly inserted: boolean
  /** The query of the new row, such as `?id=eq.5`, for a POST with `return=headers-only`. */
  readonly location: string | undefined
  /** The server's limit, if it may have cut the rows. */
  readonly cut?: number | undefined
  /** A CSV that is too large for one text, instead of `body`. */
  readonly lines?: Stream.Stream<Uint8Array, ClientError>
  /** See `Answer`. */
  readonly lsn?: string
  /** False if a POST's `Prefer: resolution` had no effect, because there are no columns to find existing rows by. */
  readonly resolved?: boolean
}

type Response = Effect.Effect<RowsAnswer, ClientError>

/** Rows of a CSV that are read at once, to learn whether there are more. */
const maxTriedRows = 10_000

/** Creates, reads, updates and deletes rows of tables and views as the caller (spec: `/v1/db/{table}`). */
export class Rows extends Context.Service<
  Rows,
  {
    readonly read: (request: RowRequest) => Response
    /** `json`: an object or an array of objects, as UTF-8. `texts`: it is made of CSV or a form, which have only texts. */
    readonly insert: (request: RowRequest, json: Buffer, texts?: boolean) => Response
    /** Inserts or replaces the row that the filters identify by primary key. */
    readonly upsertOne: (request: RowRequest, json: Buffer, texts?: boolean) => Response
    readonly update: (request: RowRequest, json: Buffer, texts?: boolean) => Response
    readonly remove: (request: RowRequest) => Response
  }
>()("svc/services/Rows") {
  static readonly layer = Layer.effect(
    Rows,
    Effect.gen(function* () {
      const catalogues = yield* Catalogues
      const turns = yield* Turns
      const { maxRows, defaultReturn, limits } = yield* RowSettings
      const reads = new RowReads({ maxRows, ...limits })
      const writes = new RowWrites(limits)
      /** Reads of a CSV: one that has more rows is streamed. */
      const maxTried = maxRows === 0 ? maxTriedRows : Math.min(maxRows, maxTriedRows)
      const tried = maxTried === maxRows ? reads : new RowReads({ maxRows: maxTried, ...limits })
      const unlimited = new RowReads({ maxRows: 0, ...limits })

      /** PostgreSQL's estimate of the total. */
      const estimate = (request: RowRequest, rows: RowPlan) =>
        Effect.map(runSql(turns, request, estimateSql(rows), "read", unseen), ([plan]) => {
          const [{ Plan }] = JSON.parse(String(plan)) as readonly [{ readonly Plan: { readonly "Plan Rows": number } }]
          return Plan["Plan Rows"]
        })

      const totalled = (request: RowRequest, { rows, total }: PreparedRead, answered: unknown) => {
        const counted = total._tag === "None" ? undefined : Number(answered)
        if (counted === undefined && request.preferences.count === "planned") return estimate(request, rows)
        if (total._tag !== "UpTo" || counted === undefined || counted <= maxRows) return Effect.succeed(counted)
        return Effect.map(estimate(request, rows), (estimated) => Math.max(estimated, counted))
      }

      /** The statement's plan; with `analyze` the statement is executed too. */
      const explain = (request: RowRequest, sql: RowSql, access: "read" | "write"): Response =>
        Effect.map(runExplain(turns, request, sql, access), (body) => ({ ...nothing(request, false), body }))

      const read = (request: RowRequest): Response => {
        const { schema, table, query, range, form, context } = request
        const { count } = request.preferences
        const trusted = request.actor.role === "service_role"
        const body = bodyForm(form, context.method !== "HEAD")
        const maxCell = maxCellOf(form, request.preferences)
        const cut = maxCell === undefined ? body : { ...body, maxCell }
        const rowRead = { schema, table, query, range, count, trusted, form: cut }
        const streams = mayStream(request)
        const plan = (catalogue: Catalogue) => (streams ? tried : reads).prepare(catalogue, rowRead)
        return Effect.flatMapEager(lookUp(catalogues, request, plan), (planned): Response => {
          const { epoch, freshPlans, value } = planned
          if (isExplain(form)) return explain(request, value.sql, "read")
          const { freshness } = request
          const replan = replanOf(catalogues, request.database, planned, plan)
          // A statement that may run user code must run only once, so it is streamed without a try that would show the
          // CSV's size.
          if (streams && replan === undefined) return csvOf(request, rowRead)
          const ran = runSql(turns, request, value.sql, "read", {
            epoch,
            freshPlans,
            clean: value.clean,
            freshness,
            replan
          })
          if (!streams) return Effect.flatMap(ran, (answer) => answered(request, value, answer, maxRows))
          const first = Effect.flatMap(ran, (answer) => answered(request, value, answer, maxTried))
          const small = Effect.catchIf(first, isTooLarge, () => Effect.undefined)
          return Effect.flatMap(small, (one) =>
            one === undefined || one.cut !== undefined ? csvOf(request, rowRead) : Effect.succeed(one)
          )
        })
      }

      /** `most`: the server's limit, if there is one. */
      const answered = (request: RowRequest, value: PreparedRead, answer: Answer, most: number): Response => {
        const [body, rows, counted] = answer
        const count = Number(rows)
        if (request.form.media === "object" && count !== 1) return Effect.fail(notSingle(count))
        return Effect.flatMapEager(totalled(request, value, counted), (total) =>
          Effect.mapEager(chosen(answer), (own) => {
            const complete = count < most || (total !== undefined && value.offset + count >= total)
            return {
              body: answeredBody(body),
              count,
              offset: value.offset,
              total,
              cut: value.capped && !complete ? most : undefined,
              inserted: false,
              location: undefined,
              ...own
            }
          })
        )
      }

      /** All rows of a read as CSV, whatever their number. */
      const csvOf = Effect.fnUntraced(function* (request: RowRequest, read: RowRead) {
        const { value } = yield* lookUp(catalogues, request, (catalogue) => unlimited.prepare(catalogue, read))
        return { ...nothing(request, false), lines: yield* csvLines(request, value.rows, turns) }
      })

      const write = (request: RowRequest, operation: Operation): Response => {
        const { schema, table, query, form, preferences } = request
        const answer = (preferences.return ?? defaultReturn) === "representation"
        const rowWrite = { schema, table, query, preferences, form, answer, operation }
        const plan = (catalogue: Catalogue) => writes.prepare(catalogue, rowWrite)
        return Effect.flatMap(lookUp(catalogues, request, plan), (planned): Response => {
          const { epoch, freshPlans, value } = planned
          const { checked, clean, head, resolves, sql } = value
          if (sql === undefined) {
            return form.media === "object" ? Effect.fail(notSingle(0)) : Effect.succeed(nothing(request, answer, head))
          }
          if (isExplain(form)) return explain(request, sql, "write")
          const replan = replanOf(catalogues, request.database, planned, plan)
          const ran = runSql(turns, request, sql, "write", { epoch, freshPlans, clean, replan })
          return Effect.flatMapEager(checked ? Effect.mapError(ran, checkedRefusal) : ran, (written) =>
            Effect.mapEager(chosen(written), (own) => {
              const [body, count, inserted, location] = written
              return {
                body: answeredBody(body),
                count: Number(count),
                offset: 0,
                total: preferences.count === undefined ? undefined : Number(count),
                inserted: typeof inserted === "string" ? Number(inserted) > 0 : true,
                location: typeof location === "string" ? locationOf(location) : undefined,
                resolved: resolves,
                ...own
              }
            })
          )
        })
      }

      /** A write with a body. Only the keys that the query names in `columns` are considered. */
      const writeBody = (
        request: RowRequest,
        _tag: "insert" | "upsert" | "update",
        json: Buffer,
        texts: boolean | undefined
      ): Response => {
        const columns = columnsOf(request.query)
        if (Result.isFailure(columns)) return Effect.fail(columns.failure)
        return Effect.flatMapEager(outlineOf(json, columns.success, texts), (body) => write(request, { _tag, body }))
      }

      return Rows.of({
        read,
        insert: (request, json, texts) => writeBody(request, "insert", json, texts),
        upsertOne: (request, json, texts) => writeBody(request, "upsert", json, texts),
        update: (request, json, texts) => writeBody(request, "update", json, texts),
        remove: (request) => write(request, { _tag: "remove" })
      })
    })
  )
}

/** The names of `columns=`, without parsing a query that has none. */
const columnsOf = (query: RowRequest["query"]): Result.Result<ReadonlyArray<string> | undefined, InvalidRequest> =>
  query.some(([name]) => name === "columns")
    ? Result.map(parseRows(query), ({ columns }) => columns)
    : Result.succeed(undefined)

/** The response to a write without rows. */
const nothing = ({ form, preferences }: RowRequest, answer: boolean, head = ""): RowsAnswer => ({
  body: answer ? (form.media === "csv" ? `${head}\n` : "[]") : "",
  count: 0,
  offset: 0,
  total: preferences.count === undefined ? undefined : 0,
  inserted: false,
  location: undefined,
  ...nothingChosen
})

const plainName = /^[\p{L}_][\p{L}\p{N}_]*$/u
/** Names of columns that are parameters of their own in a query. */
const otherParameters: ReadonlySet<string> = new Set("select order limit offset and or columns on_conflict".split(" "))
const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, "\\$&")}"`

/** The query string that identifies a row. `pairs`: JSON pairs of key column and value as text. */
const locationOf = (pairs: string) => {
  const filters = (JSON.parse(pairs) as ReadonlyArray<readonly [string, string | null]>).map(([column, value]) => {
    if (!plainName.test(column) || otherParameters.has(column)) {
      const condition = value === null ? "is.null" : `eq.${quoted(value)}`
      return `and=${encodeURIComponent(`(${quoted(column)}.${condition})`)}`
    }
    return `${encodeURIComponent(column)}=${value === null ? "is.null" : encodeURIComponent(`eq.${value}`)}`
  })
  return `?${filters.join("&")}`
}
