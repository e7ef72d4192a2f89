/** V8 keeps a number's own digits for a reviver; TypeScript's library does not know yet. */
interface SourceJson {
  readonly parse: (
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown
  ) => unknown
  readonly rawJSON: (text: string) => unknown
}

const json = JSON as unknown as SourceJson

/** Only numbers this long can lose digits in JavaScript. */
const manyDigits = /\d{16}|\d[eE]|\d\.\d{15}/

/** Parses so that every number, written out again, has the digits it came with (as `JSON.rawJSON`). */
export const parseExact = (text: string): unknown =>
  manyDigits.test(text)
    ? json.parse(text, (_key, value, context) =>
        typeof value === "number" && context.source !== undefined ? json.rawJSON(context.source) : value
      )
    : JSON.parse(text)

/** The elements of a JSON array that is known to be valid, each as the text it was written with. */
export const elementTexts = (arrayText: string): ReadonlyArray<string> => {
  const elements: Array<string> = []
  const end = arrayText.lastIndexOf("]")
  let from = arrayText.indexOf("[") + 1
  let depth = 0
  for (let i = from; i < end; i++) {
    const char = arrayText[i]
    if (char === '"') {
      while (arrayText[++i] !== '"') if (arrayText[i] === "\\") i++
    } else if (char === "{" || char === "[") depth++
    else if (char === "}" || char === "]") depth--
    else if (char === "," && depth === 0) {
      elements.push(arrayText.slice(from, i).trim())
      from = i + 1
    }
  }
  const last = arrayText.slice(from, end).trim()
  return last === "" ? elements : [...elements, last]
}
