import { done, failedResponse, type ParameterName, parameterRef, rowsAnswer } from "./Parts.ts"
import { type OpenApiContext, paragraphs } from "./Relations.ts"
import { type JsonSchema } from "./Types.ts"
import { callForm, type OutlinedArgument, type OutlinedFunction } from "../Outline.ts"

const bodyMedia: Readonly<Record<string, string>> = {
  json: "application/json",
  jsonb: "application/json",
  text: "text/plain",
  bytea: "application/octet-stream",
  xml: "text/xml"
}

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** The distinct values, in the order of the overloads. */
const distinct = <A>(all: ReadonlyArray<A>) =>
  all.filter((one, at) => all.findIndex((other) => same(one, other)) === at)

const anyOf = (schemas: ReadonlyArray<JsonSchema>): JsonSchema => {
  const [first = {}, ...others] = distinct(schemas)
  return others.length === 0 ? first : { anyOf: [first, ...others] }
}

/** The path of all functions of one name; undefined if none of them can be called with named arguments or a body. */
export const describeFunctions = (
  context: OpenApiContext,
  name: string,
  overloads: ReadonlyArray<OutlinedFunction>,
  operationId: (wanted: string) => string
): readonly [path: string, item: unknown] | undefined => {
  const { types } = context
  const callable = overloads.filter((fn) => callForm(types.types, fn) !== undefined)
  if (callable.length === 0) return undefined
  const readable = callable.filter((fn) => !fn.volatile && callForm(types.types, fn) === "named")
  const profile = (written: boolean): ReadonlyArray<ParameterName> =>
    context.profile ? [written ? "contentProfile" : "profile"] : []
  const paging = (some: ReadonlyArray<OutlinedFunction>, given: ReadonlySet<string>): ReadonlyArray<ParameterName> =>
    some.some(({ set }) => set)
      ? (["select", "and", "or", "order", "limit", "offset", "preferRead"] as const).filter((one) => !given.has(one))
      : []
  const operation = (verb: string) => ({ tags: ["rpc"], operationId: operationId(`${verb}_${name}`) })

  const get = () => {
    const given = new Set(readable.flatMap((fn) => fn.arguments.map((argument) => argument.name)))
    return {
      ...operation("query"),
      summary: `Call ${name} (read-only)`,
      parameters: [
        ...queryArguments(context, readable),
        ...[...paging(readable, given), ...profile(false)].map(parameterRef)
      ],
      responses: answers(context, readable)
    }
  }
  const post = () => ({
    ...operation("call"),
    summary: `Call ${name}`,
    parameters: [...paging(callable, new Set()), ...profile(true)].map(parameterRef),
    ...requestBody(context, callable),
    responses: answers(context, callable)
  })

  const comment = callable.find((fn) => fn.comment !== null)?.comment ?? null
  const item = { ...paragraphs(comment), ...(readable.length > 0 ? { get: get() } : {}), post: post() }
  return [`/rpc/${encodeURIComponent(name)}`, item]
}

const argumentSchema = ({ types }: OpenApiContext, { type }: OutlinedArgument): JsonSchema => types.of(type, true)

/** Values in a URL, other than numbers, booleans and text, are written as PostgreSQL text. */
const queryArguments = (context: OpenApiContext, functions: ReadonlyArray<OutlinedFunction>) => {
  const all = functions.flatMap((fn) => fn.arguments.filter((one) => one.name !== ""))
  return [...new Set(all.map(({ name }) => name))].map((name) => {
    const some = all.filter((one) => one.name === name)
    const everywhere = some.length === functions.length && some.every(({ optional }) => !optional)
    return {
      name,
      in: "query",
      required: everywhere,
      schema: anyOf(
        some.map(({ type, variadic }) => {
          const { kind } = context.types.types.base(type)
          if (kind === "array" && variadic) return context.types.of(type)
          const plain = kind === "number" || kind === "boolean" || kind === "string" || kind === "enum"
          return plain ? context.types.of(type) : { type: "string" }
        })
      )
    }
  })
}

const requestBody = (context: OpenApiContext, functions: ReadonlyArray<OutlinedFunction>) => {
  const schemas = new Map<string, Array<JsonSchema>>()
  const add = (media: string, schema: JsonSchema) => schemas.set(media, [...(schemas.get(media) ?? []), schema])
  for (const fn of functions) {
    const [one] = fn.arguments
    if (one !== undefined && callForm(context.types.types, fn) === "body") {
      const type = context.types.types.get(one.type).sql
      add(bodyMedia[type] ?? "text/plain", type.startsWith("json") ? {} : { type: "string" })
      continue
    }
    const named = fn.arguments.filter(({ name }) => name !== "")
    const required = named.filter(({ optional }) => !optional).map(({ name }) => name)
    add("application/json", {
      type: "object",
      ...(required.length > 0 ? { required } : {}),
      properties: Object.fromEntries(named.map((argument) => [argument.name, argumentSchema(context, argument)])),
      additionalProperties: false
    })
  }
  const required = functions.every((fn) => fn.arguments.some(({ optional }) => !optional))
  const content = Object.fromEntries(Array.from(schemas, ([media, some]) => [media, { schema: anyOf(some) }]))
  return { requestBody: { ...(required ? { required } : {}), content } }
}

const answers = ({ types }: OpenApiContext, functions: ReadonlyArray<OutlinedFunction>) => {
  const single: Array<JsonSchema> = []
  const rows: Array<JsonSchema> = []
  let nothing = false
  for (const fn of functions) {
    const result = types.types.result(fn)
    if (result._tag === "Void") nothing = true
    else {
      const schema = result._tag === "Columns" ? types.object(result.columns) : types.of(result.type.oid, !fn.set)
      ;(fn.set ? rows : single).push(schema)
    }
  }
  const others = { ...(nothing ? { 204: done } : {}), default: failedResponse }
  const about = "What it gives"
  if (single.length > 0) {
    const schema = anyOf([...single, ...rows.map((items) => ({ type: "array", items }))])
    return { 200: { description: about, content: { "application/json": { schema } } }, ...others }
  }
  if (rows.length === 0) return others
  const answer = rowsAnswer(about, anyOf(rows))
  return { 200: answer, 206: answer, ...others }
}
