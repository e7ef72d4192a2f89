import { type OutlinedRelation, type OutlinedType, OutlinedTypes, type SchemaOutline } from "../Outline.ts"

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

const at = (...path: ReadonlyArray<string>) => `Database${path.map((name) => `[${quoted(name)}]`).join("")}`

const nameKey = ({ name, schema }: { readonly schema: string; readonly name: string }) => `${schema}\0${name}`

/** Parenthesizes a type if `[]` could not follow it. */
const grouped = (type: string) => (/[|&]/.test(type.replaceAll(/"(?:[^"\\]|\\.)*"|\{[^]*\}/g, "")) ? `(${type})` : type)

/** The section of `Database` that contains a relation. */
export const sectionOf = ({ kind }: OutlinedRelation) =>
  kind === "view" || kind === "materialized" ? "Views" : "Tables"

/** TypeScript types of PostgreSQL values in responses and requests of the row path. */
export class TypeScriptTypes {
  readonly types: OutlinedTypes
  private readonly exposed: ReadonlySet<string>
  private readonly relations: ReadonlyMap<string, OutlinedRelation>

  constructor(outline: SchemaOutline) {
    this.types = new OutlinedTypes(outline.types)
    this.exposed = new Set(outline.schemas.map(({ name }) => name))
    this.relations = new Map(outline.relations.map((relation) => [nameKey(relation), relation]))
  }

  relation(of: { readonly schema: string; readonly name: string }): OutlinedRelation | undefined {
    return this.relations.get(nameKey(of))
  }

  orNull(oid: number): string {
    const type = this.of(oid)
    return type === "unknown" ? type : `${type} | null`
  }

  of(oid: number): string {
    return this.plain(this.types.base(oid))
  }

  array(type: string): string {
    return `${grouped(type)}[]`
  }

  /** An object with these fields, all nullable. */
  fields(fields: ReadonlyArray<{ readonly name: string; readonly type: number }>): ReadonlyArray<Property> {
    return fields.map(({ name, type }) => ({ name, type: this.orNull(type) })).sort(inOrderOfNames)
  }

  private plain(type: OutlinedType): string {
    const { attributes, kind, name, of, relation, schema, values } = type
    switch (kind) {
      case "boolean":
      case "number":
      case "string":
        return kind
      case "json":
        return "Json"
      case "void":
        return "undefined"
      case "enum":
        return this.exposed.has(schema) ? at(schema, "Enums", name) : literals(values ?? [])
      case "array":
        return of === null ? "unknown[]" : this.array(this.of(of))
      case "composite":
        return this.exposed.has(schema)
          ? at(schema, "CompositeTypes", name)
          : compactObjectType(this.fields(attributes ?? []), "Record<string, never>")
      case "row": {
        const found = relation === null ? undefined : this.relation(relation)
        return found === undefined ? "Record<string, unknown>" : at(found.schema, sectionOf(found), found.name, "Row")
      }
      default:
        return type.sql === "record" ? "Record<string, unknown>" : "unknown"
    }
  }
}

export const literals = (values: ReadonlyArray<string>) =>
  values.length === 0 ? "never" : unionType(values.map(quoted))

/** Sorts by code units, independent of the locale. */
export const inOrderOfNames = (one: { readonly name: string }, other: { readonly name: string }) =>
  one.name < other.name ? -1 : one.name > other.name ? 1 : 0
