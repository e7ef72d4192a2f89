import { Effect } from "effect"
import { InvalidRequest } from "../errors.ts"
import { Oid } from "./Types.ts"

/** The driver's limit. */
const maxParams = 32_767
/** PostgreSQL's limit; deeper arrays are only valid as JSON. */
const maxDimensions = 6

/** V8's `JSON.rawJSON` keeps a number's digits; TypeScript's library lacks it. */
const rawNumbers = JSON as unknown as { readonly isRawJSON: (value: unknown) => value is { readonly rawJSON: string } }

class InvalidParameter extends Error {}

const numberText = (value: number) => {
  if (!Number.isFinite(value)) throw new InvalidParameter("is not a finite number")
  return Object.is(value, -0) ? "-0" : String(value)
}

const string = (value: string) => {
  if (!value.isWellFormed()) throw new InvalidParameter("contains an unpaired surrogate, which PostgreSQL cannot store")
  return value
}

const json = (value: unknown): string => {
  try {
    return JSON.stringify(value)
  } catch {
    throw new InvalidParameter("is nested too deeply")
  }
}

/** A value other than an array, as PostgreSQL text; objects as JSON. */
const scalar = (value: unknown): string | null => {
  switch (typeof value) {
    case "string":
      return string(value)
    case "number":
      return numberText(value)
    case "boolean":
    case "bigint":
      return String(value)
    case "object":
      if (value === null) return null
      return rawNumbers.isRawJSON(value) ? value.rawJSON : json(value)
    default:
      return null
  }
}

const quote = (text: string) => `"${text.replaceAll(/["\\]/g, "\\$&")}"`

/** `{1,NULL,"a \"b\"",{…}}`. */
const literal = (values: ReadonlyArray<unknown>, delimiter: string, dimensions: number): string => {
  if (dimensions === 0) throw new InvalidParameter(`has more than ${maxDimensions} dimensions`)
  const elements = values.map((value) => {
    if (Array.isArray(value)) return literal(value, delimiter, dimensions - 1)
    const text = scalar(value)
    return text === null ? "NULL" : quote(text)
  })
  return `{${elements.join(delimiter)}}`
}

/** Elements of a `json[]`: nested arrays become JSON text; strings are JSON text already, as outside of arrays. */
const jsonElements = (values: ReadonlyArray<unknown>) =>
  values.map((value) => (Array.isArray(value) ? json(value) : value))

const array = (values: ReadonlyArray<unknown>, oid: number | undefined): string => {
  if (oid === Oid.json || oid === Oid.jsonb) return json(values)
  if (oid === Oid.jsonArray || oid === Oid.jsonbArray) return literal(jsonElements(values), ",", maxDimensions)
  return literal(values, oid === Oid.boxArray ? ";" : ",", maxDimensions)
}

/** Whether the text of these parameters depends on the types that the statement infers for them. */
export const needTypes = (params: ReadonlyArray<unknown>): boolean => params.some((param) => Array.isArray(param))

/**
 * Parameters as PostgreSQL text. Numbers keep their digits, objects are JSON, arrays are PostgreSQL arrays unless the
 * parameter is of a JSON type. `types`: oids of the statement's parameters, as far as they are known.
 */
export const paramTexts = (
  params: ReadonlyArray<unknown>,
  types: ReadonlyArray<number>
): Effect.Effect<ReadonlyArray<string | null>, InvalidRequest> =>
  Effect.suspend(() => {
    if (params.length > maxParams)
      return refuse(`params must have at most ${maxParams} elements, but has ${params.length}`)
    let at = 0
    try {
      const texts: Array<string | null> = []
      for (const param of params) {
        at++
        texts.push(Array.isArray(param) ? array(param, types[at - 1]) : scalar(param))
      }
      return Effect.succeed(texts)
    } catch (error) {
      if (error instanceof InvalidParameter) return refuse(`Parameter $${at} ${error.message}`)
      throw error
    }
  })

const refuse = (error: string) => Effect.fail(new InvalidRequest({ error, code: "SQL_INVALID_PARAMETER" }))
