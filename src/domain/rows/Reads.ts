import { Result } from "effect"
import { type Catalogue } from "../catalogue/Catalogue.ts"
import { type ClientError } from "../errors.ts"
import { type BodyForm, type Preferences } from "./Preferences.ts"
import { type RowPage, rowPage, type RowRange, withPage } from "./plan/Page.ts"
import { parseRows } from "./parse/Parser.ts"
import { type RowPlan, type Total } from "./plan/Plan.ts"
import { planRows } from "./plan/Planner.ts"
import { type SelectLimits } from "./plan/Related.ts"
import { type RowQuery } from "./parse/Query.ts"
import { cutNameTaken, noTable } from "./Refusals.ts"
import { cutName } from "./sql/Cut.ts"
import { filled, type RowShape, rowShape, type RowTemplate, rowTemplate, ShapeCache } from "./Shapes.ts"
import { readSql, type RowSql } from "./sql/Statement.ts"

/** A read of one table or view. */
export interface RowRead {
  readonly schema: string
  readonly table: string
  readonly query: ReadonlyArray<readonly [string, string]>
  readonly range: RowRange | undefined
  readonly count: Preferences["count"]
  /** Whether the caller has a service key, which may read every row. */
  readonly trusted: boolean
  readonly form: BodyForm
}

export interface PreparedRead {
  readonly sql: RowSql
  /** The statement runs no user-defined code, judging by the names in it. */
  readonly clean: boolean
  /** Offset of the first row. */
  readonly offset: number
  /** The rows whose number PostgreSQL can be asked to estimate. */
  readonly rows: RowPlan
  /** The number that the statement counts. */
  readonly total: Total
  /** The server's limit is lower than the client's, or the only one. */
  readonly capped: boolean
}

export interface RowReadOptions extends SelectLimits {
  /** The most rows that one read returns; 0: no limit. */
  readonly maxRows: number
}

interface CachedRead {
  readonly template: RowTemplate
  readonly clean: boolean
  readonly rows: RowPlan
  readonly capped: boolean
}

/** Plans reads as SQL. The plan of a query is reused for queries of the same shape on the same catalogue. */
export class RowReads {
  private readonly options: RowReadOptions
  private readonly shapes = new ShapeCache<CachedRead>()
  constructor(options: RowReadOptions) {
    this.options = options
  }

  prepare(catalogue: Catalogue, read: RowRead): Result.Result<PreparedRead, ClientError> {
    if (read.range !== undefined || (read.count !== undefined && read.count !== "exact")) {
      return this.plan(catalogue, read)
    }
    const shape = rowShape(read.query)
    const { schema, table, form, count } = read
    const key = `${schema.length}:${schema}${table.length}:${table}${form.media},${form.stripNulls},${count},${form.maxCell ?? ""};${shape.key}`
    const known = this.shapes.get(catalogue, key)
    if (known !== undefined) {
      return Result.succeed({
        sql: filled(known.template, shape.literals),
        clean: known.clean,
        rows: known.rows,
        capped: known.capped,
        total: this.total(count),
        offset: Number(shape.literals[shape.offset] ?? 0)
      })
    }
    const planned = this.plan(catalogue, read)
    if (Result.isFailure(planned)) return planned
    this.shapes.planned(catalogue, key, () => {
      const { capped, clean, rows, sql } = planned.success
      const template = this.templateOf(catalogue, read, shape, sql)
      return template && { template, capped, clean, rows }
    })
    return planned
  }

  private templateOf(catalogue: Catalogue, read: RowRead, shape: RowShape, sql: RowSql) {
    const { pairs, params } = shape.marked()
    if (params.length === 0) return rowTemplate(sql, sql, params)
    const marked = this.plan(catalogue, { ...read, query: pairs })
    return Result.isFailure(marked) ? undefined : rowTemplate(sql, marked.success.sql, params)
  }

  private plan(catalogue: Catalogue, read: RowRead): Result.Result<PreparedRead, ClientError> {
    const { schema, table, range, count, form } = read
    const query = parseRows(read.query)
    if (Result.isFailure(query)) return Result.fail(query.failure)
    const page = rowPage(query.success, range)
    if (Result.isFailure(page)) return Result.fail(page.failure)
    const relation = catalogue.relation(schema, table)
    if (relation === undefined) return Result.fail(noTable(catalogue.names(schema), schema, table))
    const from = { schema, name: table }
    const paged: RowQuery = range === undefined ? query.success : withPage(query.success, page.success)
    const planned = planRows(paged, {
      catalogue,
      source: { _tag: "Relation", name: from },
      from,
      relation,
      ...this.options,
      filtered: true,
      expanded: form.maxCell !== undefined || form.media === "csv"
    })
    if (Result.isFailure(planned)) return Result.fail(planned.failure)
    const { rows, clean } = planned.success
    const taken = (item: RowPlan["items"][number]) => item._tag !== "All" && item.as === cutName
    if (form.maxCell !== undefined && rows.items.some(taken)) return Result.fail(cutNameTaken())
    const estimable = read.trusted || showsAllRows(catalogue, rows)
    const total = this.total(count !== undefined && !estimable ? "exact" : count)
    const sql = readSql({ rows, form, total })
    const capped = isCapped(page.success, this.options)
    return Result.succeed({ sql, clean, rows, total, capped, offset: Number(page.success.offset ?? 0) })
  }

  private total(count: Preferences["count"]): Total {
    const { maxRows } = this.options
    if (count === "exact" || (count === "estimated" && maxRows === 0)) return { _tag: "Exact" }
    return count === "estimated" ? { _tag: "UpTo", rows: maxRows + 1 } : { _tag: "None" }
  }
}

/** Whether the server's limit applies to a page. */
export const isCapped = ({ limit }: RowPage, { maxRows }: RowReadOptions) =>
  maxRows > 0 && (limit === undefined || Number(limit) > maxRows)

/**
 * Whether PostgreSQL may estimate the number of rows for a caller. Its estimates use statistics of all rows: if the
 * caller may read only some of them, the estimate for a filter would reveal whether others have that value.
 */
const showsAllRows = (catalogue: Catalogue, { joins, relation, source }: RowPlan): boolean =>
  source._tag === "Relation" &&
  relation?.all_rows === true &&
  joins.every(
    ({ link, rows }) =>
      showsAllRows(catalogue, rows) &&
      (link._tag !== "Junction" || catalogue.relation(link.relation.schema, link.relation.name)?.all_rows === true)
  )
