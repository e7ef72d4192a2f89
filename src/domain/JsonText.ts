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

/** The elements of a JSON array, each as JSON text, with every digit of their numbers as it was written. */
export const elementTexts = (arrayText: string): ReadonlyArray<string> =>
  (parseExact(arrayText) as ReadonlyArray<unknown>).map((element) => JSON.stringify(element))
