import { holdsKey } from "../../catalogue/Relationship.ts"
import { type Relationships } from "../../catalogue/Relationships.ts"
import { type OutlinedColumn, type OutlinedRelation } from "../Outline.ts"
import { type ParameterName, done, failedResponse, parameterRef, reserved, rowsAnswer } from "./Parts.ts"
import { type JsonSchema, type OpenApiTypes, schemaRef } from "./Types.ts"

/** A foreign key in the document. */
export interface ForeignKey {
  readonly name: string
  readonly columns: ReadonlyArray<string>
  readonly references: { readonly table: string; readonly columns: ReadonlyArray<string> }
}

/** Foreign keys of `visible` columns, to tables of the same schema whose columns the role may read too. */
export const foreignKeysOf = (
  relation: OutlinedRelation,
  relationships: Relationships,
  relations: ReadonlyMap<string, OutlinedRelation>,
  visible: ReadonlySet<string>
): ReadonlyArray<ForeignKey> =>
  relationships.from(relation).flatMap((one): ReadonlyArray<ForeignKey> => {
    if (!holdsKey(one) || one.to.schema !== relation.schema) return []
    const there = relations.get(one.to.name)
    const readable = (column: string) => there?.columns.some(({ name, select }) => select && name === column) ?? false
    if (there?.kind === "view" || there?.kind === "materialized") return []
    if (!one.columns.every(([near, far]) => visible.has(near) && readable(far))) return []
    return [
      {
        name: one.constraint,
        columns: one.columns.map(([near]) => near),
        references: { table: one.to.name, columns: one.columns.map(([, far]) => far) }
      }
    ]
  })

/** A column's description: its comment and its keys. */
const columnNotes = (
  column: OutlinedColumn,
  primaryKey: ReadonlyArray<string>,
  foreign: ReadonlyArray<ForeignKey>
): string => {
  const lines = column.comment === null ? [] : [column.comment]
  if (primaryKey.includes(column.name)) lines.push(primaryKey.length > 1 ? "Part of the primary key." : "Primary key.")
  for (const { columns, references } of foreign) {
    const at = columns.indexOf(column.name)
    if (at >= 0) lines.push(`References \`${references.table}.${references.columns[at]}\`.`)
  }
  return lines.join("\n\n")
}

type Named = readonly [name: string, value: unknown]

/** The parts of one table or view in the document. */
export interface OpenApiRelation {
  readonly path: Named
  readonly schemas: ReadonlyArray<Named>
  readonly parameters: ReadonlyArray<Named>
  readonly responses: ReadonlyArray<Named>
}

/** The context of a table or view. */
export interface OpenApiContext {
  readonly types: OpenApiTypes
  readonly relationships: Relationships
  /** The relations of the schema, by name. */
  readonly relations: ReadonlyMap<string, OutlinedRelation>
  /** Whether a header must select the schema. */
  readonly profile: boolean
}

export const paragraphs = (comment: string | null) => {
  const [summary = "", ...others] = (comment ?? "").split("\n")
  const description = others.join("\n").trim()
  return { ...(summary === "" ? {} : { summary }), ...(description === "" ? {} : { description }) }
}

