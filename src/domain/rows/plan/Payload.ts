import { Result } from "effect"
import { type Relation } from "../../catalogue/Catalogue.ts"
import { InvalidRequest } from "../../errors.ts"
import { type JsonOutline, maxPlaces } from "../../text/JsonOutline.ts"
import { unknownColumn } from "../Refusals.ts"

/** Rows to write, by the shapes that need different SQL. */
export type Payload = {
  /** Each value is a text in the input syntax of its column's type, as in CSV and forms. */
  readonly texts: boolean
} &
  /** All rows have the same keys. `json` is an object, or if `array` an array of objects. */
  (
    | {
        readonly _tag: "Uniform"
        readonly keys: ReadonlyArray<string>
        readonly json: Uint8Array
        readonly array: boolean
        readonly rows: number
      }
    /** Rows have different keys; a column that a row omits gets its default. `json`: an object for each row. */
    | {
        readonly _tag: "Mixed"
        readonly keys: ReadonlyArray<string>
        readonly rows: ReadonlyArray<{ readonly json: Uint8Array; readonly has: ReadonlySet<string> }>
      }
  )

const wrong = (error: string, hint?: string) =>
  Result.fail(new InvalidRequest({ error, code: "PGRST102", hint: hint ?? null }))

/** The most rows with different keys in one INSERT: each is a parameter, which the protocol counts in 16 bits. */
const maxMixedRows = maxPlaces
/** The most values of such rows. Each is an expression of the statement, whose text is written at once. */
const maxMixedValues = 60_000

const tooMany = (error: string) =>
  Result.fail(
    new InvalidRequest({
      error,
      code: "TOO_MANY_ROWS",
      hint: "Give all rows the same keys, or send them in several requests"
    })
  )

/**
 * Plans the body of a POST or PATCH, whose bytes are passed to PostgreSQL unchanged, so that numbers keep every digit.
 * `only`: the keys to use, which the outline considers too; `missing`: the value of keys that a row omits.
 */
export const planPayload = (
  body: JsonOutline,
  relation: Relation,
  only: ReadonlyArray<string> | undefined,
  missing: "default" | "null" = "default"
): Result.Result<Payload, InvalidRequest> => {
  const { bytes, places, rows, texts } = body
  if (!body.objects) {
    return wrong(
      "The body must be an object or an array of objects",
      "Each object is a row that maps column names to values"
    )
  }
  const keys = only === undefined ? body.keys : [...new Set(only)]
  const unknown = keys.find((key) => !relation.byName.has(key))
  if (unknown !== undefined) {
    return Result.fail(unknownColumn(relation.name, unknown))
  }
  const uniform = missing === "null" || (body.uniform && body.keys.length === keys.length)
  if ((uniform && keys.length > 0) || rows === 0) {
    return Result.succeed({
      _tag: "Uniform",
      texts,
      keys: rows === 0 ? [] : keys,
      json: bytes,
      array: body.form === "array",
      rows
    })
  }
  if (rows > maxMixedRows) return tooMany(`At most ${maxMixedRows} rows with different keys can be inserted at once`)
  // The expression of a table with domains names all columns of the row.
  const weight = relation.columns.some(({ domain }) => domain) ? 1 + keys.length / 4 : 1
  const maxValues = Math.floor(maxMixedValues / weight)
  if (rows * keys.length > maxValues) {
    return tooMany(`At most ${maxValues} values of rows with different keys can be inserted at once`)
  }
  const sets = new Map<ReadonlyArray<string>, ReadonlySet<string>>()
  const setOf = (keys: ReadonlyArray<string>) => {
    const known = sets.get(keys) ?? new Set(keys)
    sets.set(keys, known)
    return known
  }
  return Result.succeed({
    _tag: "Mixed",
    texts,
    keys,
    rows: places.map(({ from, keys, to }) => ({ json: bytes.subarray(from, to), has: setOf(keys) }))
  })
}
