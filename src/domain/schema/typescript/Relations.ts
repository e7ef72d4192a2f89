import { holdsKey } from "../../catalogue/Relationship.ts"
import { type Relationships } from "../../catalogue/Relationships.ts"
import { type OutlinedColumn, type OutlinedRelation, type OutlinedFunction } from "../Outline.ts"
import {
  type Property,
  type TypeScriptTypes,
  inOrderOfNames,
  indented,
  literals,
  objectType,
  quoted,
  textTuple
} from "./Types.ts"

/** A computed column: a function of the row that returns one value. */
const isComputed = (types: TypeScriptTypes, fn: OutlinedFunction) => {
  const result = types.types.result(fn)
  return !fn.set && result._tag === "Type" && result.type.kind !== "row"
}

/** The type of a table or view. `computing`: functions whose only argument is its row. */
export const relationType = (
  types: TypeScriptTypes,
  relationships: Relationships,
  relation: OutlinedRelation,
  computing: ReadonlyArray<OutlinedFunction>
): string => {
  const columns = relation.columns.toSorted(inOrderOfNames)
  const stored = new Set(columns.map(({ name }) => name))
  // Stored columns take precedence over computed ones of the same name.
  const computed = computing.filter((fn) => !stored.has(fn.name) && isComputed(types, fn))
  const fields = [
    ...columns.map((column) => ({ name: column.name, type: valueType(types, column) })),
    ...computed.map(({ name, returns }) => ({ name, type: types.orNull(returns) }))
  ]
  const written = (some: (column: OutlinedColumn) => Property) => objectType(columns.map(some), "Record<string, never>")
  const parts: Array<Property> = [
    { name: "Row", type: objectType(fields.sort(inOrderOfNames), "Record<string, never>") }
  ]
  if ((relation.writable & 8) !== 0) {
    parts.push({
      name: "Insert",
      type: written((column) =>
        isOpen(column)
          ? { name: column.name, optional: mayLack(relation, column), type: valueType(types, column) }
          : shut(column)
      )
    })
  }
  if ((relation.writable & 4) !== 0) {
    parts.push({
      name: "Update",
      type: written((column) =>
        isOpen(column) ? { name: column.name, optional: true, type: valueType(types, column) } : shut(column)
      )
    })
  }
  if (parts.length < 3 && relation.kind !== "view" && relation.kind !== "materialized") {
    // Clients expect both for every member of Tables.
    if ((relation.writable & 8) === 0) parts.push({ name: "Insert", type: written(shut) })
    if ((relation.writable & 4) === 0) parts.push({ name: "Update", type: written(shut) })
  }
  parts.push({ name: "Relationships", type: relationshipTypes(relationships, relation) })
  if (computed.length > 0)
    parts.push({ name: "ComputedFields", type: literals(computed.map(({ name }) => name).sort()) })
  return objectType(parts)
}

const valueType = (types: TypeScriptTypes, { not_null: filled, type }: OutlinedColumn) =>
  filled ? types.of(type) : types.orNull(type)

const isOpen = ({ generated, writable }: OutlinedColumn) => writable && generated !== "always"

const shut = ({ name }: OutlinedColumn): Property => ({ name, optional: true, type: "never" })

const mayLack = ({ kind }: OutlinedRelation, column: OutlinedColumn) =>
  !column.not_null || column.default !== null || column.generated !== null || kind === "view"

/** Foreign keys to relations of the same schema, which can be embedded. */
const relationshipTypes = (relationships: Relationships, relation: OutlinedRelation): string => {
  const all = relationships
    .from(relation)
    .filter(holdsKey)
    .filter(({ to }) => to.schema === relation.schema)
    .map((one) =>
      objectType([
        { name: "foreignKeyName", type: quoted(one.constraint) },
        { name: "columns", type: textTuple(one.columns.map(([near]) => near)) },
        { name: "isOneToOne", type: String(one.cardinality === "one-to-one") },
        { name: "referencedRelation", type: quoted(one.to.name) },
        { name: "referencedColumns", type: textTuple(one.columns.map(([, far]) => far)) }
      ])
    )
  const each = [...new Set(all)].sort()
  return each.length === 0 ? "[]" : `[\n  ${each.map((one) => `${indented(one)},`).join("\n  ")}\n]`
}