export const describeRelation = (context: OpenApiContext, relation: OutlinedRelation): OpenApiRelation => {
  const { types } = context
  const { columns, name, writable } = relation
  const component = types.component(relation) ?? ""
  const seen = columns.filter(({ select }) => select)
  const visible = new Set(seen.map((column) => column.name))
  const primaryKey = context.relationships.primaryKey(relation)
  const keyed = primaryKey.length > 0 && primaryKey.every((column) => visible.has(column))
  const foreign = foreignKeysOf(relation, context.relationships, context.relations, visible)
  const settable = ({ generated, writable: arrives }: OutlinedColumn) => arrives && generated !== "always"
  const inserts = (writable & 8) === 0 ? [] : columns.filter((column) => column.insert && settable(column))
  const updates = (writable & 4) === 0 ? [] : columns.filter((column) => column.update && settable(column))

  const properties = (some: ReadonlyArray<OutlinedColumn>) =>
    Object.fromEntries(
      some.map((column) => [column.name, types.column(column, columnNotes(column, keyed ? primaryKey : [], foreign))])
    )
  const object = (some: ReadonlyArray<OutlinedColumn>, required: (column: OutlinedColumn) => boolean): JsonSchema => {
    const names = some.filter(required).map((column) => column.name)
    return { type: "object", ...(names.length > 0 ? { required: names } : {}), properties: properties(some) }
  }

  const schemas: Array<Named> = []
  const filters: Array<Named> = []
  const operations: Array<Named> = []
  const header = (written: boolean): ReadonlyArray<ParameterName> =>
    context.profile ? [written ? "contentProfile" : "profile"] : []
  const ask = (names: ReadonlyArray<ParameterName>, filtered: boolean) => [
    ...(filtered ? filters.map(([filter]) => parameterRef(filter)) : []),
    ...names.map(parameterRef)
  ]
  const operation = (method: string, verb: string, about: string, rest: object) =>
    operations.push([method, { tags: [name], summary: about, operationId: `${verb}_${component}`, ...rest }])

  // Responses cannot contain rows if the role lacks SELECT.
  const row = seen.length === 0 ? undefined : schemaRef(component)
  const rows = row === undefined ? done : { $ref: `#/components/responses/${component}` }

  schemas.push([
    component,
    {
      ...(relation.comment === null ? {} : { description: relation.comment }),
      ...object(seen, (column) => column.not_null),
      ...(keyed ? { "x-primary-key": primaryKey } : {}),
      ...(foreign.length > 0 ? { "x-foreign-keys": foreign } : {})
    }
  ])

  if (row !== undefined) {
    for (const column of seen) {
      if (reserved.has(column.name)) continue
      filters.push([
        types.names.make(`${component}.${column.name}`),
        {
          name: column.name,
          in: "query",
          description: ["`<operator>.<value>`", types.sqlOf(column)].filter((part) => part !== undefined).join(": "),
          schema: { type: "string" }
        }
      ])
    }
    operation("get", "read", `Read rows of ${name}`, {
      parameters: ask(
        ["select", "and", "or", "order", "limit", "offset", "range", "preferRead", ...header(false)],
        true
      ),
      responses: { 200: rows, 206: rows, default: failedResponse }
    })
  }

  if (inserts.length > 0) {
    const body = types.names.make(`${component}_insert`)
    schemas.push([
      body,
      object(inserts, (column) => column.not_null && column.default === null && column.generated === null)
    ])
    operation("post", "insert", `Insert rows into ${name}`, {
      parameters: ask(["select", "columns", "on_conflict", "preferInsert", ...header(true)], false),
      requestBody: {
        required: true,
        content: {
          "application/json": { schema: { anyOf: [schemaRef(body), { type: "array", items: schemaRef(body) }] } },
          "application/x-www-form-urlencoded": { schema: schemaRef(body) },
          "text/csv": { schema: { type: "string" } }
        }
      },
      responses: { 200: rows, 201: rows, default: failedResponse }
    })
    const inserted = new Set(inserts.map((column) => column.name))
    if (row !== undefined && keyed && updates.length > 0 && primaryKey.every((column) => inserted.has(column))) {
      operation("put", "replace", `Insert or replace the row of ${name} with this primary key`, {
        parameters: ask(["select", "preferWrite", ...header(true)], true),
        requestBody: { required: true, content: { "application/json": { schema: schemaRef(body) } } },
        responses: { 200: rows, 201: rows, 204: done, default: failedResponse }
      })
    }
  }

  if (updates.length > 0 && row !== undefined) {
    const body = types.names.make(`${component}_update`)
    schemas.push([body, object(updates, () => false)])
    operation("patch", "update", `Update rows of ${name}`, {
      description: "At least one filter is required.",
      parameters: ask(["select", "columns", "and", "or", "preferWrite", ...header(true)], true),
      requestBody: { required: true, content: { "application/json": { schema: schemaRef(body) } } },
      responses: { 200: rows, 204: done, default: failedResponse }
    })
  }

  if (relation.delete && (writable & 16) !== 0 && row !== undefined) {
    operation("delete", "delete", `Delete rows of ${name}`, {
      description: "At least one filter is required.",
      parameters: ask(["select", "and", "or", "preferWrite", ...header(true)], true),
      responses: { 200: rows, 204: done, default: failedResponse }
    })
  }

  const item = { ...paragraphs(relation.comment), ...Object.fromEntries(operations) }
  return {
    path: [`/${encodeURIComponent(name)}`, item],
    schemas,
    parameters: filters,
    responses: row === undefined ? [] : [[component, rowsAnswer(`Rows of ${name}`, row)]]
  }
}
