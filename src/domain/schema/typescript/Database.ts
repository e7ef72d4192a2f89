import { type Relationships, makeRelationships } from "../../catalogue/Relationships.ts"
import { type OutlinedFunction, type SchemaOutline, callForm } from "../Outline.ts"
import { relationType } from "./Relations.ts"
import {
  type Property,
  TypeScriptTypes,
  compactObjectType,
  inOrderOfNames,
  indented,
  literals,
  objectType,
  propertyName,
  quoted,
  sectionOf,
  unionType
} from "./Types.ts"

/** The type of all functions of one name; undefined if none of them can be called or embedded. */
const functionsType = (types: TypeScriptTypes, overloads: ReadonlyArray<OutlinedFunction>): string | undefined => {
  const all = overloads.flatMap((fn) => {
    const args = argumentsType(types, fn)
    return args === undefined ? [] : [functionType(types, fn, args)]
  })
  const each = [...new Set(all)]
  return each.length === 0 ? undefined : unionType(each)
}

const argumentsType = (types: TypeScriptTypes, fn: OutlinedFunction): string | undefined => {
  const form = callForm(types.types, fn)
  const [only] = fn.arguments
  if (form === "named") {
    const named = fn.arguments.filter(({ name }) => name !== "")
    const properties = named.map(({ name, optional, type }): Property => ({ name, optional, type: types.of(type) }))
    return compactObjectType(properties.sort(inOrderOfNames), "never")
  }
  if (only === undefined) return undefined
  // Receives the whole body, of any type.
  if (form === "body") return types.of(only.type) === "Json" ? "{ [key: string]: Json }" : '{ "": string }'
  return types.types.computedOf(fn) === null ? undefined : `{ "": ${types.of(only.type)} }`
}

const functionType = (types: TypeScriptTypes, fn: OutlinedFunction, args: string) => {
  const result = types.types.result(fn)
  const one =
    result._tag === "Void"
      ? "undefined"
      : result._tag === "Columns"
        ? compactObjectType(
            result.columns.map(({ name, type }) => ({ name, type: types.of(type) })).sort(inOrderOfNames),
            "Record<string, never>"
          )
        : types.of(result.type.oid)
  const to = result._tag === "Type" && result.type.relation !== null ? types.relation(result.type.relation) : undefined
  const embeds = to !== undefined && to.schema === fn.schema ? to.name : undefined
  // The client's types add the array themselves for an embeddable set of at most one declared row.
  const bare = !fn.set || (embeds !== undefined && fn.single)
  const parts: Array<Property> = [
    { name: "Args", type: args },
    { name: "Returns", type: bare ? one : types.array(one) }
  ]
  if (embeds === undefined) return compactObjectType(parts)
  const from = types.types.computedOf(fn)
  const options = [
    { name: "from", type: quoted(from?.schema === fn.schema ? from.name : "*") },
    { name: "to", type: quoted(embeds) },
    { name: "isOneToOne", type: String(fn.single) },
    { name: "isSetofReturn", type: String(fn.set) }
  ]
  return objectType([...parts, { name: "SetofOptions", type: objectType(options) }])
}

/** The source of a helper type that selects by a name in the default schema, or by schema and name. */
const picker = (name: string, entries: string, picked: (entry: string) => string) => `export type ${name}<
  NameOrSchema extends keyof ${entries.replaceAll("$", "DefaultSchema")} | { schema: keyof Schemas },
  Name extends NameOrSchema extends { schema: keyof Schemas }
    ? keyof ${entries.replaceAll("$", `Schemas[NameOrSchema["schema"]]`)}
    : never = never
> = NameOrSchema extends { schema: keyof Schemas }
  ? ${picked(`${entries.replaceAll("$", `Schemas[NameOrSchema["schema"]]`)}[Name]`)}
  : NameOrSchema extends keyof ${entries.replaceAll("$", "DefaultSchema")}
    ? ${picked(`${entries.replaceAll("$", "DefaultSchema")}[NameOrSchema]`)}
    : never
`

const partOf = (part: string) => (entry: string) => `(${entry} extends { ${part}: infer Part } ? Part : never)`

/** `Tables<"notes">`, `TablesInsert<{ schema: "other" }, "notes">` and similar. */
const typeScriptHelpers = (defaultSchema: string) =>
  [
    `type Schemas = Omit<Database, "__InternalSupabase">\n`,
    `type DefaultSchema = Schemas[${quoted(defaultSchema)}]\n`,
    picker("Tables", `($["Tables"] & $["Views"])`, partOf("Row")),
    picker("TablesInsert", `($["Tables"] & $["Views"])`, partOf("Insert")),
    picker("TablesUpdate", `($["Tables"] & $["Views"])`, partOf("Update")),
    picker("Enums", `$["Enums"]`, (entry) => entry),
    picker("CompositeTypes", `$["CompositeTypes"]`, (entry) => entry)
  ].join("\n")

