/** Maximum width of a line. */
const maxWidth = 80

/** A string literal in double quotes. */
export const quoted = (text: string) => JSON.stringify(text)

/** A property's name in a type, quoted unless it is a word. */
export const propertyName = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name))

export const indented = (text: string) => text.replaceAll("\n", "\n  ")

/** A property of an object type. */
export interface Property {
  readonly name: string
  readonly optional?: boolean
  readonly type: string
}

const lineOf = ({ name, optional = false, type }: Property) =>
  `${propertyName(name)}${optional ? "?" : ""}:${type.startsWith("\n") ? "" : " "}${type}`

/** An object type with one property per line, or `none` if there are no properties. */
export const objectType = (properties: ReadonlyArray<Property>, none = "{\n  [_ in never]: never\n}") =>
  properties.length === 0 ? none : `{\n  ${properties.map((one) => indented(lineOf(one))).join("\n  ")}\n}`

/** An object type, on one line if it fits. */
export const compactObjectType = (properties: ReadonlyArray<Property>, none?: string) => {
  const line = `{ ${properties.map(lineOf).join("; ")} }`
  return properties.length === 0 || line.includes("\n") || line.length > maxWidth - 20
    ? objectType(properties, none)
    : line
}

/** A union, on one line if it fits, else one member per line. */
export const unionType = (types: ReadonlyArray<string>) => {
  const line = types.join(" | ")
  return types.length === 1 || (line.length <= maxWidth - 10 && !line.includes("\n"))
    ? line
    : types.map((type) => `\n  | ${indented(indented(type))}`).join("")
}

/** A tuple type of string literals. */
export const textTuple = (texts: ReadonlyArray<string>) => `[${texts.map(quoted).join(", ")}]`
