import { version } from "../../Version.ts"
import { makeRelationships, type Relationships } from "../../catalogue/Relationships.ts"
import {
  callForm,
  type OutlinedColumn,
  type OutlinedFunction,
  type OutlinedRelation,
  OutlinedTypes,
  type SchemaOutline
} from "../Outline.ts"
import { type ForeignKey, foreignKeysOf } from "./Relations.ts"

type Json = Readonly<Record<string, unknown>>

/** Parameters shared by all paths, by PostgREST's names for them. */
const shared = {
  preferParams: { name: "Prefer", description: "Preference", required: false, enum: [], in: "header", type: "string" },
  preferReturn: header("Prefer", ["return=representation", "return=minimal", "return=none"]),
  preferCount: header("Prefer", ["count=none"]),
  preferPost: header("Prefer", [
    "return=representation",
    "return=minimal",
    "return=none",
    "resolution=ignore-duplicates",
    "resolution=merge-duplicates"
  ]),
  select: query("select", "Filtering Columns"),
  on_conflict: query("on_conflict", "On Conflict"),
  order: query("order", "Ordering"),
  range: { name: "Range", description: "Limiting and Pagination", required: false, in: "header", type: "string" },
  rangeUnit: {
    name: "Range-Unit",
    description: "Limiting and Pagination",
    required: false,
    default: "items",
    in: "header",
    type: "string"
  },
  offset: query("offset", "Limiting and Pagination"),
  limit: query("limit", "Limiting and Pagination")
}

function header(name: string, values: ReadonlyArray<string>) {
  return { name, description: "Preference", required: false, enum: values, in: "header", type: "string" }
}

function query(name: string, description: string) {
  return { name, description, required: false, in: "query", type: "string" }
}

const ref = (name: string) => ({ $ref: `#/parameters/${name}` })
const media = [
  "application/json",
  "application/vnd.pgrst.object+json;nulls=stripped",
  "application/vnd.pgrst.object+json",
  "text/csv"
]
const integers = new Set(["smallint", "integer", "bigint"])

/** A type as Swagger names it; JSON of any form has none. */
const typeOf = (types: OutlinedTypes, oid: number): Json => {
  const { kind, of, sql, values } = types.base(oid)
  if (kind === "array") return { type: "array", items: of === null ? {} : itemOf(types, of) }
  if (kind === "json") return {}
  if (kind === "boolean") return { type: "boolean" }
  if (kind === "number") return { type: integers.has(sql) ? "integer" : "number" }
  return { type: "string", ...(values === null ? {} : { enum: values }) }
}

const itemOf = (types: OutlinedTypes, oid: number): Json => {
  const { type } = typeOf(types, oid)
  return type === undefined || type === "array" ? {} : { type }
}

/** Notes about keys in descriptions of columns, which tools read: of a foreign key of this column alone, the first. */
const keyNotes = (column: string, primaryKey: ReadonlyArray<string>, foreign: ReadonlyArray<ForeignKey>) => [
  ...(primaryKey.includes(column) ? ["This is a Primary Key.<pk/>"] : []),
  ...foreign
    .filter(({ columns }) => columns.length === 1 && columns[0] === column)
    .slice(0, 1)
    .map(({ references: { columns, table } }) => {
      const [there] = columns
      return `This is a Foreign Key to \`${table}.${there}\`.<fk table='${table}' column='${there}'/>`
    })
]

/** A type without its length or precision, as PostgREST names it. */
const bare = (sql: string) => sql.replace(/\([\d,]+\)/, "")

/** A default of text as its text, or its expression; of another type as the JSON that it may be, else undefined. */
const defaultOf = (expression: string, sql: string, type: unknown): unknown => {
  const cast = `::${sql}`
  if (type === "string") {
    return expression.endsWith(cast) ? expression.slice(0, -cast.length).replaceAll(/^'+|'+$/g, "") : expression
  }
  try {
    return JSON.parse(expression) as unknown
  } catch {
    return undefined
  }
}

interface Context {
  readonly types: OutlinedTypes
  readonly relationships: Relationships
  readonly relations: ReadonlyMap<string, OutlinedRelation>
}

const described = (comment: string | null) => {
  const [summary = "", ...others] = (comment ?? "").split("\n")
  const description = others.join("\n").trim()
  return { ...(summary === "" ? {} : { summary }), ...(description === "" ? {} : { description }) }
}

const definitionOf = ({ relations, relationships, types }: Context, relation: OutlinedRelation): Json => {
  const seen = relation.columns.filter(({ select }) => select)
  const visible = new Set(seen.map(({ name }) => name))
  const foreign = foreignKeysOf(relation, relationships, relations, visible)
  const primaryKey = relationships.primaryKey(relation)
  const property = (column: OutlinedColumn): Json => {
    const notes = keyNotes(column.name, primaryKey, foreign)
    const text = [column.comment ?? "", notes.length === 0 ? "" : `Note:\n${notes.join("\n")}`].filter(
      (one) => one !== ""
    )
    const type = typeOf(types, column.type)
    const preset = column.default === null ? undefined : defaultOf(column.default, bare(column.sql), type["type"])
    return {
      ...(text.length === 0 ? {} : { description: text.join("\n\n") }),
      ...(preset === undefined ? {} : { default: preset }),
      ...(column.length === null ? {} : { maxLength: column.length }),
      format: bare(column.sql),
      ...type
    }
  }
  const required = seen.filter((column) => column.not_null).map(({ name }) => name)
  return {
    ...(relation.comment === null ? {} : { description: relation.comment }),
    ...(required.length === 0 ? {} : { required }),
    properties: Object.fromEntries(seen.map((column) => [column.name, property(column)])),
    type: "object"
  }
}

