import { type Catalogue, makeCatalogue, type Relation } from "../../../src/domain/catalogue/Catalogue.ts"
import { type Relationship } from "../../../src/domain/catalogue/Relationship.ts"

interface Column {
  readonly name: string
  readonly type?: string
  readonly type_oid?: number
  readonly domain?: boolean
  readonly kind?: "json" | "other"
}

/** A catalogue of tables in schema `s`, by name and columns, with their relationships. */
export const catalogueOf = (
  tables: Readonly<Record<string, ReadonlyArray<string | Column>>>,
  relationships: Readonly<Record<string, ReadonlyArray<Relationship>>> = {}
): Catalogue => ({
  ...makeCatalogue({
    watched: true,
    surroundings: "",
    promised: [],
    relations: Object.entries(tables).map(([name, columns]) => ({
      schema: "s",
      name,
      stamp: "1",
      columns: columns.map((column) => ({
        type: "text",
        type_oid: 25,
        generated: false,
        domain: false,
        casts: null,
        kind: "other" as const,
        ...(typeof column === "string" ? { name: column } : column)
      })),
      all_rows: true,
      clean_read: true,
      clean_insert: true,
      clean_change: true,
      kind: "table" as const,
      computed: []
    })),
    functions: [],
    relationships: { keys: [], keyed: [], views: [], computed: [] }
  }),
  relationships: ({ name }) => relationships[name] ?? []
})

export const relationOf = (...columns: ReadonlyArray<string | Column>) =>
  catalogueOf({ t: columns }).relation("s", "t") as Relation

/** A single-column foreign key from one table of schema `s` to another. */
export const keyOf = (
  from: string,
  column: string,
  to: string,
  other: string,
  cardinality: "many-to-one" | "one-to-many"
): Relationship => ({
  _tag: "Key",
  from: { schema: "s", name: from },
  to: { schema: "s", name: to },
  cardinality,
  holdsKey: cardinality === "many-to-one",
  constraint: cardinality === "many-to-one" ? `${from}_${column}_fkey` : `${to}_${other}_fkey`,
  columns: [[column, other]],
  junction: undefined
})
