import { Result } from "effect"
import { type Relation } from "../../catalogue/Catalogue.ts"
import { InvalidRequest } from "../../errors.ts"
import { isJsonObject } from "../../text/JsonObject.ts"
import { elementTexts } from "../../text/JsonText.ts"

/** Rows to write, by the shapes that need different SQL. */
export type Payload =
  /** All rows have the same keys. `json` is an array of objects. */
  | { readonly _tag: "Uniform"; readonly keys: ReadonlyArray<string>; readonly json: string; readonly rows: number }
  /** Rows have different keys; a column that a row omits gets its default. Each row is JSON text. */
  | {
      readonly _tag: "Mixed"
      readonly keys: ReadonlyArray<string>
      readonly rows: ReadonlyArray<{ readonly json: string; readonly has: ReadonlySet<string> }>
    }

const wrong = (error: string, hint?: string) =>
  Result.fail(new InvalidRequest({ error, code: "PGRST102", hint: hint ?? null }))

/**
 * Plans the body of a POST or PATCH. `text` is passed to PostgreSQL unchanged, so that numbers keep every digit; `value`
 * is the parsed text, for its keys. `only`: the keys to use; `missing`: the value of keys that a row omits.
 */
export const planPayload = (
  text: string,
  value: unknown,
  relation: Relation,
  only: ReadonlyArray<string> | undefined,
  missing: "default" | "null" = "default"
): Result.Result<Payload, InvalidRequest> => {
  const rows: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
  const first = rows[0]
  if (!rows.every(isJsonObject)) {
    return wrong(
      "The body must be an object or an array of objects",
      "Each object is a row that maps column names to values"
    )
  }
  const wanted = only && new Set(only)
  const keysOf = (row: object) => Object.keys(row).filter((key) => wanted === undefined || wanted.has(key))
  const union = new Set<string>(only)
  for (const row of rows) for (const key of keysOf(row)) union.add(key)
  for (const key of union) {
    if (relation.byName.has(key)) continue
    return Result.fail(
      new InvalidRequest({
        error: `Could not find the '${key}' column of '${relation.name}' in the schema cache`,
        code: "PGRST204"
      })
    )
  }
  const keys = [...union]
  const uniform = missing === "null" || rows.every((row) => keysOf(row).length === keys.length)
  if (uniform && (keys.length > 0 || rows.length === 0)) {
    return Result.succeed({
      _tag: "Uniform",
      keys: first === undefined ? [] : keys,
      json: Array.isArray(value) ? text : `[${text}]`,
      rows: rows.length
    })
  }
  const texts = elementTexts(Array.isArray(value) ? text : `[${text}]`)
  return Result.succeed({
    _tag: "Mixed",
    keys,
    rows: rows.map((row, index) => ({ json: texts[index] ?? "{}", has: new Set(keysOf(row)) }))
  })
}
