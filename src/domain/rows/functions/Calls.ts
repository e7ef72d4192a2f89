import { Result } from "effect"
import { type Catalogue } from "../../catalogue/Catalogue.ts"
import { type ClientError } from "../../errors.ts"
import { type RowReadOptions } from "../Reads.ts"
import { filled, type RowShape, rowShape, type RowTemplate, rowTemplate, ShapeCache } from "../Shapes.ts"
import { type CallRequest, prepareCall, type PreparedCall } from "./Planner.ts"

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
    const known = this.shapes.get(catalogue, key)
    if (known !== undefined) {
      const { capped, checked, clean, fn, part, template } = known
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
