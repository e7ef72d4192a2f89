import { type OutlinedColumn, type OutlinedType, OutlinedTypes, type SchemaOutline } from "../Outline.ts"
import { Oid } from "../../sql/Types.ts"

/** A schema in OpenAPI 3.1: JSON Schema 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** Formats of OpenAPI's registry that values conform to. */
const formats: ReadonlyMap<number, JsonSchema> = new Map<number, JsonSchema>([
  [Oid.int2, { type: "integer", format: "int16" }],
  [Oid.int4, { type: "integer", format: "int32" }],
  [Oid.int8, { type: "integer", format: "int64" }],
  [Oid.float4, { type: "number", format: "float" }],
  [Oid.float8, { type: "number", format: "double" }],
  [Oid.numeric, { type: "number", format: "decimal" }],
  [Oid.date, { type: "string", format: "date" }],
  [Oid.timestamptz, { type: "string", format: "date-time" }],
  [Oid.uuid, { type: "string", format: "uuid" }]
])

/** Types whose names need no description. */
const bare = new Set(["text", "character varying", "character"])

/** Unique names of components, with characters that OpenAPI does not allow replaced. */
class ComponentNames {
  private readonly taken = new Set<string>()

  make(wanted: string): string {
    const base = wanted.replaceAll(/[^\w.-]/g, "_")
    let name = base
    for (let n = 2; this.taken.has(name); n++) name = `${base}_${n}`
    this.taken.add(name)
    return name
  }
}

const nameKey = ({ name, schema }: { readonly schema: string; readonly name: string }) => `${schema}\0${name}`

export const schemaRef = (component: string): JsonSchema => ({ $ref: `#/components/schemas/${component}` })

/** JSON schemas of the types of an outline. */
export class OpenApiTypes {
  readonly names = new ComponentNames()
  readonly types: OutlinedTypes
  private readonly outline: SchemaOutline
  private readonly components = new Map<string, string>()

  constructor(outline: SchemaOutline) {
    this.outline = outline
    this.types = new OutlinedTypes(outline.types)
    for (const own of ["Error", "Failed", "Done"]) this.names.make(own)
    for (const relation of outline.relations) this.components.set(nameKey(relation), this.names.make(relation.name))
    for (const type of outline.types) {
      if (type.kind === "composite") this.components.set(nameKey(type), this.names.make(type.name))
    }
  }

  /** The component of a relation or composite type; undefined if it is not in the outline. */
  component(of: { readonly schema: string; readonly name: string }): string | undefined {
    return this.components.get(nameKey(of))
  }

  /** Composite types: name and schema. */
  *composites(): Generator<readonly [string, JsonSchema]> {
    for (const type of this.outline.types) {
      const component = type.kind === "composite" ? this.component(type) : undefined
      if (component !== undefined) yield [component, this.object(type.attributes ?? [])]
    }
  }

  object(fields: ReadonlyArray<{ readonly name: string; readonly type: number }>): JsonSchema {
    return {
      type: "object",
      properties: Object.fromEntries(fields.map(({ name, type }) => [name, this.of(type, true)]))
    }
  }

  of(oid: number, nullable = false, sql?: string): JsonSchema {
    const named = this.types.get(oid)
    const schema = this.plain(this.types.base(oid))
    const known = this.known(named)
    const full: JsonSchema = known === undefined ? schema : { ...schema, "x-postgres-type": sql ?? known }
    return nullable ? orNull(full) : full
  }

  /** The type's name in SQL, if the role has USAGE on its schema. */
  sqlOf({ sql, type }: OutlinedColumn): string | undefined {
    return this.known(this.types.get(type)) === undefined ? undefined : sql
  }

  private known(type: OutlinedType): string | undefined {
    const named = type.kind === "array" && type.of !== null ? this.types.get(type.of) : type
    return named.usable && named.kind !== "row" && named.kind !== "pseudo" ? type.sql : undefined
  }

  private plain(type: OutlinedType): JsonSchema {
    switch (type.kind) {
      case "boolean":
        return { type: "boolean" }
      case "number":
        return formats.get(type.oid) ?? { type: "number" }
      case "string":
        return (
          formats.get(type.oid) ??
          (bare.has(type.sql) || !type.usable ? { type: "string" } : { type: "string", format: type.sql })
        )
      case "enum":
        return { type: "string", enum: type.values ?? [] }
      case "array":
        return { type: "array", items: type.of === null ? {} : this.of(type.of, true) }
      case "composite":
      case "row": {
        const component = this.component(type.relation ?? type)
        return component === undefined ? { type: "object" } : schemaRef(component)
      }
      case "pseudo":
        return type.sql === "record" ? { type: "object" } : {}
      default:
        return {}
    }
  }

  /** A column's schema, with its default. */
  column(column: OutlinedColumn, notes: string): JsonSchema {
    const { generated, length, not_null: required } = column
    return {
      ...this.of(column.type, !required, column.sql),
      ...(notes === "" ? {} : { description: notes }),
      ...(length === null ? {} : { maxLength: length }),
      ...(generated === "always" ? { readOnly: true } : {}),
      ...(column.default === null ? {} : defaultOf(column.default, this.types.base(column.type)))
    }
  }
}

const orNull = (schema: JsonSchema): JsonSchema => {
  const { $ref, enum: values, type, ...others } = schema
  if ($ref !== undefined) return { ...others, anyOf: [{ $ref }, { type: "null" }] }
  if (type === undefined) return schema
  return {
    type: [type, "null"],
    ...(Array.isArray(values) ? { enum: [...(values as Array<unknown>), null] } : {}),
    ...others
  }
}

/** A literal default as JSON; any other as SQL in `x-postgres-default`, unless it refers to other schemas. */
const defaultOf = (expression: string, type: OutlinedType): JsonSchema => {
  const value = literalOf(expression, type)
  if (value !== undefined) return { default: value }
  return /[a-z_"]\.[a-z_"]/i.test(expression) || /^NULL\b/.test(expression) ? {} : { "x-postgres-default": expression }
}

const literalOf = (expression: string, { kind }: OutlinedType): unknown => {
  if (expression === "true" || expression === "false") return kind === "boolean" ? expression === "true" : undefined
  const quoted = /^'((?:[^']|'')*)'::[\w ".,()[\]]+$/.exec(expression)?.[1]?.replaceAll("''", "'")
  switch (kind) {
    case "number": {
      const digits = quoted ?? /^\(?(-?\d+(?:\.\d+)?)\)?(?:::[a-z ]+)?$/.exec(expression)?.[1]
      const value = digits === undefined || digits === "" ? Number.NaN : Number(digits)
      return Number.isFinite(value) ? value : undefined
    }
    case "string":
    case "enum":
      return quoted
    case "array":
      return quoted === "{}" ? [] : undefined
    case "json":
      return quoted === undefined ? undefined : parsed(quoted)
    default:
      return undefined
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
