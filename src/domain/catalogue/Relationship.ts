/** How rows of one relation relate to rows of another: the basis of embeds. */
export type Relationship = KeyRelationship | ComputedRelationship

export interface RelationName {
  readonly schema: string
  readonly name: string
}

/** Pairs of columns that must be equal, that of `from` first. */
export type ColumnPairs = ReadonlyArray<readonly [string, string]>

/** A relationship by foreign keys, of tables or of views on them. */
export interface KeyRelationship {
  readonly _tag: "Key"
  readonly from: RelationName
  readonly to: RelationName
  readonly cardinality: "many-to-one" | "one-to-many" | "one-to-one" | "many-to-many"
  /** Whether `from` has the foreign key: true for many-to-one, either for one-to-one. */
  readonly holdsKey: boolean
  /** Name of the foreign key; for many-to-many, of the one from the junction to `from`. */
  readonly constraint: string
  /** `from` to `to`; for many-to-many, `from` to the junction. */
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

/**
 * A relationship by a function that takes a row of `from` and returns rows of `to`. Takes precedence over keys of the
 * same name.
 */
interface ComputedRelationship {
  readonly _tag: "Computed"
  readonly from: RelationName
  readonly to: RelationName
  readonly function: RelationName
  /** Returns at most one row (`ROWS 1`, or not a set). */
  readonly single: boolean
}

/** Whether `from` has the foreign key. */
export const holdsKey = (one: Relationship): one is KeyRelationship => one._tag === "Key" && one.holdsKey
