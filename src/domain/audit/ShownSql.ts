import { matchAt, skipBlock, skipDollar, skipEscaped, skipLine, skipQuoted } from "../sql/Statements.ts"

/*
 * What the audit keeps of SQL. Entries can't be deleted on request, and any text or comment may be a password, a token or
 * personal data, so none is kept: of a statement there remain its words, names, numbers and punctuation.
 */

const space = /[ \t\n\r\f\v]+/y
const word = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y
const number = /[0-9][0-9A-Za-z_.]*/y
const tag = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y
const hidden = "'…'"

/**
 * The text without strings and comments. Where the end of a string depends on a setting, or is missing, the rest is
 * omitted.
 */
const withoutTexts = (text: string): string => {
  const parts: Array<string> = []
  let at = 0
  while (at < text.length) {
    const gap = matchAt(space, text, at)
    const name = matchAt(word, text, at)
    const mark = matchAt(tag, text, at)
    if (gap !== "") {
      parts.push(" ")
      at += gap.length
    } else if (text.startsWith("--", at)) {
      parts.push(" ")
      at = skipLine(text, at)
    } else if (text.startsWith("/*", at)) {
      const end = skipBlock(text, at)
      if (end < 0) return `${parts.join("")} …`
      parts.push(" ")
      at = end
    } else if (/^e$/i.test(name) && text[at + 1] === "'") {
      parts.push(hidden)
      at = skipEscaped(text, at + 2)
    } else if (name !== "") {
      parts.push(name)
      at += name.length
    } else if (text[at] === "'") {
      const end = skipQuoted(text, at + 1, "'")
      parts.push(hidden)
      // The string may continue after the quote if `standard_conforming_strings` is off.
      if (text.slice(at, end).includes("\\")) return `${parts.join("")} …`
      at = end
    } else if (text[at] === '"') {
      const end = skipQuoted(text, at + 1, '"')
      parts.push(text.slice(at, end))
      at = end
    } else if (mark !== "") {
      parts.push(hidden)
      at = skipDollar(text, at, mark)
    } else {
      const digits = matchAt(number, text, at)
      parts.push(digits === "" ? text.charAt(at) : digits)
      at += Math.max(1, digits.length)
    }
  }
  return parts.join("").replaceAll(/ {2,}/g, " ").trim()
}

/** Statements whose values are all numbers or strings. In others, such as SET, a word may be a value. */
const known =
  /^(?:select|with|values|table|insert|update|delete|merge|explain|drop|truncate|grant|revoke|comment|refresh|analyze|vacuum|reindex|lock|(?:create|alter) (?:or replace )?(?:(?:unlogged|temp|temporary|unique|materialized|recursive) )*(?:table|index|view|policy|type|schema|sequence|trigger|extension|domain)|create view)\b/i

/** The first words, which name the command and its object. */
const beginning = (text: string) => {
  const words = /^(?:[\w."]+ ?){0,3}/.exec(text)?.[0].trim() ?? ""
  return words === text ? text : `${words} …`
}

/** Characters of a statement, and of all in one entry. */
const [longest, all] = [4_000, 20_000]

const cut = (text: string, most: number) =>
  text.length <= most ? text : `${text.slice(0, most).toWellFormed()}… (${text.length} characters)`

/**
 * Statements as the audit keeps them. `whole`: they were run, or may have been. Only the beginning of refused ones is
 * kept, because a misspelt word may be a value in the place of a name.
 */
export const shownStatements = (statements: ReadonlyArray<string>, whole: boolean): ReadonlyArray<string> => {
  let left = all
  return statements.map((statement) => {
    const text = withoutTexts(statement)
    const shown = cut(whole && known.test(text) ? text : beginning(text), Math.min(longest, Math.max(left, 0)))
    left -= shown.length
    return shown
  })
}
