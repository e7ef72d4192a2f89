import { type OutlinedRelation, OutlinedTypes, type OutlinedType, type SchemaOutline } from "../Outline.ts"
import { compactObjectType, type Property, quoted, unionType } from "./Text.ts"

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
