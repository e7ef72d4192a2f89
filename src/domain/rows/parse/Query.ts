import { type Comparison, type FullText, type IsWord } from "./Operators.ts"

/**
 * The parsed query string of `/v1/db/{table}` and `/v1/db/rpc/{function}`. It is independent of the catalogue, which the
 * planner reads, and of SQL. The grammar is PostgREST's (docs/rows.md).
 */
export interface RowQuery {
  /** The items of each row; `*` by default. */
  readonly select: ReadonlyArray<Selected>
  /** Combined with AND. */
  readonly filters: ReadonlyArray<AtPath<Condition>>
  /** At most one order for each path, the first in the request. */
  readonly order: ReadonlyArray<AtPath<ReadonlyArray<OrderTerm>>>
  /**
   * Whole numbers as text; at most one for each path, the last in the request. Only the `limit` of [] may be negative:
   * an invalid range (416).
   */
  readonly limit: ReadonlyArray<AtPath<string>>
  readonly offset: ReadonlyArray<AtPath<string>>
  /** Payload keys to use; undefined: all. */
  readonly columns: ReadonlyArray<string> | undefined
  /** Key columns of an upsert; undefined: the primary key. */
  readonly onConflict: ReadonlyArray<string> | undefined
  /** The pairs of a function call that are not filters, in order; a name may repeat (VARIADIC). Empty for tables. */
  readonly arguments: ReadonlyArray<readonly [string, string]>
}

/** A clause for the relation at the end of a path of embeds, each by its alias or name; [] is the table itself. */
export interface AtPath<A> {
  readonly path: ReadonlyArray<string>
  readonly value: A
}

/** A column, or a path into its JSON. */
export interface Field {
  readonly name: string
  readonly json: ReadonlyArray<JsonStep>
}

/** `->key` or `->>key`: an object's key, or an array index if it is a whole number; negative ones count from the end. */
export interface JsonStep {
  readonly key: string
  readonly index: boolean
  /** `->>`: as text. */
  readonly text: boolean
}

export type Aggregate = "sum" | "avg" | "min" | "max" | "count"

export type Selected =
  | { readonly _tag: "All" }
  | {
      readonly _tag: "Field"
      readonly field: Field
      readonly alias: string | undefined
      /** Type name of `::type`: letters, digits, `_`, `$` and spaces. Applies to the aggregate's argument, if any. */
      readonly cast: string | undefined
      readonly aggregate: Aggregate | undefined
      /** Cast of the aggregate's result. */
      readonly aggregateCast: string | undefined
    }
  /** `count()` of rows. */
  | { readonly _tag: "Count"; readonly alias: string | undefined; readonly cast: string | undefined }
  | Embed

/** `alias:relation!hint!inner(items)`; with three dots in front it is spread into the outer row. */
export interface Embed {
  readonly _tag: "Embed"
  readonly relation: string
  readonly alias: string | undefined
  /** A foreign key, column or junction table that selects the relationship. */
  readonly hint: string | undefined
  readonly join: "inner" | "left" | undefined
  readonly spread: boolean
  /** An embed with an empty list is joined but not returned. */
  readonly select: ReadonlyArray<Selected>
}

export type Condition =
  | { readonly _tag: "And" | "Or"; readonly negated: boolean; readonly conditions: ReadonlyArray<Condition> }
  | ({ readonly negated: boolean; readonly field: Field } & Test)

export type Test =
  | {
      readonly _tag: "Compare"
      readonly operator: Comparison
      /** `like(any).{a,b}`: the value is an array literal. */
      readonly quantifier: "any" | "all" | undefined
      readonly value: string
    }
  | { readonly _tag: "In"; readonly values: ReadonlyArray<string> }
  | { readonly _tag: "Is"; readonly value: IsWord }
  | {
      readonly _tag: "FullText"
      readonly operator: FullText
      readonly language: string | undefined
      readonly value: string
    }

export interface OrderTerm {
  /** `relation(column)`: the alias or name of a to-one embed. */
  readonly relation: string | undefined
  readonly field: Field
  readonly direction: "asc" | "desc" | undefined
  readonly nulls: "nullsfirst" | "nullslast" | undefined
}
