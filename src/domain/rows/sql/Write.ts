import { type Relation } from "../../catalogue/Catalogue.ts"
import { conditionSql, type RowName } from "./Condition.ts"
import { type Payload } from "../plan/Payload.ts"
import {
  type RowChange,
  type RowConflict,
  type Item,
  type PlannedCondition,
  type PlannedField,
  type RowPlan
} from "../plan/Plan.ts"
import { type RowScope } from "./Scope.ts"
import { relationSql } from "./From.ts"
import { quoteName } from "../../sql/Names.ts"

/** Column that holds each written row as a value of its type. */
export const wholeColumn = "_svc_whole"
/** Transaction-local setting that counts the existing rows an upsert has updated. */
const merged = "svc.merged"
const mergedNow = `coalesce(nullif(pg_catalog.current_setting('${merged}', true), ''), '0')::int`

/** The number of rows that an upsert has inserted. */
export const insertedSql = `((select pg_catalog.count(*) from _svc_w) - ${mergedNow})::text`

/**
 * The row of a JSON object, or (`set`) the rows of an array. json_populate_record fills every column of the table, but a
 * domain may reject the NULL of an absent one; then only the given columns are read, by their types. So are those that
 * their domain's cast reads, and those of JSON where each value is a text (`texts`): the text of JSON, not a JSON string.
 * PostgreSQL reads other types, arrays and composites too, from a string as from a text.
 */
const rowsOf = (
  relation: Relation,
  { keys, texts }: { readonly keys: ReadonlyArray<string>; readonly texts: boolean },
  param: string,
  set: "" | "set"
) => {
  if (!byColumn(relation, new Set(keys), texts))
    return `pg_catalog.json_populate_record${set}(null::${relationSql(relation)}, ${param}) _svc_new`
  const given = keys.map((key) => ({ name: quoteName(key), column: relation.byName.get(key) }))
  const parser = ({ column }: (typeof given)[number]) => column?.casts?.from_json ?? undefined
  const way = (one: (typeof given)[number]) => {
    const own = one.column?.type ?? "text"
    const value = `_svc_json.${one.name}`
    const parse = parser(one)
    if (parse !== undefined) return { type: "json", value: `${parse}(${value}) as ${one.name}` }
    return texts && one.column?.kind === "json"
      ? { type: "text", value: `${value}::${own} as ${one.name}` }
      : { type: own, value: one.name }
  }
  const ways = given.map(way)
  const columns = given.map(({ name }, at) => `${name} ${ways[at]?.type}`)
  const record = `pg_catalog.json_to_record${set}(${param})`
  const values = ways.map(({ value }) => value)
  if (values.every((value, at) => value === given[at]?.name)) return `${record} _svc_new(${columns.join(", ")})`
  return `(select ${values.join(", ")} from ${record} _svc_json(${columns.join(", ")})) _svc_new`
}

const byColumn = (relation: Relation, given: ReadonlySet<string>, texts: boolean) =>
  relation.columns.some(({ casts, domain, kind, name }) =>
    given.has(name) ? (casts !== null && casts.from_json !== null) || (texts && kind === "json") : domain
  )

const names = (keys: ReadonlyArray<string>) => keys.map(quoteName).join(", ")

const whereSql = (conditions: ReadonlyArray<PlannedCondition>, columns: string, scope: RowScope) => {
  const row: RowName = { columns, whole: `${columns}.*` }
  // Filters on embeds apply to the returned rows only.
  const all = conditions.map((condition) => conditionSql(condition, row, scope, () => "false"))
  return all.length === 0 ? "" : ` where ${all.join(" and ")}`
}

const conflictSql = (conflict: RowConflict | undefined, keys: ReadonlyArray<string>) => {
  if (conflict === undefined || conflict.columns.length === 0) return ""
  const on = ` on conflict (${names(conflict.columns)}) do`
  if (conflict.resolution === "ignore" || keys.length === 0) return `${on} nothing`
  const set = keys.map((key) => `${quoteName(key)} = excluded.${quoteName(key)}`)
  return `${on} update set ${set.join(", ")} where pg_catalog.set_config('${merged}', (${mergedNow} + 1)::text, true) <> ''`
}

