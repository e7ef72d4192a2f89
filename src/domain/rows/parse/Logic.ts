import { maxDepth, fieldRest, mark, type RowCursor } from "./Cursor.ts"
import { readTest } from "./Filter.ts"
import { type Condition } from "./Query.ts"

/** The value of `and=` or `or=`, and nothing after it. */
export const readLogic = (cursor: RowCursor, tag: "And" | "Or", negated: boolean): Condition | undefined => {
  const tree = readBranch(cursor, tag, negated, 1)
  if (tree === undefined) return undefined
  cursor.spaces()
  return cursor.ended ? tree : cursor.fail("end of input")
}

/** Reads from the opening parenthesis. */
const readBranch = (cursor: RowCursor, tag: "And" | "Or", negated: boolean, depth: number): Condition | undefined => {
  cursor.spaces()
  if (!cursor.is(mark.open)) return cursor.fail('"("')
  if (depth > maxDepth) return cursor.refuse(`conditions can be nested at most ${maxDepth} levels deep`)
  cursor.at++
  const conditions: Array<Condition> = []
  for (;;) {
    cursor.spaces()
    const condition = readMember(cursor, depth)
    if (condition === undefined) return undefined
    conditions.push(condition)
    cursor.spaces()
    if (cursor.is(mark.close)) break
    if (!cursor.is(mark.comma)) return cursor.fail('"," or ")"')
    cursor.at++
  }
  cursor.at++
  return { _tag: tag, negated, conditions }
}

const readMember = (cursor: RowCursor, depth: number): Condition | undefined => {
  const start = cursor.at
  const negated = cursor.skip("not.")
  const tag = cursor.skip("and") ? "And" : cursor.skip("or") ? "Or" : undefined
  if (tag !== undefined) {
    cursor.spaces()
    if (cursor.is(mark.open)) return readBranch(cursor, tag, negated, depth + 1)
  }
  cursor.at = start
  const field = cursor.field()
  if (field === undefined) return undefined
  cursor.spaces()
  if (!cursor.is(mark.dot)) return cursor.fail(`${fieldRest} or delimiter (.)`)
  cursor.at++
  return readTest(cursor, field, true)
}