/** The newest PostgREST version for which `@supabase/postgrest-js` has types. */
const postgrestVersion = "14"

const json = `export type Json =
  | string
  | number
  | boolean
  | null
  | { [key: string]: Json | undefined }
  | Json[]
`

/**
 * Generates the TypeScript source of a type `Database` for `PostgrestClient<Database>`, and of helper types. The first
 * schema is the default. Each `next` is a short step; the source is the return value.
 */
export function* typeScriptDatabase(
  outline: SchemaOutline,
  schemas: ReadonlyArray<string>
): Generator<undefined, string> {
  const types = new TypeScriptTypes(outline)
  const reachable = new Set(outline.relations.map(({ name, schema }) => `${schema}\0${name}`))
  const relationships = makeRelationships(outline.relationships, ({ name, schema }) =>
    reachable.has(`${schema}\0${name}`)
  )
  const parts: Array<Property> = [
    { name: "__InternalSupabase", type: objectType([{ name: "PostgrestVersion", type: quoted(postgrestVersion) }]) }
  ]
  for (const name of schemas.toSorted()) {
    parts.push({ name, type: yield* schemaType({ types, relationships, outline }, name) })
  }
  return [
    "// Generated by GET /v1/database/types.ts. Do not edit: changes are lost when it is generated again.\n",
    json,
    `export type Database = ${objectType(parts)}\n`,
    typeScriptHelpers(schemas[0] ?? "public"),
    constants(outline, schemas.toSorted())
  ].join("\n")
}

interface Source {
  readonly types: TypeScriptTypes
  readonly relationships: Relationships
  readonly outline: SchemaOutline
}

function* schemaType({ outline, relationships, types }: Source, schema: string): Generator<undefined, string> {
  const computing = new Map<string, Array<OutlinedFunction>>()
  const overloads = new Map<string, Array<OutlinedFunction>>()
  for (const fn of outline.functions) {
    if (fn.schema !== schema) continue
    const of = types.types.computedOf(fn)
    if (of?.schema === schema) push(computing, of.name, fn)
    push(overloads, fn.name, fn)
  }

  const relations = { Tables: Array<Property>(), Views: Array<Property>() }
  for (const relation of outline.relations) {
    if (relation.schema !== schema) continue
    const type = relationType(types, relationships, relation, computing.get(relation.name) ?? [])
    relations[sectionOf(relation)].push({ name: relation.name, type })
    yield
  }

  const functions: Array<Property> = []
  for (const [name, all] of overloads) {
    const type = functionsType(types, all)
    if (type !== undefined) functions.push({ name, type })
    yield
  }

  const own = outline.types.filter((type) => type.schema === schema)
  const enums = own.flatMap(({ kind, name, values }) =>
    kind === "enum" ? [{ name, type: literals(values ?? []) }] : []
  )
  const composites = own.flatMap(({ attributes, kind, name }) =>
    kind === "composite" ? [{ name, type: objectType(types.fields(attributes ?? []), "Record<string, never>") }] : []
  )
  return objectType([
    { name: "Tables", type: objectType(relations.Tables.sort(inOrderOfNames)) },
    { name: "Views", type: objectType(relations.Views.sort(inOrderOfNames)) },
    { name: "Functions", type: objectType(functions.sort(inOrderOfNames)) },
    { name: "Enums", type: objectType(enums.sort(inOrderOfNames)) },
    { name: "CompositeTypes", type: objectType(composites.sort(inOrderOfNames)) }
  ])
}

const push = <A>(lists: Map<string, Array<A>>, key: string, one: A) => {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [one])
  else list.push(one)
}

/** An object literal would set its prototype by this key. */
const keyName = (name: string) => (name === "__proto__" ? `[${quoted(name)}]` : propertyName(name))

/** The values of enums, for use at run time. */
const constants = ({ types }: SchemaOutline, schemas: ReadonlyArray<string>) => {
  const object = (entries: ReadonlyArray<readonly [string, string]>) =>
    entries.length === 0
      ? "{}"
      : `{\n  ${entries.map(([name, value]) => `${keyName(name)}: ${indented(value)},`).join("\n  ")}\n}`
  const enums = (schema: string) =>
    types
      .filter((type) => type.kind === "enum" && type.schema === schema)
      .toSorted(inOrderOfNames)
      .map(({ name, values }) => [name, `[${(values ?? []).map(quoted).join(", ")}]`] as const)
  return `export const Constants = ${object(schemas.map((schema) => [schema, object([["Enums", object(enums(schema))]])]))} as const\n`
}
