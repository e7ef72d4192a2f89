/** How rows of one relation lead to rows of another: what embeds are made of. */
export type Relationship = KeyRelationship | ComputedRelationship

export interface RelationName {
  readonly schema: string
  readonly name: string
}

/** Pairs of columns that are equal, the near side's first. */
export type ColumnPairs = ReadonlyArray<readonly [string, string]>

/** By foreign keys, of tables or seen through views. */
export interface KeyRelationship {
  readonly _tag: "Key"
  readonly from: RelationName
  readonly to: RelationName
  readonly cardinality: "many-to-one" | "one-to-many" | "one-to-one" | "many-to-many"
  /** Of a one-to-one: whether `from` is the side that has the foreign key. Always so of many-to-one. */
  readonly holdsKey: boolean
  /** Name of the foreign key; of a many-to-many, of the one from the junction to `from`. */
  readonly constraint: string
  /** Of a many-to-many: `from` to junction. Else `from` to `to`. */
  readonly columns: ColumnPairs
  readonly junction:
    | {
        readonly relation: RelationName
        /** Name of the foreign key from the junction to `to`. */
        readonly constraint: string
        /** Junction to `to`. */
        readonly columns: ColumnPairs
      }
    | undefined
}

/** By a function that takes a row of `from` and gives rows of `to`. Goes before keys of the same name. */
interface ComputedRelationship {
  readonly _tag: "Computed"
  readonly from: RelationName
  readonly to: RelationName
  readonly function: RelationName
  /** Gives one row at most (`ROWS 1`, or not a set). */
  readonly single: boolean
}

/** By a foreign key of the near side. */
export const holdsKey = (one: Relationship): one is KeyRelationship => one._tag === "Key" && one.holdsKey
