import { type Relation } from "./Catalogue.ts"
import { type Payload, type RowPlan } from "./RowPlan.ts"
import { type Filter, type Order, type Selected } from "./RowQuery.ts"
import { arrayLiteral, quoteName } from "./RowText.ts"

/**
 * Plans as SQL. Every text gives one row: the answer's body as JSON text, and how many rows it tells of. Names are
 * quoted, values are `$n` parameters, everything else comes from the lists below; one shape of request has one text.
 */
export interface RowSql {
  readonly text: string
  readonly params: ReadonlyArray<string | null>
  /** False for texts too particular to be kept prepared. */
  readonly prepare: boolean
}

/** Alias of the answer's rows. A column of the same name would hide the row: nobody's is called that. */
const row = "_svc_row"

const comparison = { eq: "=", neq: "<>", gt: ">", gte: ">=", lt: "<", lte: "<=", like: "like", ilike: "ilike" } as const
const fixed = { null: "null", not_null: "not null", true: "true", false: "false", unknown: "unknown" } as const

class Params {
  readonly values: Array<string | null> = []
  add(value: string | null) {
    this.values.push(value)
    return `$${this.values.length}`
  }
}

const from = (relation: Relation) => `${quoteName(relation.schema)}.${quoteName(relation.name)}`

const filterSql = (table: string, filter: Filter, params: Params) => {
  const column = `${table}.${quoteName(filter.column)}`
  const condition = (() => {
    switch (filter._tag) {
      case "Compare": {
        const pattern = filter.operator === "like" || filter.operator === "ilike"
        const value = pattern ? filter.value.replaceAll("*", "%") : filter.value
        return `${column} ${comparison[filter.operator]} ${params.add(value)}`
      }
      case "In":
        return `${column} = any (${params.add(arrayLiteral(filter.values))})`
      case "Is":
        return `${column} is ${fixed[filter.value]}`
    }
  })()
  return filter.negated ? `not (${condition})` : condition
}

const whereSql = (plan: RowPlan, table: string, params: Params) => {
  const { filters, relation } = plan
  if (filters.length === 0) return ""
  // A prepared statement keeps the types its parameters had at first: with other column types it is another text.
  const types = filters.map((filter) => relation.byName.get(filter.column)?.type_oid ?? 0)
  return ` where ${filters.map((filter) => filterSql(table, filter, params)).join(" and ")} /*${types.join()}*/`
}

const nulls = { nullsfirst: " nulls first", nullslast: " nulls last" } as const

const orderSql = (table: string, order: ReadonlyArray<Order>) =>
  order.length === 0
    ? ""
    : ` order by ${order
        .map((item) => {
          const direction = item.direction === undefined ? "" : ` ${item.direction}`
          return `${table}.${quoteName(item.column)}${direction}${item.nulls ? nulls[item.nulls] : ""}`
        })
        .join(", ")}`

const columnsSql = (table: string, select: ReadonlyArray<Selected> | undefined) =>
  select === undefined
    ? `${table}.*`
    : select.map((item) => `${table}.${item._tag === "All" ? "*" : quoteName(item.name)}`).join(", ")

const answer = `select coalesce(json_agg(${row}), '[]')::text, count(*)::text from`

export const readSql = (plan: RowPlan): RowSql => {
  const params = new Params()
  const table = from(plan.relation)
  const where = whereSql(plan, table, params)
  // Digits, written out: with a parameter here PostgreSQL would plan the statement anew each time it runs.
  const limit = plan.limit === undefined ? "" : ` limit ${plan.limit}`
  const offset = plan.offset === undefined ? "" : ` offset ${params.add(plan.offset)}`
  const order = orderSql(table, plan.order)
  const text = `${answer} (select ${columnsSql(table, plan.select)} from ${table}${where}${order}${limit}${offset}) ${row}`
  return { text, params: params.values, prepare: true }
}

/** `representation`: the written rows; `minimal`: only how many. */
export type Returning = "representation" | "minimal"

