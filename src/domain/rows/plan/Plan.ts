import { type Relation } from "../../catalogue/Catalogue.ts"
import { type BodyForm } from "../Preferences.ts"
import { type ColumnPairs, type RelationName } from "../../catalogue/Relationship.ts"
import { type Payload } from "./Payload.ts"
import { type Aggregate, type JsonStep, type Test } from "../parse/Query.ts"

/**
 * A query (rows/parse/Query.ts) with every name looked up in the catalogue. The writer (rows/sql) turns it into one
 * statement and needs nothing else.
 *
 * A plan is a tree: the rows of one source, joined with the rows of each embed.
 */
export interface RowPlan {
  readonly source: RowSource
  /** The relation whose columns the rows have; undefined if known only at run time (a function that returns records). */
  readonly relation: Relation | undefined
  /** The items of each row, fields before embeds. Empty: rows without columns. */
  readonly items: ReadonlyArray<Item>
  readonly joins: ReadonlyArray<Join>
  /** Combined with AND. */
  readonly where: ReadonlyArray<PlannedCondition>
  readonly order: ReadonlyArray<PlannedOrder>
  /** Whole numbers as text; undefined: no limit, no offset. */
  readonly limit: string | undefined
  readonly offset: string | undefined
  /** Some item is an aggregate, so the rows are grouped by the others. */
  readonly grouped: boolean
}

/** The source of the rows. */
export type RowSource =
  /** A table or view. */
  | { readonly _tag: "Relation"; readonly name: RelationName }
  /** A computed relationship: a function of the outer row. */
  | { readonly _tag: "Computed"; readonly function: RelationName; readonly name: RelationName }
  /**
   * A WITH query of the same statement: the rows written, or a function's result. Its `name` is internal (`_svc_…`);
   * `called` is the table or function that PostgreSQL's messages name. `whole` is the column, if any, that holds the row
   * as a value of its relation's type, the argument of computed columns and relationships. `type` is the relation that
   * has exactly the columns of the WITH query, so that its rows can be cast to that type.
   */
  | {
      readonly _tag: "With"
      readonly name: string
      readonly called: string
      readonly whole: string | undefined
      readonly type?: RelationName
    }

/** A column, a function of the row, or an unknown name; or a path into its JSON. */
export interface PlannedField {
  readonly name: string
  /**
   * `computed`: a function that takes the row. `count`: the number of rows, written like a column, which PostgreSQL
   * accepts and clients use. `unknown`: not in the catalogue; PostgreSQL reports the error.
   */
  readonly kind: "column" | "computed" | "count" | "unknown"
  /** The function's schema, for a computed column. */
  readonly schema: string | undefined
  readonly json: ReadonlyArray<JsonStep>
  /** The JSON path leads into a value that is neither json nor jsonb. */
  readonly toJson: boolean
  /** Oid of its type, 0 if unknown. Parameters compared with the field get this type. */
  readonly type: number
  /** Full-text search uses the value without conversion. */
  readonly tsvector: boolean
  /** The functions of its domain's casts, if any. */
  readonly casts: Relation["columns"][number]["casts"]
}

/** A column of the response, named `as`. Names may repeat. */
export type Item =
  | { readonly _tag: "All" }
  | ({ readonly _tag: "Field"; readonly field: PlannedField; readonly as: string } & Aggregated)
  /** How many rows. */
  | { readonly _tag: "Count"; readonly as: string; readonly aggregateCast: string | undefined }
  /** A constant, never null, for counting rows. */
  | { readonly _tag: "One"; readonly as: string }
  /** The rows of `joins[join]`: an object or null, or an array. */
  | { readonly _tag: "Embed"; readonly join: number; readonly as: string }
  /** Item number `item` of `joins[join].rows`: one value of a to-one embed, an array of them of a to-many one. */
  | ({ readonly _tag: "Spread"; readonly join: number; readonly item: number; readonly as: string } & Aggregated)

export interface Aggregated {
  /** Type name as written; applies to the aggregate's argument, if any. */
  readonly cast: string | undefined
  readonly aggregate: Aggregate | undefined
  readonly aggregateCast: string | undefined
}

