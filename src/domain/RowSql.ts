import { type Relation } from "./Catalogue.ts"
import { type Payload, type RowPlan } from "./RowPlan.ts"
import { type Filter, type Order } from "./RowQuery.ts"
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

const whereSql = (table: string, filters: ReadonlyArray<Filter>, params: Params) =>
  filters.length === 0 ? "" : ` where ${filters.map((filter) => filterSql(table, filter, params)).join(" and ")}`

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

const columnsSql = (table: string, columns: ReadonlyArray<string> | undefined) =>
  columns === undefined ? `${table}.*` : columns.map((name) => `${table}.${quoteName(name)}`).join(", ")

const answer = `select coalesce(json_agg(${row}), '[]')::text, count(*)::text from`

export const readSql = (plan: RowPlan): RowSql => {
  const params = new Params()
  const table = from(plan.relation)
  const where = whereSql(table, plan.filters, params)
  // Digits, written out: with a parameter here PostgreSQL would plan the statement anew each time it runs.
  const limit = plan.limit === undefined ? "" : ` limit ${plan.limit}`
  const offset = plan.offset === undefined ? "" : ` offset ${params.add(plan.offset)}`
  const order = orderSql(table, plan.order)
  const text = `${answer} (select ${columnsSql(table, plan.columns)} from ${table}${where}${order}${limit}${offset}) ${row}`
  return { text, params: params.values, prepare: true }
}

/** `representation`: the written rows; `minimal`: only how many. */
export type Returning = "representation" | "minimal"

const written = (statement: string, plan: RowPlan, returning: Returning) =>
  returning === "minimal"
    ? `with _svc_w as (${statement} returning 1) select ''::text, count(*)::text from _svc_w`
    : `with ${row} as (${statement} returning ${columnsSql(from(plan.relation), plan.columns)}) ${answer} ${row}`

export const insertSql = (plan: RowPlan, payload: Payload, returning: Returning): RowSql => {
  const params = new Params()
  const table = from(plan.relation)
  const list = payload.keys.map(quoteName).join(", ")
  if (payload._tag === "Uniform") {
    const source = `select ${list} from json_populate_recordset(null::${table}, ${params.add(payload.json)})`
    return {
      text: written(`insert into ${table} (${list}) ${source}`, plan, returning),
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
    const cells = keys.map((key) =>
      has.has(key) ? `(json_populate_record(null::${table}, ${param})).${quoteName(key)}` : "default"
    )
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
  const body = `json_populate_record(null::${table}, ${params.add(json)}) _svc_new`
  const set = keys.map((key) => `${quoteName(key)} = _svc_new.${quoteName(key)}`).join(", ")
  const where = whereSql(table, plan.filters, params)
  return {
    text: written(`update ${table} set ${set} from ${body}${where}`, plan, returning),
    params: params.values,
    prepare: true
  }
}

export const deleteSql = (plan: RowPlan, returning: Returning): RowSql => {
  const params = new Params()
  const table = from(plan.relation)
  const where = whereSql(table, plan.filters, params)
  return { text: written(`delete from ${table}${where}`, plan, returning), params: params.values, prepare: true }
}