const written = (statement: string, plan: RowPlan, returning: Returning) => {
  if (returning === "minimal") {
    return `with _svc_w as (${statement} returning 1) select ''::text, count(*)::text from _svc_w`
  }
  // RETURNING must name something: rows without columns are made from nothing.
  const bare = plan.select === undefined ? plan.relation.columns.length === 0 : plan.select.length === 0
  if (bare) return `with _svc_w as (${statement} returning 1) ${answer} (select from _svc_w) ${row}`
  return `with ${row} as (${statement} returning ${columnsSql(from(plan.relation), plan.select)}) ${answer} ${row}`
}

/**
 * The rows of a JSON text, or (`set`) of an array. json_populate_record fills every column of the table, and a domain
 * may refuse the NULL that an absent one gets: then only the columns that are there are read, by their types.
 */
const source = (relation: Relation, keys: ReadonlyArray<string>, param: string, set: "" | "set") => {
  if (!refusesAbsent(relation, new Set(keys)))
    return `json_populate_record${set}(null::${from(relation)}, ${param}) _svc_new`
  const columns = keys.map((key) => `${quoteName(key)} ${relation.byName.get(key)?.type ?? "text"}`)
  return `json_to_record${set}(${param}) _svc_new(${columns.join(", ")})`
}

const refusesAbsent = (relation: Relation, given: ReadonlySet<string>) =>
  relation.columns.some((column) => column.domain && !given.has(column.name))

export const insertSql = (plan: RowPlan, payload: Payload, returning: Returning): RowSql => {
  const params = new Params()
  const table = from(plan.relation)
  const list = payload.keys.map(quoteName).join(", ")
  if (payload._tag === "Uniform") {
    const rows = source(plan.relation, payload.keys, params.add(payload.json), "set")
    return {
      text: written(`insert into ${table} (${list}) select ${list} from ${rows}`, plan, returning),
      params: params.values,
      prepare: true
    }
  }
  const first = plan.relation.columns[0]
  if (payload.keys.length === 0 && (payload.rows.length === 1 || first === undefined)) {
    return { text: written(`insert into ${table} default values`, plan, returning), params: [], prepare: true }
  }
  // Only a VALUES list can say DEFAULT. All its rows name one and the same set of columns.
  const keys = payload.keys.length > 0 ? payload.keys : [first?.name ?? ""]
  const values = payload.rows.map(({ json, has }) => {
    const param = keys.some((key) => has.has(key)) ? params.add(json) : ""
    const cell = refusesAbsent(plan.relation, has)
      ? (name: string) => `(select ${name} from ${source(plan.relation, [...has], param, "")})`
      : (name: string) => `(json_populate_record(null::${table}, ${param})).${name}`
    const cells = keys.map((key) => (has.has(key) ? cell(quoteName(key)) : "default"))
    return `(${cells.join(", ")})`
  })
  const into = `insert into ${table} (${keys.map(quoteName).join(", ")}) values ${values.join(", ")}`
  return { text: written(into, plan, returning), params: params.values, prepare: false }
}

/** Rows that one INSERT can take: each has a parameter, and the protocol numbers them in 16 bits. */
export const mixedRowsLimit = 30_000

export const updateSql = (plan: RowPlan, keys: ReadonlyArray<string>, json: string, returning: Returning): RowSql => {
  const params = new Params()
  const table = from(plan.relation)
  const body = source(plan.relation, keys, params.add(json), "")
  const set = keys.map((key) => `${quoteName(key)} = _svc_new.${quoteName(key)}`).join(", ")
  const where = whereSql(plan, table, params)
  return {
    text: written(`update ${table} set ${set} from ${body}${where}`, plan, returning),
    params: params.values,
    prepare: true
  }
}

export const deleteSql = (plan: RowPlan, returning: Returning): RowSql => {
  const params = new Params()
  const table = from(plan.relation)
  const where = whereSql(plan, table, params)
  return { text: written(`delete from ${table}${where}`, plan, returning), params: params.values, prepare: true }
}
