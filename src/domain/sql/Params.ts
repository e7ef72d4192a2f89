import { Effect } from "effect"
import { InvalidRequest } from "../errors.ts"
import { Oid } from "./Types.ts"

/** More parameters than this the driver can't describe. */
const mostParams = 32_767
/** PostgreSQL's own limit; deeper arrays are only good as JSON. */
const mostDimensions = 6

/** V8 knows numbers that keep the digits they were written with (`JSON.rawJSON`); TypeScript's library does not yet. */
const rawNumbers = JSON as unknown as { readonly isRawJSON: (value: unknown) => value is { readonly rawJSON: string } }

class Unfit extends Error {}

const numberText = (value: number) => {
  if (!Number.isFinite(value)) throw new Unfit("is not a finite number")
  return Object.is(value, -0) ? "-0" : String(value)
}

const string = (value: string) => {
  if (!value.isWellFormed()) throw new Unfit("holds half a surrogate pair, which PostgreSQL can't store")
  return value
}

const json = (value: unknown): string => {
  try {
    return JSON.stringify(value)
  } catch {
    throw new Unfit("is nested too deeply")
  }
}

/** What stands for a value that is no array, as PostgreSQL reads it: JSON text for objects. */
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
  if (dimensions === 0) throw new Unfit(`has more than ${mostDimensions} dimensions`)
  const elements = values.map((value) => {
    if (Array.isArray(value)) return literal(value, delimiter, dimensions - 1)
    const text = scalar(value)
    return text === null ? "NULL" : quote(text)
  })
  return `{${elements.join(delimiter)}}`
}

/** The elements of a `json[]` are JSON values each; strings are JSON text already, as they are outside of arrays. */
const jsonElements = (values: ReadonlyArray<unknown>) =>
  values.map((value) => (Array.isArray(value) ? json(value) : value))

const array = (values: ReadonlyArray<unknown>, oid: number | undefined): string => {
  if (oid === Oid.json || oid === Oid.jsonb) return json(values)
  if (oid === Oid.jsonArray || oid === Oid.jsonbArray) return literal(jsonElements(values), ",", mostDimensions)
  return literal(values, oid === Oid.boxArray ? ";" : ",", mostDimensions)
}

/** Whether the text of these parameters depends on the types the statement wants them to have. */
export const needTypes = (params: ReadonlyArray<unknown>): boolean => params.some((param) => Array.isArray(param))

/**
 * Parameters as PostgreSQL text. Numbers keep their digits, objects are JSON, arrays are PostgreSQL arrays unless the
 * statement wants JSON there. `types`: oids of the statement's parameters, as far as they are known.
 */
export const paramTexts = (
  params: ReadonlyArray<unknown>,
  types: ReadonlyArray<number>
): Effect.Effect<ReadonlyArray<string | null>, InvalidRequest> =>
  Effect.suspend(() => {
    if (params.length > mostParams) return refuse(`At most ${mostParams} parameters, but there are ${params.length}`)
    let at = 0
    try {
      const texts: Array<string | null> = []
      for (const param of params) {
        at++
        texts.push(Array.isArray(param) ? array(param, types[at - 1]) : scalar(param))
      }
      return Effect.succeed(texts)
    } catch (error) {
      if (error instanceof Unfit) return refuse(`Parameter $${at} ${error.message}`)
      throw error
    }
  })

const refuse = (error: string) => Effect.fail(new InvalidRequest({ error, code: "SQL_INVALID_PARAMETER" }))
