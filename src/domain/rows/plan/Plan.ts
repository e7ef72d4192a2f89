import { type Relation } from "../../catalogue/Catalogue.ts"
import { type BodyForm } from "../Preferences.ts"
import { type ColumnPairs, type RelationName } from "../../catalogue/Relationship.ts"
import { type Payload } from "./Payload.ts"
import { type Aggregate, type JsonStep, type Test } from "../parse/Query.ts"

/**
 * What was asked (domain/RowQuery.ts), with every name looked up in the catalogue: what the writer
 * (domain/RowSelectSql.ts, domain/RowSql.ts) turns into one statement without looking at anything else.
 *
 * A plan is a tree: rows of one source, and joined to them the rows of each embed.
 */
export interface RowPlan {
  readonly source: RowSource
  /** Whose columns the rows have; undefined: known only when it runs (a function that gives records). */
  readonly relation: Relation | undefined
  /** What each row is made of, fields before embeds. Empty: rows without columns. */
  readonly items: ReadonlyArray<Item>
  readonly joins: ReadonlyArray<Join>
  /** All must hold. */
  readonly where: ReadonlyArray<PlannedCondition>
  readonly order: ReadonlyArray<PlannedOrder>
  /** Whole numbers in text; undefined: no limit, from the first on. */
  readonly limit: string | undefined
  readonly offset: string | undefined
  /** Some item is an aggregate: the others are what is grouped by. */
  readonly grouped: boolean
}

/** Where the rows come from. */
export type RowSource =
  /** A table or view. */
  | { readonly _tag: "Relation"; readonly name: RelationName }
  /** A function of the row around it: computed relationships. */
  | { readonly _tag: "Computed"; readonly function: RelationName; readonly name: RelationName }
  /**
   * A WITH part of the same statement: what was written, or what a function gave. Its `name` is ours (`_svc_…`);
   * `called` is what PostgreSQL's messages call it, a table or function. `whole` is a column of it that holds the row
   * as a value of its relation's type, which computed columns and relationships take; undefined where there is none.
   * `type` is the relation whose columns are exactly those of the part, so that its rows can be cast to that type.
   */
  | {
      readonly _tag: "With"
      readonly name: string
      readonly called: string
      readonly whole: string | undefined
      readonly type?: RelationName
    }

/** A column, a function of the row, or what PostgreSQL makes of the name; or something inside of its JSON. */
export interface PlannedField {
  readonly name: string
  /**
   * `computed`: a function that takes the row. `count`: how many rows, written as if it were a column, which PostgreSQL
   * understands and clients use. `unknown`: not in the catalogue, PostgreSQL says what is wrong.
   */
  readonly kind: "column" | "computed" | "count" | "unknown"
  /** Of a computed column: the function's schema. */
  readonly schema: string | undefined
  readonly json: ReadonlyArray<JsonStep>
  /** A JSON path into what is neither json nor jsonb. */
  readonly toJson: boolean
  /** Oid of its type, 0 when not known: parameters compared with it are typed by it. */
  readonly type: number
  /** Full text looks into it as it is. */
  readonly tsvector: boolean
}

/** A column of the answer, under the name `as`. Several may have the same name. */
export type Item =
  | { readonly _tag: "All" }
  | ({ readonly _tag: "Field"; readonly field: PlannedField; readonly as: string } & Aggregated)
  /** How many rows. */
  | { readonly _tag: "Count"; readonly as: string; readonly aggregateCast: string | undefined }
  /** A value that is there whenever the row is, for whoever counts it. */
  | { readonly _tag: "One"; readonly as: string }
  /** The rows of `joins[join]`: an object or null, or an array. */
  | { readonly _tag: "Embed"; readonly join: number; readonly as: string }
  /** Item number `item` of `joins[join].rows`: one value of a to-one embed, an array of them of a to-many one. */
  | ({ readonly _tag: "Spread"; readonly join: number; readonly item: number; readonly as: string } & Aggregated)

export interface Aggregated {
  /** Type name as written, of the value that goes into the aggregate, if there is one. */
  readonly cast: string | undefined
  readonly aggregate: Aggregate | undefined
  readonly aggregateCast: string | undefined
}

/** Rows of an embed beside the row around them. */
export interface Join {
  readonly rows: RowPlan
  /** As the request calls it: its alias, else its name. */
  readonly name: string
  readonly link: Link
  /** At most one row: an object; else an array. */
  readonly single: boolean
  /** Rows around it that have none are left out. */
  readonly inner: boolean
  /** Nothing of it is in the answer. */
  readonly hidden: boolean
  /** Its items are columns of the row around it. */
  readonly spread: boolean
  /** Of a single one: fields that the rows around it are ordered by. */
  readonly orderedBy: ReadonlyArray<PlannedField>
}

/** Which rows of the embed belong to a row. Pairs are of the row around it and of what it leads to. */
export type Link =
  | { readonly _tag: "Keys"; readonly columns: ColumnPairs }
  | {
      readonly _tag: "Junction"
      readonly relation: RelationName
      /** Row around it to junction. */
      readonly near: ColumnPairs
      /** Junction to the embed's rows. */
      readonly far: ColumnPairs
    }
  /** The source itself is a function of the row around it. */
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

/** A plan and what is to be known of it. */
export interface PlannedRows {
  readonly rows: RowPlan
  /**
   * Runs no user-written code, as far as names and relations tell: all relations in it are clean to read, every name
   * is a column, and there is no cast to a type and no aggregate whose function PostgreSQL would look for by name.
   */
  readonly clean: boolean
}

/** How many rows there are without limit and offset, beside those of the page. */
export type Total =
  | { readonly _tag: "None" }
  | { readonly _tag: "Exact" }
  /** Counts no further than this. */
  | { readonly _tag: "UpTo"; readonly rows: number }

/** A read: the answer's body in a form, and a total. */
export interface ReadPlan {
  readonly rows: RowPlan
  readonly form: BodyForm
  readonly total: Total
}

/** A change of rows of one table or view. */
export interface WritePlan {
  readonly relation: Relation
  readonly change: Change
  /** What is answered of the rows written; their source is `With`. */
  readonly rows: RowPlan
  readonly form: BodyForm
  /** More rows than this and nothing is done (PGRST124). */
  readonly maxAffected: number | undefined
  /** Of a change with `limit`: it always means all rows that match, so more than this and nothing is done. */
  readonly limit?: number | undefined
  /** Exactly one row, or nothing is done and this is the refusal. */
  readonly exactlyOne: "PGRST115" | "PGRST116" | undefined
  /** Columns whose values say where the one new row is; empty: not asked for. */
  readonly location: ReadonlyArray<string>
}

export type Change =
  | {
      readonly _tag: "Insert"
      readonly payload: Payload
      readonly conflict: Conflict | undefined
      /** PUT: what must hold of a row of the payload, or it is left out. */
      readonly where: ReadonlyArray<PlannedCondition>
    }
  | {
      readonly _tag: "Update"
      /** One JSON object. */
      readonly json: string
      /** Columns that get what the object has for them, NULL if nothing. */
      readonly keys: ReadonlyArray<string>
      /** Columns that get their default. */
      readonly defaults: ReadonlyArray<string>
      readonly where: ReadonlyArray<PlannedCondition>
    }
  | { readonly _tag: "Delete"; readonly where: ReadonlyArray<PlannedCondition> }

/** What is done about a row that is there already, by these columns. `merge` also counts those that were not. */
export interface Conflict {
  readonly columns: ReadonlyArray<string>
  readonly resolution: "merge" | "ignore"
}
