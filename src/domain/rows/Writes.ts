import { Result } from "effect"
import { type Catalogue, type Relation } from "../catalogue/Catalogue.ts"
import { type ClientError } from "../errors.ts"
import { type JsonOutline } from "../text/JsonOutline.ts"
import { parseRows } from "./parse/Parser.ts"
import { type SelectLimits } from "./plan/Related.ts"
import { planDelete, planInsert, planUpdate, planUpsert, type WriteRequest } from "./plan/WritePlanner.ts"
import { type AnswerForm, type Preferences } from "./Preferences.ts"
import { noTable } from "./Refusals.ts"
import { filled, type RowShape, rowShape, type RowTemplate, rowTemplate, ShapeCache } from "./Shapes.ts"
import { type RowSql, writeSql } from "./sql/Statement.ts"

/** How a write changes rows; all but the last have a body. */
export type Operation =
  | { readonly _tag: "insert" | "upsert" | "update"; readonly body: JsonOutline }
  | { readonly _tag: "remove" }

/** A write of one table or view. */
export interface RowWrite {
  readonly schema: string
  readonly table: string
  readonly query: ReadonlyArray<readonly [string, string]>
  readonly preferences: Preferences
  readonly form: AnswerForm
  /** Whether the rows written are returned. */
  readonly answer: boolean
  readonly operation: Operation
}

export interface PreparedWrite {
  /** Undefined if there is nothing to do. */
  readonly sql: RowSql | undefined
  /** The first line of the CSV that has no rows then. */
  readonly head?: string | undefined
  /** The statement runs no user-defined code, judging by the names in it. */
  readonly clean: boolean
  /** The statement fails for a number of rows that the request excludes. */
  readonly checked: boolean
  /** An insert that finds existing rows by columns. */
  readonly resolves: boolean
}

interface CachedWrite extends Omit<PreparedWrite, "sql"> {
  readonly template: RowTemplate
}

/** Plans writes as SQL. The plan is reused for those of the same shape, with the same names in the body. */
export class RowWrites {
  private readonly limits: SelectLimits
  private readonly shapes = new ShapeCache<CachedWrite>()
  constructor(limits: SelectLimits) {
    this.limits = limits
  }

  prepare(catalogue: Catalogue, write: RowWrite): Result.Result<PreparedWrite, ClientError> {
    const { operation } = write
    if (operation._tag !== "remove" && (!operation.body.uniform || operation.body.rows === 0)) {
      return this.plan(catalogue, write)
    }
    const shape = rowShape(write.query)
    const key = keyOf(write, shape)
    const known = this.shapes.get(catalogue, key)
    if (known !== undefined) {
      const { checked, clean, resolves, template } = known
      return Result.succeed({ sql: filled(template, valuesOf(shape.literals, operation)), clean, checked, resolves })
    }
    const planned = this.plan(catalogue, write)
    if (Result.isFailure(planned)) return planned
    const { checked, clean, resolves, sql } = planned.success
    if (sql === undefined) return planned
    this.shapes.planned(catalogue, key, () => {
      const { pairs, params } = shape.marked()
      const marked = this.plan(catalogue, { ...write, query: pairs })
      if (Result.isFailure(marked) || marked.success.sql === undefined) return undefined
      const template = rowTemplate(sql, marked.success.sql, valuesOf(params, operation))
      return template && { template, checked, clean, resolves }
    })
    return planned
  }

  private plan(catalogue: Catalogue, write: RowWrite): Result.Result<PreparedWrite, ClientError> {
    const { answer, form, preferences, schema, table } = write
    const query = parseRows(write.query)
    if (Result.isFailure(query)) return Result.fail(query.failure)
    const relation = catalogue.relation(schema, table)
    if (relation === undefined) return Result.fail(noTable(catalogue.names(schema), schema, table))
    const request = { query: query.success, preferences, form, answer, limits: this.limits }
    return Result.map(plannedChange(write.operation, catalogue, relation, request), ({ clean, head, plan }) => {
      if (plan === undefined) return { sql: undefined, head, clean, checked: false, resolves: false }
      const { change, exactlyOne, limit, maxAffected } = plan
      return {
        sql: writeSql(plan),
        clean,
        checked: exactlyOne !== undefined || maxAffected !== undefined || limit !== undefined,
        resolves: change._tag === "Insert" && change.conflict !== undefined && change.conflict.columns.length > 0
      }
    })
  }
}

const planners = { insert: planInsert, upsert: planUpsert, update: planUpdate }

const plannedChange = (operation: Operation, ...known: [Catalogue, Relation, WriteRequest]) =>
  operation._tag === "remove" ? planDelete(...known) : planners[operation._tag](...known, operation.body)

/** The values that a statement is made of: the literals of the query, and the body. */
const valuesOf = (literals: ReadonlyArray<string>, operation: Operation): ReadonlyArray<string | Uint8Array> => {
  if (operation._tag === "remove") return literals
  const { body } = operation
  return [...literals, operation._tag === "update" ? body.first : body.bytes]
}

/** The values that determine the statement's text. The lengths make the joined texts unambiguous. */
const keyOf = ({ answer, form, operation, preferences, schema, table }: RowWrite, shape: RowShape) => {
  const { handling, maxAffected, missing, resolution } = preferences
  let key = `${operation._tag},${schema.length}:${schema}${table.length}:${table}${form.media},${form.stripNulls},${answer},${preferences.return},${handling},${maxAffected},${missing},${resolution};`
  if (operation._tag !== "remove") {
    key += `${operation.body.form}${operation.body.texts}`
    for (const name of operation.body.keys) key += `,${name.length}:${name}`
  }
  return `${key};${shape.key}`
}
