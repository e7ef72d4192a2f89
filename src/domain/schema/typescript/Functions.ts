import { callForm, type OutlinedFunction } from "../Outline.ts"
import { compactObjectType, objectType, type Property, quoted, unionType } from "./Text.ts"
import { inOrderOfNames, type TypeScriptTypes } from "./Types.ts"

/** The type of all functions of one name; undefined if none of them can be called or embedded. */
export const functionsType = (
  types: TypeScriptTypes,
  overloads: ReadonlyArray<OutlinedFunction>
): string | undefined => {
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
