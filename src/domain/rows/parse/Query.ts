import { type Comparison, type FullText, type IsWord } from "./Operators.ts"

/**
 * The query string of `/v1/db/{table}` and `/v1/db/rpc/{function}`, parsed: what was asked, nothing about what exists
 * (domain/RowPlanner.ts) or how it is said in SQL (domain/RowSql.ts). The grammar is PostgREST's (docs/rows.md).
 */
export interface RowQuery {
  /** What each row is made of; `*` alone when the request does not say. */
  readonly select: ReadonlyArray<Selected>
  /** All must hold. */
  readonly filters: ReadonlyArray<AtPath<Condition>>
  /** At most one for each path: the first in the request. */
  readonly order: ReadonlyArray<AtPath<ReadonlyArray<OrderTerm>>>
  /**
   * Whole numbers of rows, as written; at most one for each path: the last in the request. Only `limit` of [] may be
   * below 0, which is a range that can't be (416).
   */
  readonly limit: ReadonlyArray<AtPath<string>>
  readonly offset: ReadonlyArray<AtPath<string>>
  /** Payload keys to use; undefined: all that are there. */
  readonly columns: ReadonlyArray<string> | undefined
  /** Columns that an upsert takes as the key; undefined: the primary key. */
  readonly onConflict: ReadonlyArray<string> | undefined
  /** Of a call: pairs that are no filter, in order; a name may repeat (VARIADIC). Empty on tables. */
  readonly arguments: ReadonlyArray<readonly [string, string]>
}

/** Something about the relation at the end of a path of embeds, by their alias or name; [] is the table itself. */
export interface AtPath<A> {
  readonly path: ReadonlyArray<string>
  readonly value: A
}

/** A column, or something inside of its JSON. */
export interface Field {
  readonly name: string
  readonly json: ReadonlyArray<JsonStep>
}

/** `->key` or `->>key`; the key of an object, or the place in an array when it is a whole number, from the end when negative. */
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
      /** Type name of `::type`, letters, digits, `_`, `$` and spaces; of what goes into the aggregate, when there is one. */
      readonly cast: string | undefined
      readonly aggregate: Aggregate | undefined
      /** Of the aggregate's result. */
      readonly aggregateCast: string | undefined
    }
  /** `count()` of rows, without a column. */
  | { readonly _tag: "Count"; readonly alias: string | undefined; readonly cast: string | undefined }
  | Embed

/** `alias:relation!hint!inner(items)`, or with three dots before it, spread into the row around it. */
export interface Embed {
  readonly _tag: "Embed"
  readonly relation: string
  readonly alias: string | undefined
  /** A foreign key, column or junction table that says which relationship is meant. */
  readonly hint: string | undefined
  readonly join: "inner" | "left" | undefined
  readonly spread: boolean
  /** Empty: joined, but not shown. */
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
  /** `relation(column)`: of a to-one embed, by its alias or name. */
  readonly relation: string | undefined
  readonly field: Field
  readonly direction: "asc" | "desc" | undefined
  readonly nulls: "nullsfirst" | "nullslast" | undefined
}
