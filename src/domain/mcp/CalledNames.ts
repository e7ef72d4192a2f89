import { matchAt, skipBlock, skipDollar, skipEscaped, skipLine, skipQuoted } from "../sql/Statements.ts"

/** What a statement may call, by name as PostgreSQL stores it. */
export interface CalledNames {
  /** Names before a parenthesis, keywords such as `in` included. */
  readonly functions: ReadonlySet<string>
  /** Names after a dot: `t.f` calls `f(t)` if `t` has no column `f`. */
  readonly attributes: ReadonlySet<string>
  /** All names, these included. */
  readonly all: ReadonlySet<string>
}

/** As in PostgreSQL's scanner: letters, digits, `_`, `$`, and all characters outside of ASCII. */
const word = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y
const digits = /\$?[0-9][0-9A-Za-z_]*/y
const dollarTag = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y
const capitals = /[A-Z]/g

/** The position after a quoted identifier, in which a quote is doubled. */
const skipIdentifier = (text: string, at: number): number => {
  let end = skipQuoted(text, at, '"')
  while (text[end] === '"') end = skipQuoted(text, end + 1, '"')
  return end
}

/**
 * All names that a statement may call; more than those it does call, never fewer. Undefined for what reads in two
 * ways: an identifier with Unicode escapes (`U&"…"`), and `'…\'`, which ends there unless `standard_conforming_strings`
 * is off. Linear in the length of the text.
 */
export const calledNames = (text: string): CalledNames | undefined => {
  const functions = new Set<string>()
  const attributes = new Set<string>()
  const all = new Set<string>()
  let name: string | undefined
  let afterDot = false
  const found = (given: string | undefined) => {
    if (given !== undefined) all.add(given)
    if (given !== undefined && afterDot) attributes.add(given)
    name = given
    afterDot = false
  }
  for (let at = 0; at < text.length;) {
    const [char, next] = [text.charAt(at), text[at + 1]]
    if (char === " " || (char >= "\t" && char <= "\r")) at++
    else if (char === "-" && next === "-") at = skipLine(text, at)
    else if (char === "/" && next === "*") {
      const end = skipBlock(text, at)
      at = end < 0 ? text.length : end
    } else if (char === "(" || char === ".") {
      if (char === "(" && name !== undefined) functions.add(name)
      name = undefined
      afterDot = char === "."
      at++
    } else if (char === '"') {
      const end = skipIdentifier(text, at + 1)
      found(text.slice(at + 1, end - 1).replaceAll('""', '"'))
      at = end
    } else {
      const bare = matchAt(word, text, at)
      const after = at + bare.length
      if (/^u$/i.test(bare) && text.startsWith('&"', after)) return undefined
      if (bare !== "") {
        const escapes = /^e$/i.test(bare) && text[after] === "'"
        found(escapes ? undefined : bare.replaceAll(capitals, (capital) => capital.toLowerCase()))
        at = escapes ? skipEscaped(text, after + 1) : after
        continue
      }
      found(undefined)
      const tag = matchAt(dollarTag, text, at)
      if (tag !== "") at = skipDollar(text, at, tag)
      else if (char === "'") {
        at = skipQuoted(text, at + 1, "'")
        if (text[at - 2] === "\\") return undefined
      } else at += Math.max(1, matchAt(digits, text, at).length)
    }
  }
  return { functions, attributes, all }
}
