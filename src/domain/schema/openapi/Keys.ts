import { holdsKey } from "../../catalogue/Relationship.ts"
import { type Relationships } from "../../catalogue/Relationships.ts"
import { type OutlinedColumn, type OutlinedRelation } from "../Outline.ts"

/** A foreign key in the document. */
export interface ForeignKey {
  readonly name: string
  readonly columns: ReadonlyArray<string>
  readonly references: { readonly table: string; readonly columns: ReadonlyArray<string> }
}

/** Foreign keys of `visible` columns, to tables of the same schema whose columns the role may read too. */
export const foreignKeysOf = (
  relation: OutlinedRelation,
  relationships: Relationships,
  relations: ReadonlyMap<string, OutlinedRelation>,
  visible: ReadonlySet<string>
): ReadonlyArray<ForeignKey> =>
  relationships.from(relation).flatMap((one): ReadonlyArray<ForeignKey> => {
    if (!holdsKey(one) || one.to.schema !== relation.schema) return []
    const there = relations.get(one.to.name)
    const readable = (column: string) => there?.columns.some(({ name, select }) => select && name === column) ?? false
    if (there?.kind === "view" || there?.kind === "materialized") return []
    if (!one.columns.every(([near, far]) => visible.has(near) && readable(far))) return []
    return [
      {
        name: one.constraint,
        columns: one.columns.map(([near]) => near),
        references: { table: one.to.name, columns: one.columns.map(([, far]) => far) }
      }
    ]
  })

/** A column's description: its comment and its keys. */
export const columnNotes = (
  column: OutlinedColumn,
  primaryKey: ReadonlyArray<string>,
  foreign: ReadonlyArray<ForeignKey>
): string => {
  const lines = column.comment === null ? [] : [column.comment]
  if (primaryKey.includes(column.name)) lines.push(primaryKey.length > 1 ? "Part of the primary key." : "Primary key.")
  for (const { columns, references } of foreign) {
    const at = columns.indexOf(column.name)
    if (at >= 0) lines.push(`References \`${references.table}.${references.columns[at]}\`.`)
  }
  return lines.join("\n\n")
}
