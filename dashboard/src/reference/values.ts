import type { Column } from "../catalogue/queries.ts"

/** A row as it was read: numbers that JavaScript would change are text, which the service accepts as well. */
export type Row = Readonly<Record<string, unknown>>

/** What a column of this type may hold, if nothing better is known. */
const examples: ReadonlyArray<readonly [type: RegExp, value: unknown]> = [
  [/\[\]$/, []],
  [/^(?:smallint|integer|bigint|numeric|real|double precision)/, 1],
  [/^boolean/, true],
  [/^uuid/, "6f1c0000-0000-4000-8000-000000000001"],
  [/^timestamp/, "2026-01-31T12:00:00Z"],
  [/^date/, "2026-01-31"],
  [/^time/, "12:00"],
  [/^interval/, "1 day"],
  [/^jsonb?/, { key: "value" }],
  [/^bytea/, String.raw`\x00`],
  [/^(?:inet|cidr)/, "192.0.2.1"]
]

/** A value for a column: a label of an enum, an example of its type, or a text that fits. */
export const exampleOf = (type: string, enums: Readonly<Record<string, ReadonlyArray<string>>>): unknown => {
  const label = enums[type]?.[0]
  if (label !== undefined) return label
  const found = examples.find(([pattern]) => pattern.test(type))
  if (found !== undefined) return found[1]
  const room = /^character(?: varying)?\((\d+)\)/.exec(type)?.[1]
  return "example".slice(0, room === undefined ? undefined : Number(room))
}

/** A value as the text of a filter or of a parameter. */
export const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value))

/** Whether clients may set the column. */
export const isWritable = ({ generated, identity }: Column) => generated === null && identity !== "always"

/** Whether an insert must contain the column. */
export const isRequired = ({ default: standard, generated, identity, nullable }: Column) =>
  !nullable && standard === null && identity === null && generated === null

export const propertyOf = (name: string) => (/^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name))

/** A value as it is written in JavaScript. */
export const jsOf = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(jsOf).join(", ")}]`
  const fields = Object.entries(value).map(([name, one]) => `${propertyOf(name)}: ${jsOf(one)}`)
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`
}

const pythonNames: Readonly<Record<string, string>> = { true: "True", false: "False", null: "None" }

/** A value as it is written in Python, whose texts have the escapes of JSON. */
export const pythonOf = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(", ")}]`
  if (typeof value !== "object" || value === null) {
    const text = JSON.stringify(value)
    return pythonNames[text] ?? text
  }
  return `{${Object.entries(value)
    .map(([name, one]) => `${JSON.stringify(name)}: ${pythonOf(one)}`)
    .join(", ")}}`
}
