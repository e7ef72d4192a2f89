import { matchAt, skipBlock, skipDollar, skipEscaped, skipLine, skipQuoted } from "./Statements.ts"

const word = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y
const number = /[0-9][0-9A-Za-z_.]*/y
const operator = /(?:(?!--|\/\*)[+\-*/<>=~!@#%^&|`?])+/y
const quoted = /"(?:[^"]|"")*"/y
const dollarTag = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y

/** PostgreSQL folds only ASCII letters of names in UTF8. */
const folded = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

/** The words and operators of SQL or PL/pgSQL, each as often as it stands there, outside of comments and strings. */
export interface Lexemes {
  readonly names: ReadonlyArray<string>
  readonly operators: ReadonlyArray<string>
}

/**
 * Reads text as PostgreSQL's scanner does with `standard_conforming_strings` on. Names are folded and without quotes.
 * Undefined for a name in Unicode escapes, one longer than PostgreSQL keeps, and text that ends in a comment or name.
 */
export const lexemesOf = (text: string): Lexemes | undefined => {
  const names: Array<string> = []
  const operators: Array<string> = []
  for (let at = 0; at < text.length;) {
    if (text.startsWith("--", at)) at = skipLine(text, at)
    else if (text.startsWith("/*", at)) {
      at = skipBlock(text, at)
      if (at < 0) return undefined
    } else if (text[at] === "'") at = skipQuoted(text, at + 1, "'")
    else if (text[at] === '"') {
      const name = matchAt(quoted, text, at)
      if (name === "" || Buffer.byteLength(name) > 63) return undefined
      names.push(name.slice(1, -1).replaceAll('""', '"'))
      at += name.length
    } else {
      const name = matchAt(word, text, at)
      const tag = name === "" ? matchAt(dollarTag, text, at) : ""
      const sign = name === "" && tag === "" ? matchAt(operator, text, at) : ""
      if (name !== "") {
        at += name.length
        if (/^e$/i.test(name) && text[at] === "'") at = skipEscaped(text, at + 1)
        else if (/^u$/i.test(name) && /^&["']/.test(text.slice(at, at + 2))) return undefined
        else if (Buffer.byteLength(name) > 63) return undefined
        else names.push(folded(name))
      } else if (tag !== "") at = skipDollar(text, at, tag)
      else if (sign !== "") {
        operators.push(sign)
        at += sign.length
      } else at += matchAt(number, text, at).length || 1
    }
  }
  return { names, operators }
}
