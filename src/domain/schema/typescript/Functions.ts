import { callForm, type OutlinedRoutine } from "../Outline.ts"
import { compactObjectType, objectType, type Property, quoted, unionType } from "./Text.ts"
import { byName, type TypeScriptTypes } from "./Types.ts"

/** The type of all functions of one name; undefined if none of them can be called or embedded. */
export const routinesType = (types: TypeScriptTypes, overloads: ReadonlyArray<OutlinedRoutine>): string | undefined => {
  const all = overloads.flatMap((routine) => {
    const args = argumentsType(types, routine)
    return args === undefined ? [] : [routineType(types, routine, args)]
  })
  const each = [...new Set(all)]
  return each.length === 0 ? undefined : unionType(each)
}

const argumentsType = (types: TypeScriptTypes, routine: OutlinedRoutine): string | undefined => {
  const form = callForm(types.types, routine)
  const [only] = routine.arguments
  if (form === "named") {
    const named = routine.arguments.filter(({ name }) => name !== "")
    const properties = named.map(({ name, optional, type }): Property => ({ name, optional, type: types.of(type) }))
    return compactObjectType(properties.sort(byName), "never")
  }
  if (only === undefined) return undefined
  // Receives the whole body, of any type.
  if (form === "body") return types.of(only.type) === "Json" ? "{ [key: string]: Json }" : '{ "": string }'
  return types.types.computedOf(routine) === null ? undefined : `{ "": ${types.of(only.type)} }`
}

const routineType = (types: TypeScriptTypes, routine: OutlinedRoutine, args: string) => {
  const result = types.types.result(routine)
  const one =
    result._tag === "Void"
      ? "undefined"
      : result._tag === "Columns"
        ? compactObjectType(
            result.columns.map(({ name, type }) => ({ name, type: types.of(type) })).sort(byName),
            "Record<string, never>"
          )
        : types.of(result.type.oid)
  const to = result._tag === "Type" && result.type.relation !== null ? types.relation(result.type.relation) : undefined
  const embeds = to !== undefined && to.schema === routine.schema ? to.name : undefined
  // For an embeddable set of at most one declared row, the client's types add the array themselves.
  const bare = !routine.set || (embeds !== undefined && routine.single)
  const parts: Array<Property> = [
    { name: "Args", type: args },
    { name: "Returns", type: bare ? one : types.array(one) }
  ]
  if (embeds === undefined) return compactObjectType(parts)
  const from = types.types.computedOf(routine)
  const options = [
    { name: "from", type: quoted(from?.schema === routine.schema ? from.name : "*") },
    { name: "to", type: quoted(embeds) },
    { name: "isOneToOne", type: String(routine.single) },
    { name: "isSetofReturn", type: String(routine.set) }
  ]
  return objectType([...parts, { name: "SetofOptions", type: objectType(options) }])
}
