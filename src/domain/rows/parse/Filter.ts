import { fieldRest, type LiteralPlace, mark, maxDepth, RowCursor } from "./Cursor.ts"
import { mismatch } from "./ParserError.ts"
import { arrayLiteral } from "../../sql/Names.ts"
import { comparedValue, type IsWord, isWords, operatorOf } from "./Operators.ts"
import { type Condition, type Field } from "./Query.ts"

const operatorName = "operator (eq, gt, ...)"

/**
 * `[not.]operator[(modifier)].value`. Inside a logic tree (`nested`) the value ends at a `,` or `)` that is neither in
 * quotes nor in `{…}`. Otherwise it is the rest of the text, including quotes.
 */
export const readTest = (cursor: RowCursor, field: Field, nested: boolean): Condition | undefined => {
  const text = cursor.text
  const negated = cursor.skip("not.")
  const start = cursor.at
  let end = start
  for (;;) {
    const code = text.charCodeAt(end)
    if (!(code >= 97 && code <= 122)) break
    end++
  }
  const operator = operatorOf(text.slice(start, end))
  if (operator === undefined) return failOperator(cursor, negated, end)
  cursor.at = end
  switch (operator._tag) {
    case "Compare": {
      const quantifier = operator.quantified ? readQuantifier(cursor) : undefined
      if (!cursor.is(mark.dot)) return cursor.fail(operatorName)
      cursor.at++
      const start = cursor.at
      const value = readValue(cursor, nested)
      cursor.literals?.push({ from: start, to: cursor.at, param: comparedValue(operator.name, value), list: false })
      return { _tag: "Compare", negated, field, operator: operator.name, quantifier, value }
    }
    case "FullText": {
      const inside = cursor.is(mark.open)
      if (inside) cursor.at++
      const language = inside ? cursor.word() : undefined
      if (inside && (language === undefined || !cursor.is(mark.close))) return cursor.fail('")"')
      if (inside) cursor.at++
      if (!cursor.is(mark.dot)) return cursor.fail(operatorName)
      cursor.at++
      const start = cursor.at
      const value = readValue(cursor, nested)
      cursor.literals?.push({ from: start, to: cursor.at, param: value, list: false })
      return { _tag: "FullText", negated, field, operator: operator.name, language, value }
    }
    case "In": {
      if (!cursor.is(mark.dot)) return cursor.fail(operatorName)
      cursor.at++
      const start = cursor.at
      const values = readList(cursor)
      if (values !== undefined) {
        cursor.literals?.push({ from: start, to: cursor.at, param: arrayLiteral(values), list: true })
      }
      if (values === undefined || !endsHere(cursor, nested)) return undefined
      return { _tag: "In", negated, field, values }
    }
    case "Is": {
      if (!cursor.is(mark.dot)) return cursor.fail(operatorName)
      cursor.at++
      const value = readIsWord(cursor)
      if (value === undefined || !endsHere(cursor, nested)) return undefined
      return { _tag: "Is", negated, field, value }
    }
  }
}

const failOperator = (cursor: RowCursor, negated: boolean, end: number): undefined => {
  const { at, text } = cursor
  for (let length = end - at - 1; length > 1; length--) {
    if (length <= 10 && operatorOf(text.slice(at, at + length)) !== undefined)
      return cursor.fail(operatorName, at + length)
  }
  return negated
    ? cursor.fail(operatorName, at, mismatch(text, at, "in"))
    : cursor.fail(`"not" or ${operatorName}`, at, mismatch(text, at, "not"))
}

const readQuantifier = (cursor: RowCursor): "any" | "all" | undefined =>
  !cursor.is(mark.open) ? undefined : cursor.skip("(any)") ? "any" : cursor.skip("(all)") ? "all" : undefined

const readValue = (cursor: RowCursor, nested: boolean): string => {
  const start = cursor.at
  if (!nested) {
    cursor.at = cursor.text.length
    return cursor.text.slice(start)
  }
  if (cursor.is(mark.openBrace)) {
    const end = bracesEnd(cursor.text, start)
    if (end !== undefined) {
      cursor.at = end
      return cursor.text.slice(start, end)
    }
  }
  return readItem(cursor)
}

/** The end of a `{…}` that contains no other braces. */
const bracesEnd = (text: string, start: number): number | undefined => {
  for (let i = start + 1; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === mark.openBrace) return undefined
    if (code === mark.closeBrace) return i + 1
  }
  return undefined
}

const endsItem = (code: number) => code === mark.comma || code === mark.close || Number.isNaN(code)

/** Up to the next `,` or `)`; quotes apply only if they enclose the whole item. */
const readItem = (cursor: RowCursor): string => {
  const start = cursor.at
  if (cursor.is(mark.quote)) {
    const value = cursor.quotation()
    if (value !== undefined && endsItem(cursor.code())) return value
    cursor.at = start
  }
  while (!endsItem(cursor.code())) cursor.at++
  return cursor.text.slice(start, cursor.at)
}

/** `(a,b,"c,d")`; `()` is the empty list. */
const readList = (cursor: RowCursor): ReadonlyArray<string> | undefined => {
  cursor.spaces()
  if (!cursor.is(mark.open)) return cursor.fail('"("')
  cursor.at++
  cursor.spaces()
  const values: Array<string> = []
  if (cursor.is(mark.close)) {
    cursor.at++
    return values
  }
  for (;;) {
    values.push(readItem(cursor))
    if (cursor.ended) return cursor.fail('"," or ")"')
    const last = cursor.is(mark.close)
    cursor.at++
    if (last) return values
  }
}

const isWordList = Object.keys(isWords) as ReadonlyArray<IsWord>

const readIsWord = (cursor: RowCursor): IsWord | undefined => {
  const start = cursor.at
  const given = cursor.text.slice(start, start + 8).toLowerCase()
  for (const word of isWordList) {
    if (!given.startsWith(word)) continue
    cursor.at += word.length
    return word
  }
  let matched = 0
  for (const word of isWordList) {
    let i = 0
    while (i < word.length && given[i] === word[i]) i++
    matched = Math.max(matched, i)
  }
  return cursor.fail(`isVal: (${isWordList.join(", ")})`, start + matched)
}

/** The values of `(a,b,"c,d")` when the list ends the text. */
export const parseList = (text: string): ReadonlyArray<string> | undefined => {
  const cursor = new RowCursor(text)
  const values = readList(cursor)
  return values !== undefined && endsHere(cursor, false) ? values : undefined
}

const endsHere = (cursor: RowCursor, nested: boolean): boolean => {
  cursor.spaces()
  if (nested ? endsItem(cursor.code()) : cursor.ended) return true
  cursor.fail(nested ? '"," or ")"' : "end of input")
  return false
}

/** The literals in the value of `and=` or `or=`; undefined if it cannot be parsed. */
export const literalsIn = (logic: string): ReadonlyArray<LiteralPlace> | undefined => {
  const literals: Array<LiteralPlace> = []
  return readLogic(new RowCursor(logic, 0, literals), "And", false) === undefined ? undefined : literals
}

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
