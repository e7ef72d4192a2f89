/** Widest line that something is written on at once. */
const widest = 80

/** Text that stands in double quotes. */
export const quoted = (text: string) => JSON.stringify(text)

/** A property's name in a type: any word may stand as it is, anything else is quoted. */
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

/** An object type, a property a line; `none`: what stands for one without properties. */
export const objectType = (properties: ReadonlyArray<Property>, none = "{\n  [_ in never]: never\n}") =>
  properties.length === 0 ? none : `{\n  ${properties.map((one) => indented(lineOf(one))).join("\n  ")}\n}`

/** An object type on one line when it is short. */
export const compactObjectType = (properties: ReadonlyArray<Property>, none?: string) => {
  const line = `{ ${properties.map(lineOf).join("; ")} }`
  return properties.length === 0 || line.includes("\n") || line.length > widest - 20
    ? objectType(properties, none)
    : line
}

/** Alternatives, each on a line of its own when they don't fit on one. */
export const unionType = (types: ReadonlyArray<string>) => {
  const line = types.join(" | ")
  return types.length === 1 || (line.length <= widest - 10 && !line.includes("\n"))
    ? line
    : types.map((type) => `\n  | ${indented(indented(type))}`).join("")
}

/** A tuple type of texts. */
export const textTuple = (texts: ReadonlyArray<string>) => `[${texts.map(quoted).join(", ")}]`
