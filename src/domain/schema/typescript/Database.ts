import { makeRelationships, type Relationships } from "../../catalogue/Relationships.ts"
import { type OutlinedRoutine, type SchemaOutline } from "../Outline.ts"
import { typeScriptHelpers } from "./Helpers.ts"
import { relationType } from "./Relations.ts"
import { routinesType } from "./Functions.ts"
import { indented, objectType, type Property, propertyName, quoted } from "./Text.ts"
import { byName, literals, sectionOf, TypeScriptTypes } from "./Types.ts"

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
  const relationships = makeRelationships(outline.relationships, (schema) => schemas.includes(schema))
  const parts: Array<Property> = [
    { name: "__InternalSupabase", type: objectType([{ name: "PostgrestVersion", type: quoted(postgrestVersion) }]) }
  ]
  for (const name of schemas.toSorted()) {
    parts.push({ name, type: yield* schemaType({ types, relationships, outline }, name) })
  }
  return [
    "// Written by GET /v1/database/types.ts; changes are lost when it is written anew.\n",
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
  const computing = new Map<string, Array<OutlinedRoutine>>()
  const overloads = new Map<string, Array<OutlinedRoutine>>()
  for (const routine of outline.routines) {
    if (routine.schema !== schema) continue
    const of = types.types.computedOf(routine)
    if (of?.schema === schema) push(computing, of.name, routine)
    push(overloads, routine.name, routine)
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
    const type = routinesType(types, all)
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
    { name: "Tables", type: objectType(relations.Tables.sort(byName)) },
    { name: "Views", type: objectType(relations.Views.sort(byName)) },
    { name: "Functions", type: objectType(functions.sort(byName)) },
    { name: "Enums", type: objectType(enums.sort(byName)) },
    { name: "CompositeTypes", type: objectType(composites.sort(byName)) }
  ])
}

const push = <A>(lists: Map<string, Array<A>>, key: string, one: A) => {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [one])
  else list.push(one)
}

/** In an object literal, this key would set the prototype. */
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
      .toSorted(byName)
      .map(({ name, values }) => [name, `[${(values ?? []).map(quoted).join(", ")}]`] as const)
  return `export const Constants = ${object(schemas.map((schema) => [schema, object([["Enums", object(enums(schema))]])]))} as const\n`
}
