/** JSON as it is edited: indented, with short lists and objects on one line, as people write rules. */
export const prettyJson = (value: unknown, indent = ""): string => {
  const flat = JSON.stringify(value)
  if (typeof value !== "object" || value === null || flat.length + indent.length <= 72) return spaced(flat, value)
  const inner = `${indent}  `
  const [open, close] = Array.isArray(value) ? "[]" : "{}"
  const lines = Array.isArray(value)
    ? value.map((one) => inner + prettyJson(one, inner))
    : Object.entries(value).map(([name, one]) => `${inner}${JSON.stringify(name)}: ${prettyJson(one, inner)}`)
  return `${open}\n${lines.join(",\n")}\n${indent}${close}`
}

/** One line with a space after colons and commas. */
const spaced = (flat: string, value: unknown): string => {
  if (typeof value !== "object" || value === null) return flat
  if (Array.isArray(value)) return `[${value.map((one) => spaced(JSON.stringify(one), one)).join(", ")}]`
  const fields = Object.entries(value).map(
    ([name, one]) => `${JSON.stringify(name)}: ${spaced(JSON.stringify(one), one)}`
  )
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`
}

type Json = Readonly<Record<string, unknown>>
export type ParsedObject = { readonly value: Json } | { readonly problem: string }

/** A text that must be a JSON object. */
export const parseObject = (text: string): ParsedObject => {
  try {
    const value = JSON.parse(text) as unknown
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { value: value as Json }
    return { problem: "This must be a JSON object: { … }" }
  } catch (error) {
    return { problem: `This is not valid JSON: ${(error as Error).message}` }
  }
}
