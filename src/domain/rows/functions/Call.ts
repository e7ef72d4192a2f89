import { Result } from "effect"
import { isUtf8 } from "node:buffer"
import { type StoredFunction } from "../../catalogue/Catalogue.ts"
import { type DatabaseError, InvalidRequest, type NotFound } from "../../errors.ts"
import { type JsonOutline } from "../../text/JsonOutline.ts"
import { type Candidates, chooseFunction, type RawMedia, rawKinds } from "./Choice.ts"
import { arrayLiteral } from "../../sql/Names.ts"

/** The arguments in a request, before a function is chosen. `Json` is the text itself, or its outline. */
export type CallBody<Json = Buffer> =
  | { readonly _tag: "None" }
  | { readonly _tag: "Json"; readonly json: Json; readonly media?: "text/csv" }
  /** Names and values as text, from a form or a GET. */
  | { readonly _tag: "Pairs"; readonly pairs: ReadonlyArray<readonly [string, string]> }
  /** The body of a function with a single unnamed argument. */
  | { readonly _tag: "Raw"; readonly media: RawMedia; readonly bytes: Uint8Array }

/** A call of one stored function. */
export interface PlannedCall {
  readonly fn: StoredFunction
  readonly values: CallValues
}

type Argument = StoredFunction["arguments"][number]

type CallValues =
  /** JSON text of an object: PostgreSQL converts each value to its argument's type. */
  | { readonly _tag: "Json"; readonly json: Uint8Array; readonly given: ReadonlyArray<Argument> }
  /** Each in PostgreSQL's input syntax for its type. */
  | { readonly _tag: "Texts"; readonly given: ReadonlyArray<Argument>; readonly texts: ReadonlyArray<string | null> }
  /** The only argument, in PostgreSQL's input syntax for `type`. */
  | { readonly _tag: "Whole"; readonly value: string | Uint8Array; readonly type: NonNullable<StoredFunction["body"]> }

type Planned = Result.Result<PlannedCall, NotFound | DatabaseError | InvalidRequest>

const invalid = (error: string) => Result.fail(new InvalidRequest({ error, code: "PGRST102" }))

/**
 * Plans a call. `columns`: the keys of a JSON body to use. Like in PostgREST, a JSON array stands for its first object,
 * unless the function takes the whole body.
 */
export const planCall = (
  candidates: Candidates,
  body: CallBody<JsonOutline>,
  columns: ReadonlyArray<string> | undefined = undefined
): Planned => {
  switch (body._tag) {
    case "None":
      return planEmpty(candidates)
    case "Json":
      return planJson(candidates, body, columns)
    case "Pairs":
      return planTexts(candidates, body.pairs)
    case "Raw": {
      const kind = rawKinds[body.media]
      const chosen = chooseFunction(candidates, [], body.media)
      if (Result.isFailure(chosen)) return Result.fail(chosen.failure)
      const fn = chosen.success
      if (fn.body !== kind) return Result.succeed({ fn, values: withoutArguments })
      const value = rawValue(body)
      if (value === undefined) return invalid("The body is not valid UTF-8")
      return Result.succeed({ fn, values: { _tag: "Whole", value, type: kind } })
    }
  }
}

const withoutArguments: CallValues = { _tag: "Json", json: new Uint8Array(), given: [] }

const planEmpty = (candidates: Candidates): Planned =>
  Result.map(chooseFunction(candidates, [], "application/json"), (fn) =>
    (fn.body === "json" || fn.body === "jsonb") && fn.arguments[0]?.optional === false
      ? { fn, values: { _tag: "Whole", value: "", type: fn.body } }
      : { fn, values: withoutArguments }
  )

/** A CSV is made of arguments: it is no JSON that a single unnamed argument could take whole. */
const planJson = (
  candidates: Candidates,
  { json, media }: Extract<CallBody<JsonOutline>, { readonly _tag: "Json" }>,
  columns: ReadonlyArray<string> | undefined
): Planned => {
  const { bytes, form } = json
  const [first] = json.places
  const isObject = first !== undefined && bytes[first.from] === openBrace
  const names = columns ?? first?.keys ?? []
  const chosen = chooseFunction(candidates, names, media === undefined ? "application/json" : undefined)
  // A body that is not an object has no arguments: the body is the error, not the function's name.
  if (Result.isFailure(chosen)) return isObject ? Result.fail(chosen.failure) : notAnObject()
  const fn = chosen.success
  if (fn.body === "json" || fn.body === "jsonb") {
    return Result.succeed({ fn, values: { _tag: "Whole", value: bytes, type: fn.body } })
  }
  if (form === "array" && !json.uniform) return invalid("All object keys must match")
  const given = givenOf(fn, new Set(names))
  if (!isObject && given.length > 0) return notAnObject()
  if (media === undefined || given.length === 0) {
    return Result.succeed({ fn, values: { _tag: "Json", json: json.first, given } })
  }
  const row = JSON.parse(json.first.toString("utf8")) as Readonly<Record<string, string | null>>
  return Result.succeed({
    fn,
    values: {
      _tag: "Texts",
      given,
      texts: given.map(({ name }) => (Object.hasOwn(row, name) ? (row[name] ?? null) : null))
    }
  })
}

const openBrace = 0x7b
const notAnObject = () => invalid("The body must be an object that maps argument names to values")

/** A VARIADIC argument collects all values of its name; other arguments get the last one. */
const planTexts = (candidates: Candidates, pairs: ReadonlyArray<readonly [string, string]>): Planned => {
  const chosen = chooseFunction(candidates, [...new Set(pairs.map(([name]) => name))], undefined)
  return Result.map(chosen, (fn) => {
    const given = givenOf(fn, new Set(pairs.map(([name]) => name)))
    const texts = given.map((argument) => {
      const values = pairs.filter(([name]) => name === argument.name).map(([, value]) => value)
      return argument.variadic ? arrayLiteral(values) : (values.at(-1) ?? "")
    })
    return { fn, values: { _tag: "Texts", given, texts } }
  })
}

const givenOf = ({ arguments: all }: StoredFunction, names: ReadonlySet<string>) =>
  all.filter(({ name }) => names.has(name))

const rawValue = ({ media, bytes }: Extract<CallBody, { readonly _tag: "Raw" }>) => {
  if (media === "application/octet-stream") return `\\x${Buffer.from(bytes).toString("hex")}`
  return isUtf8(bytes) ? bytes : undefined
}
