import { Result } from "effect"
import { type Catalogue, type Relation } from "../../catalogue/Catalogue.ts"
import { type ErrorCode } from "../../codes/ErrorCode.ts"
import { DatabaseError, InvalidRequest } from "../../errors.ts"
import { type AnswerForm, bodyForm, type Preferences } from "../Preferences.ts"
import { type Findings, planCondition } from "./Fields.ts"
import { planPayload } from "./Payload.ts"
import { type RowChange, type RowConflict, type WritePlan } from "./Plan.ts"
import { planRows } from "./Planner.ts"
import { type JsonOutline } from "../../text/JsonOutline.ts"
import { type Condition, type RowQuery } from "../parse/Query.ts"
import { type SelectLimits } from "./Related.ts"
import { notMatching } from "../Refusals.ts"
import { csvHead } from "../sql/Csv.ts"
import { wholeColumn } from "../sql/Write.ts"

/** A write, without its body. */
export interface WriteRequest {
  readonly query: RowQuery
  readonly preferences: Preferences
  readonly form: AnswerForm
  /** Whether the rows written are returned. */
  readonly answer: boolean
  readonly limits: SelectLimits
}

/** A plan, undefined if there is nothing to do, and whether it runs no user-defined code, judging by names. */
interface PlannedWrite {
  readonly plan: WritePlan | undefined
  readonly clean: boolean
  /** The first line of a CSV without rows. */
  readonly head?: string | undefined
}

type Planned = Result.Result<PlannedWrite, InvalidRequest | DatabaseError>

const invalid = (error: string, code: ErrorCode, hint: string | null = null, details: string | null = null) =>
  Result.fail(new InvalidRequest({ error, code, hint, details }))

const ownFilters = ({ filters }: RowQuery) => filters.filter(({ path }) => path.length === 0).map(({ value }) => value)

class WritePlanner {
  readonly findings: Findings = { clean: true }
  private readonly catalogue: Catalogue
  readonly relation: Relation
  private readonly request: WriteRequest
  constructor(catalogue: Catalogue, relation: Relation, request: WriteRequest) {
    this.catalogue = catalogue
    this.relation = relation
    this.request = request
  }

  where() {
    return ownFilters(this.request.query).map((filter) => planCondition(this.relation, filter, this.findings, () => -1))
  }

  finish(change: RowChange, clean: boolean, exactlyOne?: WritePlan["exactlyOne"]): Planned {
    const { relation } = this
    const { query, preferences, form, answer, limits } = this.request
    const rows = planRows(query, {
      catalogue: this.catalogue,
      source: { _tag: "With", name: "_svc_w", called: relation.name, whole: wholeColumn },
      from: { schema: relation.schema, name: relation.name },
      relation,
      maxRows: 0,
      ...limits,
      filtered: false,
      expanded: bodyForm(form, answer).media === "csv"
    })
    if (Result.isFailure(rows)) return Result.fail(rows.failure)
    const limit = own(query.limit)
    const plan: WritePlan = {
      relation,
      change,
      rows: rows.success.rows,
      form: bodyForm(form, answer),
      maxAffected: change._tag !== "Insert" && preferences.handling === "strict" ? preferences.maxAffected : undefined,
      limit: change._tag === "Insert" || limit === undefined ? undefined : Number(limit),
      exactlyOne: exactlyOne ?? (form.media === "object" ? "PGRST116" : undefined),
      location: change._tag === "Insert" && preferences.return === "headers-only" ? relation.primary_key : []
    }
    return Result.succeed({ plan, clean: clean && this.findings.clean && rows.success.clean })
  }
}

const withoutRows = ({ plan }: PlannedWrite): PlannedWrite => ({
  plan: undefined,
  clean: true,
  head: plan?.form.media === "csv" ? csvHead(plan.rows) : undefined
})

export const planInsert = (
  catalogue: Catalogue,
  relation: Relation,
  request: WriteRequest,
  body: JsonOutline
): Planned => {
  const { query, preferences } = request
  const planner = new WritePlanner(catalogue, relation, request)
  const payload = planPayload(body, relation, query.columns, preferences.missing)
  if (Result.isFailure(payload)) return Result.fail(payload.failure)
  const columns = query.onConflict ?? relation.primary_key
  const conflict: RowConflict | undefined = preferences.resolution && {
    columns,
    resolution: preferences.resolution === "merge-duplicates" ? "merge" : "ignore"
  }
  const clean = conflict?.resolution === "merge" ? relation.clean_change : relation.clean_insert
  const planned = planner.finish({ _tag: "Insert", payload: payload.success, conflict, where: [] }, clean)
  const nothing = payload.success._tag === "Uniform" && payload.success.rows === 0
  return nothing ? Result.map(planned, withoutRows) : planned
}

