import { Result } from "effect"
import { type Catalogue, type Relation, type StoredFunction } from "../../catalogue/Catalogue.ts"
import { type ClientError, InvalidRequest } from "../../errors.ts"
import { type JsonOutline } from "../../text/JsonOutline.ts"
import { type BodyForm, type Preferences } from "../Preferences.ts"
import { type RowReadOptions, isCapped } from "../Reads.ts"
import { type RowShape, type RowTemplate, ShapeCache, filled, rowShape, rowTemplate } from "../Shapes.ts"
import { parseCall, parseRows } from "../parse/Parser.ts"
import { type RowQuery } from "../parse/Query.ts"
import { type RowRange, rowPage, withPage } from "../plan/Page.ts"
import { type PlannedRows, type Total } from "../plan/Plan.ts"
import { planRows } from "../plan/Planner.ts"
import { type RowSql } from "../sql/Statement.ts"
import { type CallBody, type PlannedCall, planCall } from "./Call.ts"
import { callSource, callSql, isValue, valueSql } from "./Statement.ts"

/** A function call and the query on its result. */
interface CallRequest {
  readonly schema: string
  readonly name: string
  readonly query: ReadonlyArray<readonly [string, string]>
  /** The arguments are in the query (GET), not in the body. */
  readonly reads: boolean
  readonly body: CallBody<JsonOutline>
  readonly range: RowRange | undefined
  readonly count: Preferences["count"]
  readonly form: BodyForm
  /** The call is rolled back unless the set has exactly one row. */
  readonly alone: boolean
  /** The call is rolled back if the set has more rows than this. */
  readonly maxAffected: number | undefined
}

interface PreparedCall {
  readonly sql: RowSql
  readonly fn: StoredFunction
  /** The statement runs no user-defined code, judging by the names in it. */
  readonly clean: boolean
  /** The statement fails if the number of rows is wrong (`checkedRefusal`). */
  readonly checked: boolean
  /** Offset of the first row. */
  readonly offset: number
  /** The server's limit is lower than the client's, or the only one. */
  readonly capped: boolean
}

type Prepared = Result.Result<PreparedCall, ClientError>

/** Chooses the function, and plans its call and the query on its rows as one statement. */
const prepareCall = (catalogue: Catalogue, request: CallRequest, options: RowReadOptions): Prepared => {
  const { schema, name, reads } = request
  const parsed = reads ? parseCall(request.query) : parseRows(request.query)
  if (Result.isFailure(parsed)) return Result.fail(parsed.failure)
  const query = parsed.success
  const overloads = catalogue.functions(schema, name)
  const call = planCall(
    { schema, name, overloads, functionNames: () => catalogue.functionNames(schema) },
    reads ? { _tag: "Pairs", pairs: query.arguments } : request.body,
    query.columns
  )
  if (Result.isFailure(call)) return Result.fail(call.failure)
  return withRows(catalogue, request, query, call.success, options)
}

const withRows = (
  catalogue: Catalogue,
  { form, count, range, reads, alone, maxAffected }: CallRequest,
  query: RowQuery,
  call: PlannedCall,
  options: RowReadOptions
): Prepared => {
  const { fn } = call
  // The clean path has no read-only transactions.
  const clean = fn.clean && !(reads && fn.writes)
  if (maxAffected !== undefined && !fn.set) return Result.fail(notSet())
  const page = rowPage(query, range)
  if (Result.isFailure(page)) return Result.fail(page.failure)
  const relation = relationOf(catalogue, fn)
  // The first line of a CSV has the names of columns also if there are no rows.
  const named = relation !== undefined && (relation.formatted || form.media === "csv")
  const plain = range === undefined && isPlain(query) && !named
  const asJson = (form.media === "json" || form.media === "object") && !form.stripNulls
  if (isValue(fn) && plain && count === undefined && asJson) {
    return Result.succeed({ sql: valueSql(call), fn, clean, checked: false, offset: 0, capped: false })
  }
  const planned = plain
    ? Result.succeed(everyRow(fn, options))
    : planResult(catalogue, range === undefined ? query : withPage(query, page.success), fn, relation, {
        ...options,
        expanded: form.media === "csv"
      })
  if (Result.isFailure(planned)) return Result.fail(planned.failure)
  const exactlyOne = fn.set && alone ? "PGRST116" : undefined
  return Result.succeed({
    sql: callSql({ call, rows: planned.success.rows, form, total: totalOf(count), maxAffected, exactlyOne }),
    fn,
    clean: clean && planned.success.clean,
    checked: maxAffected !== undefined || exactlyOne !== undefined,
    offset: Number(page.success.offset ?? 0),
    capped: fn.set && isCapped(page.success, options)
  })
}