/** The rows of an embed. */
export interface Join {
  readonly rows: RowPlan
  /** Its alias, else its name. */
  readonly name: string
  readonly link: Link
  /** The embed is at most one row, returned as an object; otherwise an array. */
  readonly single: boolean
  /** Outer rows without rows in the embed are dropped. */
  readonly inner: boolean
  /** The embed is joined but not returned. */
  readonly hidden: boolean
  /** Its items are columns of the outer row. */
  readonly spread: boolean
  /** Values of a single row that the outer rows are ordered by: fields, with their casts. */
  readonly orderedBy: ReadonlyArray<{ readonly field: PlannedField; readonly cast: string | undefined }>
}

/** The condition that links rows of the embed to an outer row. The first column of a pair is the outer row's. */
export type Link =
  | { readonly _tag: "Keys"; readonly columns: ColumnPairs }
  | {
      readonly _tag: "Junction"
      readonly relation: RelationName
      /** Columns of the outer row and the junction. */
      readonly near: ColumnPairs
      /** Columns of the junction and the embed. */
      readonly far: ColumnPairs
    }
  /** The source itself is a function of the outer row. */
  | { readonly _tag: "Argument" }

export type PlannedCondition =
  | {
      readonly _tag: "And" | "Or"
      readonly negated: boolean
      readonly conditions: ReadonlyArray<PlannedCondition>
    }
  | { readonly _tag: "Test"; readonly negated: boolean; readonly field: PlannedField; readonly test: Test }
  /** The row has rows in `joins[join]`; negated: it has none. */
  | { readonly _tag: "Exists"; readonly negated: boolean; readonly join: number }

export interface PlannedOrder {
  /** A field of the row, or field number `ordered` of `joins[join].orderedBy`. */
  readonly by:
    | { readonly _tag: "Field"; readonly field: PlannedField }
    | { readonly _tag: "Join"; readonly join: number; readonly ordered: number }
  readonly direction: "asc" | "desc" | undefined
  readonly nulls: "nullsfirst" | "nullslast" | undefined
}

/** A plan and whether it is clean. */
export interface PlannedRows {
  readonly rows: RowPlan
  /**
   * The plan runs no user-defined code, judging by names and relations: all its relations are clean to read, every name
   * is a column, and it has no cast and no aggregate, whose functions PostgreSQL would resolve by name.
   */
  readonly clean: boolean
}

/** How to count the rows without limit and offset. */
export type Total =
  | { readonly _tag: "None" }
  | { readonly _tag: "Exact" }
  /** Counts up to this number. */
  | { readonly _tag: "UpTo"; readonly rows: number }

/** A read with the form of its body and a total. */
export interface ReadPlan {
  readonly rows: RowPlan
  readonly form: BodyForm
  readonly total: Total
}

/** A change of rows of one table or view. */
export interface WritePlan {
  readonly relation: Relation
  readonly change: RowChange
  /** The returned form of the rows written; their source is `With`. */
  readonly rows: RowPlan
  readonly form: BodyForm
  /** Nothing is changed if more rows than this would be affected (PGRST124). */
  readonly maxAffected: number | undefined
  /** The `limit` of a change, which always affects all matching rows: if more match, nothing is changed. */
  readonly limit?: number | undefined
  /** Unless exactly one row is affected, nothing is changed and this is the error. */
  readonly exactlyOne: "PGRST115" | "PGRST116" | undefined
  /** Columns whose values identify the new row; empty if not requested. */
  readonly location: ReadonlyArray<string>
}

export type RowChange =
  | {
      readonly _tag: "Insert"
      readonly payload: Payload
      readonly conflict: RowConflict | undefined
      /** PUT: rows of the payload that do not match are skipped. */
      readonly where: ReadonlyArray<PlannedCondition>
    }
  | {
      readonly _tag: "Update"
      /** One JSON object. */
      readonly json: Uint8Array
      readonly texts: Payload["texts"]
      /** Columns that get the object's value, or NULL if it has none. */
      readonly keys: ReadonlyArray<string>
      /** Columns that get their default. */
      readonly defaults: ReadonlyArray<string>
      readonly where: ReadonlyArray<PlannedCondition>
    }
  | { readonly _tag: "Delete"; readonly where: ReadonlyArray<PlannedCondition> }

/** The handling of a row that exists already, judged by these columns. `merge` also counts the rows inserted. */
export interface RowConflict {
  readonly columns: ReadonlyArray<string>
  readonly resolution: "merge" | "ignore"
}
