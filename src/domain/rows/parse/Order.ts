import { fieldRest, mark, type RowCursor } from "./Cursor.ts"
import { mismatch } from "./ParserError.ts"
import { type OrderTerm } from "./Query.ts"

/** The value of `order=`: at least one term. */
export const readOrder = (cursor: RowCursor): ReadonlyArray<OrderTerm> | undefined => {
  const terms: Array<OrderTerm> = []
  for (;;) {
    const term = readTerm(cursor)
    if (term === undefined) return undefined
    terms.push(term)
    if (cursor.ended) return terms
    cursor.at++ // the comma
  }
}

const readTerm = (cursor: RowCursor): OrderTerm | undefined => {
  const name = cursor.name()
  if (name === undefined) return undefined
  cursor.spaces()
  const nested = cursor.is(mark.open)
  if (nested) cursor.at++
  const field = nested ? cursor.field() : undefined
  if (nested && field === undefined) return undefined
  cursor.spaces()
  if (nested && !cursor.is(mark.close)) return cursor.fail(`${fieldRest} or ")"`)
  if (nested) cursor.at++
  const json = nested ? undefined : cursor.json()
  if (!nested && json === undefined) return undefined
  cursor.spaces()
  const direction = cursor.skip(".asc") ? "asc" : cursor.skip(".desc") ? "desc" : undefined
  const nulls = cursor.skip(".nullsfirst") ? "nullsfirst" : cursor.skip(".nullslast") ? "nullslast" : undefined
  cursor.spaces()
  if (!cursor.ended && !cursor.is(mark.comma)) return failTerm(cursor, direction !== undefined, nulls !== undefined)
  return { relation: nested ? name : undefined, field: field ?? { name, json: json ?? [] }, direction, nulls }
}

const failTerm = (cursor: RowCursor, directed: boolean, complete: boolean): undefined => {
  const ends = '"," or end of input'
  if (complete) return cursor.fail(ends)
  if (!cursor.is(mark.dot)) return cursor.fail(`${directed ? "" : `${fieldRest}, `}delimiter (.), ${ends}`)
  const nulls = '"nullsfirst" or "nullslast"'
  const at = cursor.at + 1
  return directed
    ? cursor.fail(nulls, at, mismatch(cursor.text, at, "nullsfirst"))
    : cursor.fail(`"asc", "desc", ${nulls}`, at, mismatch(cursor.text, at, "asc"))
}

/** The value of `columns=` or `on_conflict=`: at least one name; duplicates are dropped. */
export const readNames = (cursor: RowCursor): ReadonlyArray<string> | undefined => {
  const names = new Set<string>()
  for (;;) {
    const name = cursor.name()
    if (name === undefined) return undefined
    names.add(name)
    cursor.spaces()
    if (cursor.ended) return [...names]
    if (!cursor.is(mark.comma)) return cursor.fail('letter, digit, "-", "," or end of input')
    cursor.at++
  }
}