/** The whole result of a function. */
const everyRow = (fn: StoredFunction, { maxRows }: RowReadOptions): PlannedRows => ({
  rows: {
    source: callSource(fn),
    relation: undefined,
    items: [{ _tag: "All" }],
    joins: [],
    where: [],
    order: [],
    limit: maxRows > 0 ? String(maxRows) : undefined,
    offset: undefined,
    grouped: false
  },
  clean: true
})

/** The relation whose rows the function returns. */
const relationOf = (catalogue: Catalogue, fn: StoredFunction) => {
  const { type } = callSource(fn)
  return type && catalogue.relation(type.schema, type.name)
}

const planResult = (
  catalogue: Catalogue,
  query: RowQuery,
  fn: StoredFunction,
  relation: Relation | undefined,
  options: RowReadOptions & { readonly expanded: boolean }
) => {
  const source = callSource(fn)
  return planRows(query, {
    catalogue,
    source,
    from: source.type ?? { schema: fn.schema, name: source.called },
    relation,
    ...options,
    filtered: true
  })
}

/** The query selects the whole result. */
const isPlain = ({ select, filters, order, limit, offset }: RowQuery) =>
  select.length === 1 &&
  select[0]?._tag === "All" &&
  filters.length === 0 &&
  order.length === 0 &&
  limit.length === 0 &&
  offset.length === 0

/** The function has already run, so an estimate is not cheaper than an exact count. */
const totalOf = (count: Preferences["count"]): Total =>
  count === "exact" || count === "estimated" ? { _tag: "Exact" } : { _tag: "None" }

const notSet = () =>
  new InvalidRequest({
    error: "Function must return SETOF or TABLE when max-affected preference is used with handling=strict",
    code: "PGRST128"
  })

type Body = CallRequest["body"]

/** The part of a body that a statement has as a parameter. */
type Part = "bytes" | "first" | undefined

interface CachedCall extends Omit<PreparedCall, "sql" | "offset"> {
  readonly template: RowTemplate
  readonly part: Part
}

/** Plans calls as SQL. The plan is reused for those of the same shape, with the same names in the body. */
export class RowCalls {
  private readonly options: RowReadOptions
  private readonly shapes = new ShapeCache<CachedCall>()
  constructor(options: RowReadOptions) {
    this.options = options
  }

  prepare(catalogue: Catalogue, request: CallRequest): Result.Result<PreparedCall, ClientError> {
    const { body } = request
    if (!isCached(request)) return prepareCall(catalogue, request, this.options)
    const shape = rowShape(request.query)
    const key = keyOf(request, shape)
    const cached = this.shapes.get(catalogue, key)
    if (cached !== undefined) {
      const { capped, checked, clean, fn, part, template } = cached
      const sql = filled(template, valuesOf(shape.literals, body, part))
      return Result.succeed({ sql, fn, clean, checked, capped, offset: Number(shape.literals[shape.offset] ?? 0) })
    }
    const planned = prepareCall(catalogue, request, this.options)
    if (Result.isFailure(planned)) return planned
    this.shapes.planned(catalogue, key, () => {
      const { capped, checked, clean, fn, sql } = planned.success
      const { pairs, params } = shape.marked()
      const marked = prepareCall(catalogue, { ...request, query: pairs }, this.options)
      if (Result.isFailure(marked)) return undefined
      const part = (["bytes", "first"] as const).find((part) => sql.params.includes(partOf(body, part)))
      const template = rowTemplate(sql, marked.success.sql, valuesOf(params, body, part))
      return template && { template, part, capped, checked, clean, fn }
    })
    return planned
  }
}

/** Whether the statement's text depends on the query's shape and the body's names alone. */
const isCached = ({ body, range, reads }: CallRequest) =>
  !reads &&
  range === undefined &&
  (body._tag === "Json" ? body.json.uniform && body.json.rows > 0 : body._tag === "None")

const partOf = (body: Body, part: "bytes" | "first") => (body._tag === "Json" ? body.json[part] : null)

const valuesOf = (literals: ReadonlyArray<string>, body: Body, part: Part) => {
  const value = part === undefined ? null : partOf(body, part)
  return value === null ? literals : [...literals, value]
}

/** The values that determine the statement's text. The lengths make the joined texts unambiguous. */
const keyOf = ({ alone, body, count, form, maxAffected, name, schema }: CallRequest, shape: RowShape) => {
  let key = `${schema.length}:${schema}${name.length}:${name}${form.media},${form.stripNulls},${count},${alone},${maxAffected};`
  if (body._tag === "Json") {
    key += `${body.media},${body.json.form}`
    for (const name of body.json.keys) key += `,${name.length}:${name}`
  }
  return `${key};${shape.key}`
}
