import { Result } from "effect"
import { type Catalogue } from "../catalogue/Catalogue.ts"
import { type ClientError } from "../errors.ts"
import { type BodyForm, type Preferences } from "./Preferences.ts"
import { rowPage, type RowRange, withPage } from "./plan/Page.ts"
import { parseRows } from "./parse/Parser.ts"
import { type RowPlan, type Total } from "./plan/Plan.ts"
import { planRows } from "./plan/Planner.ts"
import { type RowQuery } from "./parse/Query.ts"
import { noTable } from "./Refusals.ts"
import { filled, type RowShape, rowShape, RowShapes, type RowTemplate, rowTemplate } from "./Shapes.ts"
import { readSql, type RowSql } from "./sql/Statement.ts"

/** A read of one table or view. */
export interface RowRead {
  readonly schema: string
  readonly table: string
  readonly query: ReadonlyArray<readonly [string, string]>
  readonly range: RowRange | undefined
  readonly count: Preferences["count"]
  readonly form: BodyForm
}

export interface PreparedRead {
  readonly sql: RowSql
  /** Runs no user-written code, as far as names tell. */
  readonly clean: boolean
  /** Place of the first row. */
  readonly offset: number
  /** To ask PostgreSQL for an estimate of. */
  readonly rows: RowPlan
}

export interface RowReadOptions {
  /** Cap of one read; 0: none. */
  readonly maxRows: number
  readonly aggregates: boolean
}

interface Known {
  readonly template: RowTemplate
  readonly clean: boolean
  readonly rows: RowPlan
}

/** Shapes kept of one catalogue. A text of a few kB each. */
const mostShapes = 1000

/** Reads as SQL. What was worked out for one query is used again for others of its shape, on the same catalogue. */
export class RowReads {
  private readonly options: RowReadOptions
  private readonly shapes = new RowShapes<Catalogue, Known>(mostShapes)
  /** Keys that came once: to keep a shape costs as much as to plan it, so that is done when it comes again. */
  private readonly once = new RowShapes<Catalogue, true>(mostShapes)
  constructor(options: RowReadOptions) {
    this.options = options
  }

  prepare(catalogue: Catalogue, read: RowRead): Result.Result<PreparedRead, ClientError> {
    if (read.range !== undefined || (read.count !== undefined && read.count !== "exact")) {
      return this.plan(catalogue, read)
    }
    const shape = rowShape(read.query)
    const { schema, table, form, count } = read
    const key = `${schema.length}:${schema}${table.length}:${table}${form.media},${form.stripNulls},${count};${shape.key}`
    const known = this.shapes.get(catalogue, key)
    if (known !== undefined) {
      const sql = filled(known.template, shape.literals)
      return Result.succeed({
        sql,
        clean: known.clean,
        rows: known.rows,
        offset: Number(shape.literals[shape.offset] ?? 0)
      })
    }
    const planned = this.plan(catalogue, read)
    if (Result.isFailure(planned)) return planned
    if (this.once.get(catalogue, key) === undefined) this.once.set(catalogue, key, true)
    else this.keep(catalogue, key, read, shape, planned.success)
    return planned
  }

  private keep(catalogue: Catalogue, key: string, read: RowRead, shape: RowShape, { sql, clean, rows }: PreparedRead) {
    const { pairs, params } = shape.marked()
    const marked = params.length === 0 ? undefined : this.plan(catalogue, { ...read, query: pairs })
    if (marked !== undefined && Result.isFailure(marked)) return
    const template = rowTemplate(sql, marked === undefined ? sql : marked.success.sql, params)
    if (template !== undefined) this.shapes.set(catalogue, key, { template, clean, rows })
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
      filtered: true
    })
    if (Result.isFailure(planned)) return Result.fail(planned.failure)
    const { rows, clean } = planned.success
    const sql = readSql({ rows, form, total: this.total(count) })
    return Result.succeed({ sql, clean, rows, offset: Number(page.success.offset ?? 0) })
  }

  private total(count: Preferences["count"]): Total {
    const { maxRows } = this.options
    if (count === "exact" || (count === "estimated" && maxRows === 0)) return { _tag: "Exact" }
    return count === "estimated" ? { _tag: "UpTo", rows: maxRows + 1 } : { _tag: "None" }
  }
}
