/** V8 passes a number's source text to revivers; TypeScript's library lacks this. */
interface SourceJson {
  readonly parse: (
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown
  ) => unknown
  readonly rawJSON: (text: string) => unknown
}

const json = JSON as unknown as SourceJson

/** Only numbers of this form can lose digits in JavaScript. */
const manyDigits = /\d{16}|\d[eE]|\d\.\d{15}/

/** Parses JSON so that all numbers keep their digits when serialized again: as `JSON.rawJSON` if they would not. */
export const parseExact = (text: string): unknown =>
  manyDigits.test(text)
    ? json.parse(text, (_key, value, context) =>
        typeof value === "number" && context.source !== undefined && String(value) !== context.source
          ? json.rawJSON(context.source)
          : value
      )
    : JSON.parse(text)
