import { Effect } from "effect"
import { type ClientError, InvalidRequest } from "../../domain/errors.ts"
import { RowCursor } from "../../domain/rows/parse/Cursor.ts"
import { readNames } from "../../domain/rows/parse/Order.ts"
import { parseError } from "../../domain/rows/parse/ParserError.ts"
import { shorten } from "../../domain/text/Shorten.ts"
import { type Import, type ImportConflict } from "../../services/rows/Imports.ts"
import { importedTable } from "../wire/Paths.ts"
import { type DecodedRequest } from "./Request.ts"

const unknownParameter = (name: string) =>
  new InvalidRequest({
    error: `An import has no parameter ${shorten(name)}`,
    hint: "Its parameters are null, on_conflict and resolution"
  })

const importParameters = new Set(["null", "on_conflict", "resolution"])
const resolutions: ReadonlyMap<string, ImportConflict["resolution"]> = new Map([
  ["merge-duplicates", "merge"],
  ["ignore-duplicates", "ignore"]
])

/** How an import handles rows whose key exists. */
const conflictOf = (query: ReadonlyArray<readonly [string, string]>) => {
  const [columns, named] = ["on_conflict", "resolution"].map((name) => query.find(([key]) => key === name)?.[1])
  if (columns === undefined) {
    return named === undefined
      ? Effect.undefined
      : Effect.fail(
          new InvalidRequest({ error: "An import with resolution needs on_conflict, the columns of the key" })
        )
  }
  const resolution = resolutions.get(named ?? "merge-duplicates")
  if (resolution === undefined) {
    const error = `resolution is merge-duplicates or ignore-duplicates, not ${shorten(named ?? "")}`
    return Effect.fail(new InvalidRequest({ error }))
  }
  const cursor = new RowCursor(columns)
  const names = readNames(cursor)
  return names === undefined
    ? Effect.fail(parseError("on_conflict parameter", cursor))
    : Effect.succeed<ImportConflict>({ columns: names, resolution })
}

/** Decodes path and query of an import. */
export const importRequest = Effect.fnUntraced(function* (
  url: string,
  { actor, database, query, schema, searchPath }: DecodedRequest
): Effect.fn.Return<Import, ClientError> {
  const table = importedTable(url)
  const other = query.find(([name]) => !importParameters.has(name))
  if (table === undefined || other !== undefined) return yield* unknownParameter(other?.[0] ?? "")
  const nullText = query.find(([name]) => name === "null")?.[1]
  return { database, actor, schema, searchPath, table, nullText, conflict: yield* conflictOf(query) }
})