const valuesSql = (relation: Relation, payload: Extract<Payload, { readonly _tag: "Mixed" }>, scope: RowScope) => {
  const table = relationSql(relation)
  const first = relation.columns[0]
  if (payload.keys.length === 0 && (payload.rows.length === 1 || first === undefined)) {
    return `insert into ${table} default values`
  }
  // Only a VALUES list accepts DEFAULT, and all its rows have the same columns.
  const keys = payload.keys.length > 0 ? payload.keys : [first?.name ?? ""]
  const columns = keys.map((key) => [key, quoteName(key)] as const)
  const values = payload.rows.map(({ json, has }) => {
    const param = has.size > 0 ? scope.param(json) : ""
    const single = byColumn(relation, has, payload.texts)
    const before = single ? "(select " : `(pg_catalog.json_populate_record(null::${table}, ${param})).`
    const after = single ? ` from ${rowsOf(relation, { keys: [...has], texts: payload.texts }, param, "")})` : ""
    const cells = columns.map(([key, column]) => (has.has(key) ? before + column + after : "default"))
    return `(${cells.join(", ")})`
  })
  return `insert into ${table} (${names(keys)}) values ${values.join(", ")}`
}

/** The change itself, without RETURNING. */
export const changeSql = (relation: Relation, change: RowChange, scope: RowScope) => {
  const table = relationSql(relation)
  switch (change._tag) {
    case "Insert": {
      const { payload, conflict, where } = change
      if (payload._tag === "Mixed")
        return `${valuesSql(relation, payload, scope)}${conflictSql(conflict, payload.keys)}`
      const list = names(payload.keys)
      const rows = rowsOf(relation, payload, scope.param(payload.json), payload.array ? "set" : "")
      const matching = whereSql(where, "_svc_new", scope)
      // `ON` would be parsed as part of a join if there were no WHERE.
      const always = conflict !== undefined && matching === "" ? " where true" : matching
      return `insert into ${table} (${list}) select ${list} from ${rows}${always}${conflictSql(conflict, payload.keys)}`
    }
    case "Update": {
      const { json, keys, defaults, texts, where } = change
      const set = [
        ...keys.map((key) => `${quoteName(key)} = _svc_new.${quoteName(key)}`),
        ...defaults.map((key) => `${quoteName(key)} = default`)
      ]
      const from = keys.length === 0 ? "" : ` from ${rowsOf(relation, { keys, texts }, scope.param(json), "")}`
      return `update ${table} set ${set.join(", ")}${from}${whereSql(where, table, scope)}`
    }
    case "Delete":
      return `delete from ${table}${whereSql(change.where, table, scope)}`
  }
}

/** RETURNING with only the columns that the response needs: the caller may not be allowed to read others. */
export const returningSql = (relation: Relation, rows: RowPlan | undefined, location: ReadonlyArray<string>) => {
  const table = relationSql(relation)
  const needed = new Set(location)
  const found = { all: false, whole: false }
  const field = ({ kind, name }: PlannedField) => {
    if (kind === "computed") found.whole = true
    else if (kind !== "count") needed.add(name)
  }
  const conditions = (list: ReadonlyArray<PlannedCondition>) => {
    for (const condition of list) {
      if (condition._tag === "Test") field(condition.field)
      else if (condition._tag !== "Exists") conditions(condition.conditions)
    }
  }
  const item = (one: Item) => {
    if (one._tag === "All") found.all = true
    else if (one._tag === "Field") field(one.field)
  }
  for (const one of rows?.items ?? []) item(one)
  for (const { by } of rows?.order ?? []) if (by._tag === "Field") field(by.field)
  conditions(rows?.where ?? [])
  for (const { link } of rows?.joins ?? []) {
    if (link._tag === "Argument") found.whole = true
    else for (const [here] of link._tag === "Keys" ? link.columns : link.near) needed.add(here)
  }
  const columns = [...needed].filter((name) => !found.all || !relation.byName.has(name))
  const all = [
    ...(found.all ? [`${table}.*`] : []),
    ...columns.map((name) => `${table}.${quoteName(name)}`),
    ...(found.whole ? [`${table}.*::${table} as ${wholeColumn}`] : [])
  ]
  // RETURNING must not be empty.
  return ` returning ${all.length === 0 || (found.all && relation.columns.length === 0 && all.length === 1) ? "1" : all.join(", ")}`
}