/** The column of a filter `column=eq.value`. */
const equalColumn = (condition: Condition) =>
  condition._tag === "Compare" &&
  condition.operator === "eq" &&
  !condition.negated &&
  condition.quantifier === undefined &&
  condition.field.json.length === 0
    ? condition.field.name
    : undefined

/** PUT: inserts or replaces the row that the filters identify by primary key. */
export const planUpsert = (
  catalogue: Catalogue,
  relation: Relation,
  request: WriteRequest,
  body: JsonOutline
): Planned => {
  const { query } = request
  if ([...query.limit, ...query.offset].some(({ path }) => path.length === 0)) {
    return invalid("limit/offset querystring parameters are not allowed for PUT", "PGRST114")
  }
  const columns = relation.primary_key
  const named = ownFilters(query).map(equalColumn)
  if (
    columns.length === 0 ||
    !named.every((name) => name !== undefined && columns.includes(name)) ||
    !columns.every((name) => named.includes(name))
  ) {
    return Result.fail(
      new DatabaseError({
        status: 405,
        error: "Filters must include all and only primary key columns with 'eq' operators",
        code: "PGRST105"
      })
    )
  }
  const planner = new WritePlanner(catalogue, relation, request)
  const payload = planPayload(body, relation, query.columns, "null")
  if (Result.isFailure(payload)) return Result.fail(payload.failure)
  const { keys } = payload.success
  // Only the row that matches the URL is written, even if there are several.
  if (payload.success._tag !== "Uniform" || !columns.every((name) => keys.includes(name))) {
    return Result.fail(notMatching())
  }
  return planner.finish(
    {
      _tag: "Insert",
      payload: payload.success,
      conflict: { columns, resolution: "merge" },
      where: planner.where()
    },
    relation.clean_change,
    "PGRST115"
  )
}

/** The clause of the table itself. */
const own = (all: RowQuery["limit"]) => all.find(({ path }) => path.length === 0)?.value

/** PATCH and DELETE require a filter and allow no page: they affect all matching rows, from the first on. */
const unbounded = (query: RowQuery) => {
  if (ownFilters(query).length === 0) {
    return invalid(
      "PATCH and DELETE require a filter",
      "FILTER_REQUIRED",
      "Add one, for example ?id=eq.1. To affect every row, use a filter that is always true: ?id=not.is.null"
    )
  }
  return Number(own(query.offset) ?? 0) !== 0 || Number(own(query.limit) ?? 0) < 0
    ? invalid(
        "offset and a negative limit are not allowed with PATCH and DELETE, which affect every matching row",
        "LIMIT_NOT_ALLOWED",
        "Select the rows in the filter, for example ?id=in.(1,2)"
      )
    : undefined
}

export const planUpdate = (
  catalogue: Catalogue,
  relation: Relation,
  request: WriteRequest,
  body: JsonOutline
): Planned => {
  const { query, preferences } = request
  const wrong = unbounded(query)
  if (wrong !== undefined) return wrong
  if (body.form === "array" && body.rows !== 1) {
    const hint = "Send one object of column values: all rows that match the filter get them"
    return invalid(`The body of a PATCH is an array of ${body.rows} objects; it must be one object`, "PGRST102", hint)
  }
  const payload = planPayload(body, relation, query.columns)
  if (Result.isFailure(payload)) return Result.fail(payload.failure)
  const { success } = payload
  // Columns named in `columns` but absent from the body keep their value, unless `Prefer: missing` is given.
  const has = success._tag === "Uniform" ? success.keys : [...(success.rows[0]?.has ?? [])]
  const absent = success.keys.filter((key) => !has.includes(key))
  const planner = new WritePlanner(catalogue, relation, request)
  const keys = preferences.missing === "null" ? [...has, ...absent] : has
  const defaults = preferences.missing === "default" ? absent : []
  const planned = planner.finish(
    { _tag: "Update", json: body.first, texts: body.texts, keys, defaults, where: planner.where() },
    relation.clean_change
  )
  const nothing = keys.length + defaults.length === 0
  return nothing ? Result.map(planned, withoutRows) : planned
}

export const planDelete = (catalogue: Catalogue, relation: Relation, request: WriteRequest): Planned => {
  const wrong = unbounded(request.query)
  if (wrong !== undefined) return wrong
  const planner = new WritePlanner(catalogue, relation, request)
  return planner.finish({ _tag: "Delete", where: planner.where() }, relation.clean_change)
}