const pathOf = ({ columns, comment, delete: deletes, name, writable }: OutlinedRelation): Json => {
  const filters = columns.filter(({ select }) => select).map((column) => ref(`rowFilter.${name}.${column.name}`))
  const operation = (parameters: ReadonlyArray<unknown>, responses: Json) => ({
    tags: [name],
    ...described(comment),
    parameters,
    responses
  })
  const rows = { type: "array", items: { $ref: `#/definitions/${name}` } }
  const changed = { 204: { description: "No Content" } }
  const reads = ["select", "order", "range", "rangeUnit", "offset", "limit", "preferCount"].map(ref)
  const may = (bit: number, one: "insert" | "update") => (writable & bit) !== 0 && columns.some((column) => column[one])
  return {
    get: operation([...filters, ...reads], {
      200: { description: "OK", schema: rows },
      206: { description: "Partial Content" }
    }),
    ...(may(8, "insert") && {
      post: operation([`body.${name}`, "select", "preferPost"].map(ref), { 201: { description: "Created" } })
    }),
    ...((writable & 16) !== 0 && deletes && { delete: operation([...filters, ref("preferReturn")], changed) }),
    ...(may(4, "update") && { patch: operation([...filters, ...[`body.${name}`, "preferReturn"].map(ref)], changed) })
  }
}

const callOf = (types: OutlinedTypes, { arguments: all, comment, name, volatile }: OutlinedFunction): Json => {
  const named = all.filter((argument) => argument.name !== "")
  const schema = (type: number): Json => ({ format: types.get(type).sql, ...typeOf(types, type) })
  const required = all.filter(({ optional }) => !optional).map((argument) => argument.name)
  /** Several values of a VARIADIC argument; other arrays are texts in braces, as JSON is a text. */
  const inQuery = ({ type, variadic }: OutlinedFunction["arguments"][number]): Json => {
    const { of, sql } = types.get(type)
    if (!variadic || of === null) {
      const { type: named } = typeOf(types, type)
      return { format: sql, type: named === undefined || named === "array" ? "string" : named }
    }
    return { type: "array", items: { ...itemOf(types, of), format: types.get(of).sql }, collectionFormat: "multi" }
  }
  const common = { tags: [`(rpc) ${name}`], ...described(comment), produces: media }
  const responses = { 200: { description: "OK" } }
  const body = {
    ...(required.length === 0 ? {} : { required }),
    type: "object",
    properties: Object.fromEntries(all.map((argument) => [argument.name, schema(argument.type)]))
  }
  return {
    ...(!volatile && {
      get: {
        ...common,
        parameters: named.map((argument) =>
          Object.assign({ name: argument.name, required: !argument.optional, in: "query" }, inQuery(argument))
        ),
        responses
      }
    }),
    post: {
      ...common,
      parameters: [{ name: "args", required: true, in: "body", schema: body }, ref("preferParams")],
      responses
    }
  }
}

const entry = (name: string, value: unknown) => `${JSON.stringify(name)}:${JSON.stringify(value)}`

/**
 * Generates a Swagger 2.0 document of one schema in the form of PostgREST, which low-code tools read for the tables and
 * columns of Supabase. In steps, like `openApiDocument`.
 */
export function* swaggerDocument(outline: SchemaOutline, schema: string): Generator<undefined, string> {
  const types = new OutlinedTypes(outline.types)
  const relations = new Map(outline.relations.map((relation) => [relation.name, relation]))
  const known = (to: { readonly schema: string; readonly name: string }) =>
    to.schema === schema && relations.has(to.name)
  const context: Context = { types, relations, relationships: makeRelationships(outline.relationships, known) }
  const introspection = {
    tags: ["Introspection"],
    summary: "OpenAPI description (this document)",
    produces: ["application/openapi+json", "application/json"],
    responses: { 200: { description: "OK" } }
  }
  const paths = [entry("/", { get: introspection })]
  const definitions: Array<string> = []
  const parameters = Object.entries(shared).map(([name, parameter]) => entry(name, parameter))
  for (const relation of outline.relations) {
    const { columns, name } = relation
    if (!columns.some(({ select }) => select)) continue
    paths.push(entry(`/${name}`, pathOf(relation)))
    definitions.push(entry(name, definitionOf(context, relation)))
    const body = { name, description: name, required: false, in: "body", schema: { $ref: `#/definitions/${name}` } }
    parameters.push(entry(`body.${name}`, body))
    for (const column of columns.filter(({ select }) => select)) {
      const filter = { name: column.name, required: false, format: column.sql, in: "query", type: "string" }
      parameters.push(entry(`rowFilter.${name}.${column.name}`, filter))
    }
    yield
  }
  const called = new Set<string>()
  for (const fn of outline.functions) {
    if (called.has(fn.name) || (callForm(types, fn) === undefined && fn.arguments.length !== 1)) continue
    called.add(fn.name)
    paths.push(entry(`/rpc/${fn.name}`, callOf(types, fn)))
    yield
  }
  const { description, summary = "PostgREST API" } = described(outline.schemas[0]?.comment ?? null)
  const parts = [
    entry("swagger", "2.0"),
    entry("info", { title: summary, ...(description === undefined ? {} : { description }), version }),
    entry("basePath", "/rest/v1"),
    entry("consumes", media),
    entry("produces", media),
    `"paths":{${paths.join(",")}}`,
    `"definitions":{${definitions.join(",")}}`,
    `"parameters":{${parameters.join(",")}}`
  ]
  return `{${parts.join(",")}}`
}
