import { maxDepth, expectedField, fieldRest, mark, type RowCursor } from "./Cursor.ts"
import { type Aggregate, type Embed, type Selected } from "./Query.ts"

const all: Selected = { _tag: "All" }
export const everything: ReadonlyArray<Selected> = [all]

const itemStart = `"...", ${expectedField}, "*" or "count()"`
const itemEnd = `${fieldRest}, "::", ".", ")", "," or end of input`

/** The value of `select=`; if it is empty, all columns. */
export const readSelect = (cursor: RowCursor): ReadonlyArray<Selected> | undefined => {
  if (cursor.ended) return everything
  const items = readItems(cursor, 1)
  if (items === undefined) return undefined
  return cursor.ended ? items : cursor.fail(items.length === 0 ? itemStart : itemEnd)
}

/** Reads up to a `)` or the end. */
const readItems = (cursor: RowCursor, depth: number): ReadonlyArray<Selected> | undefined => {
  const items: Array<Selected> = []
  cursor.spaces()
  if (cursor.ended || cursor.is(mark.close)) return items
  for (;;) {
    const item = readItem(cursor, depth)
    if (item === undefined) return undefined
    items.push(item)
    cursor.spaces()
    if (!cursor.is(mark.comma)) return items
    cursor.at++
  }
}

const readItem = (cursor: RowCursor, depth: number): Selected | undefined => {
  cursor.spaces()
  if (cursor.is(mark.star)) {
    cursor.at++
    return all
  }
  if (cursor.skip("...")) {
    const relation = cursor.name()
    return relation === undefined ? undefined : readEmbed(cursor, depth, relation, undefined, true)
  }
  const first = cursor.name(itemStart)
  if (first === undefined) return undefined
  cursor.spaces()
  if (!cursor.is(mark.colon) || cursor.text.charCodeAt(cursor.at + 1) === mark.colon) {
    return readNamed(cursor, depth, first, undefined)
  }
  cursor.at++
  const name = cursor.name()
  return name === undefined ? undefined : readNamed(cursor, depth, name, first)
}

/** The text after a name determines what it names. */
const readNamed = (cursor: RowCursor, depth: number, name: string, alias: string | undefined): Selected | undefined => {
  const counts = name === "count" && !cursor.quoted
  cursor.spaces()
  if (counts && cursor.skip("()")) {
    const cast = readCast(cursor)
    return cast === undefined ? undefined : { _tag: "Count", alias, cast: cast || undefined }
  }
  if (counts && cursor.is(mark.open)) return cursor.fail('")"', cursor.at + 1)
  if (cursor.is(mark.open) || cursor.is(mark.exclamation)) return readEmbed(cursor, depth, name, alias, false)
  const json = cursor.json()
  if (json === undefined) return undefined
  const cast = readCast(cursor)
  if (cast === undefined) return undefined
  const aggregate = readAggregate(cursor)
  const aggregateCast = aggregate === undefined ? "" : readCast(cursor)
  if (aggregateCast === undefined) return undefined
  cursor.spaces()
  if (!cursor.ended && !cursor.is(mark.comma) && !cursor.is(mark.close)) return cursor.fail(itemEnd)
  return {
    _tag: "Field",
    field: { name, json },
    alias,
    cast: cast || undefined,
    aggregate,
    aggregateCast: aggregateCast || undefined
  }
}

/**
 * Types whose values are names of the catalogue, of any schema: a cast to one would reveal to any caller what exists, `svc` and
 * roles included. PostgreSQL has no others; a test compares them.
 */
export const catalogueTypes: ReadonlySet<string> = new Set(
  (
    "regclass regcollation regconfig regdatabase regdictionary regnamespace regoper regoperator regproc regprocedure regrole " +
    "regtype aclitem"
  ).split(" ")
)

/** "" if there is no cast. */
const readCast = (cursor: RowCursor): string | undefined => {
  if (!cursor.is(mark.colon) || !cursor.skip("::")) return ""
  const type = cursor.word()
  // The type of an array has an underscore before its name.
  if (type === undefined || !catalogueTypes.has(type.toLowerCase().replace(/^_/, ""))) return type
  return cursor.refuse(`a cast to ${type} would read names of the catalogue; use /v1/sql`)
}

const aggregates: ReadonlyArray<Aggregate> = ["sum", "avg", "count", "max", "min"]

const readAggregate = (cursor: RowCursor): Aggregate | undefined =>
  cursor.is(mark.dot) ? aggregates.find((aggregate) => cursor.skip(`.${aggregate}()`)) : undefined

/** Reads what follows the relation's name, `!hint!inner(items)`; hint and join in any order, the first of each applies. */
const readEmbed = (
  cursor: RowCursor,
  depth: number,
  relation: string,
  alias: string | undefined,
  spread: boolean
): Embed | undefined => {
  let hint: string | undefined
  let join: Embed["join"]
  for (let i = 0; i < 2 && cursor.is(mark.exclamation); i++) {
    cursor.at++
    const name = cursor.name()
    if (name === undefined) return undefined
    if (!cursor.quoted && (name === "inner" || name === "left")) join ??= name
    else hint ??= name
  }
  cursor.spaces()
  if (!cursor.is(mark.open)) return cursor.fail('"(" or "!"')
  if (depth >= maxDepth) return cursor.refuse(`embeds can be nested at most ${maxDepth} levels deep`)
  cursor.at++
  const select = readItems(cursor, depth + 1)
  if (select === undefined) return undefined
  if (!cursor.is(mark.close)) return cursor.fail('"," or ")"')
  cursor.at++
  return { _tag: "Embed", relation, alias, hint, join, spread, select }
}
