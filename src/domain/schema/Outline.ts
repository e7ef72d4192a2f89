import { type RelationshipRows } from "../catalogue/Relationships.ts"

/** Oid of one of the `types`. */
type TypeOid = number

export interface OutlinedColumn {
  readonly name: string
  readonly type: TypeOid
  /** The type as PostgreSQL prints it: `character varying(20)`. */
  readonly sql: string
  /** Maximum of characters, if the type has one. */
  readonly length: number | null
  /** NULL is rejected, by the column or by its domain. Unknown for views, so false. */
  readonly not_null: boolean
  /** An expression in SQL; the domain's if the column has none. */
  readonly default: string | null
  /** `always`: a generated column or identity that cannot be written. `default`: an identity that may be written. */
  readonly generated: "always" | "default" | null
  /** Whether a view's column is updatable. */
  readonly writable: boolean
  readonly comment: string | null
  /** Privileges of the current role. */
  readonly select: boolean
  readonly insert: boolean
  readonly update: boolean
}

export interface OutlinedRelation {
  readonly schema: string
  readonly name: string
  readonly kind: "table" | "partitioned" | "view" | "materialized" | "foreign"
  readonly comment: string | null
  readonly columns: ReadonlyArray<OutlinedColumn>
  /** The statements it accepts, as bits: 4 update, 8 insert, 16 delete. */
  readonly writable: number
  /** Whether the current role has DELETE. */
  readonly delete: boolean
}

export interface OutlinedArgument {
  /** "" if it has no name. */
  readonly name: string
  readonly type: TypeOid
  readonly optional: boolean
  readonly variadic: boolean
}

export interface OutlinedFunction {
  readonly schema: string
  readonly name: string
  readonly comment: string | null
  readonly arguments: ReadonlyArray<OutlinedArgument>
  /** OUT, INOUT and TABLE columns. */
  readonly outputs: ReadonlyArray<{ readonly name: string; readonly type: TypeOid }>
  readonly returns: TypeOid
  /** Returns a set. */
  readonly set: boolean
  /** Declares that it returns at most one row. */
  readonly single: boolean
  readonly volatile: boolean
}

/** A type, and how its values become JSON. */
export interface OutlinedType {
  readonly oid: TypeOid
  readonly schema: string
  readonly name: string
  /** The type as PostgreSQL prints it. */
  readonly sql: string
  /** Whether the current role has USAGE on its schema. */
  readonly usable: boolean
  /** `row`: a relation's row type. `pseudo`: determined by the call. */
  readonly kind:
    | "boolean"
    | "number"
    | "json"
    | "string"
    | "enum"
    | "array"
    | "composite"
    | "row"
    | "domain"
    | "void"
    | "pseudo"
  /** The element type of an array, or the base type of a domain. */
  readonly of: TypeOid | null
  readonly values: ReadonlyArray<string> | null
  readonly attributes: ReadonlyArray<{ readonly name: string; readonly type: TypeOid }> | null
  readonly relation: { readonly schema: string; readonly name: string } | null
}

/** The contents of some of the exposed schemas, sorted by name (OutlineSql.ts). */
export interface SchemaOutline {
  readonly schemas: ReadonlyArray<{ readonly name: string; readonly comment: string | null }>
  readonly relations: ReadonlyArray<OutlinedRelation>
  readonly functions: ReadonlyArray<OutlinedFunction>
  readonly types: ReadonlyArray<OutlinedType>
  readonly relationships: RelationshipRows
}

/** A single result of a call. */
export type FunctionResult =
  | { readonly _tag: "Void" }
  | { readonly _tag: "Columns"; readonly columns: OutlinedFunction["outputs"] }
  | { readonly _tag: "Type"; readonly type: OutlinedType }

/** Types by their oids. */
export class OutlinedTypes {
  private readonly byOid: ReadonlyMap<number, OutlinedType>

  constructor(types: ReadonlyArray<OutlinedType>) {
    this.byOid = new Map(types.map((type) => [type.oid, type]))
  }

  get(oid: TypeOid): OutlinedType {
    const type = this.byOid.get(oid)
    if (type === undefined) throw new Error(`Type ${oid} is used, but not described`)
    return type
  }

  /** The type, or the base type of a domain. */
  base(oid: TypeOid): OutlinedType {
    const type = this.get(oid)
    return type.kind === "domain" && type.of !== null ? this.base(type.of) : type
  }

  result({ outputs, returns }: OutlinedFunction): FunctionResult {
    const type = this.base(returns)
    if (type.kind === "void") return { _tag: "Void" }
    // A single OUT argument is the result itself; a table of one column is a row.
    if (outputs.length > 0 && type.sql === "record") return { _tag: "Columns", columns: outputs }
    return { _tag: "Type", type }
  }

  /** The relation of which it is a computed column or relationship: its only argument is a row of it. */
  computedOf({ arguments: [one, ...others], outputs }: OutlinedFunction) {
    return one === undefined || others.length > 0 || outputs.length > 0 ? null : this.base(one.type).relation
  }
}

/** How arguments are passed: by name, as the body (a single argument without a name), or undefined if it cannot be called. */
export const callForm = (types: OutlinedTypes, { arguments: all }: OutlinedFunction): "named" | "body" | undefined => {
  const [one, ...others] = all
  if (one?.name === "" && others.length === 0) {
    return /^(json|jsonb|text|bytea|xml)$/.test(types.get(one.type).sql) ? "body" : undefined
  }
  return all.every(({ name, optional }) => name !== "" || optional) ? "named" : undefined
}
