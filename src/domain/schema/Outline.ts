import { type RelationshipRows } from "../catalogue/Relationships.ts"

/** Oid of one of the `types`. */
type TypeOid = number

export interface OutlinedColumn {
  readonly name: string
  readonly type: TypeOid
  /** As PostgreSQL prints it: `character varying(20)`. */
  readonly sql: string
  /** In characters; of a type that has such a limit. */
  readonly length: number | null
  /** NULL is refused, by the column or by its domain. Of a view's column it is not known, so false. */
  readonly not_null: boolean
  /** An expression in SQL; the domain's when the column has none. */
  readonly default: string | null
  /** `always`: nobody may write it, be it an identity or an expression. `default`: an identity that may be given. */
  readonly generated: "always" | "default" | null
  /** Of a view: what is written to it arrives in a table. */
  readonly writable: boolean
  readonly comment: string | null
  /** What the asking role may do with it. */
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
  /** Which statements it takes, a bit for each: 4 update, 8 insert, 16 delete. */
  readonly writable: number
  /** The asking role may delete. */
  readonly delete: boolean
}

export interface OutlinedArgument {
  /** "" when it has none. */
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
  /** Gives any number of results. */
  readonly set: boolean
  /** Says of itself that it gives one row at most. */
  readonly single: boolean
  readonly volatile: boolean
}

/** A type, and what JSON is made of its values. */
export interface OutlinedType {
  readonly oid: TypeOid
  readonly schema: string
  readonly name: string
  /** As PostgreSQL prints it. */
  readonly sql: string
  /** The asking role may know its name. */
  readonly usable: boolean
  /** `row`: of a relation. `pseudo`: known only by the call. */
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
  /** Of an array its elements', of a domain its base's. */
  readonly of: TypeOid | null
  readonly values: ReadonlyArray<string> | null
  readonly attributes: ReadonlyArray<{ readonly name: string; readonly type: TypeOid }> | null
  readonly relation: { readonly schema: string; readonly name: string } | null
}

/** What is in some of the exposed schemas, for descriptions of it (domain/SchemaOutlineSql.ts); sorted by name. */
export interface SchemaOutline {
  readonly schemas: ReadonlyArray<{ readonly name: string; readonly comment: string | null }>
  readonly relations: ReadonlyArray<OutlinedRelation>
  readonly functions: ReadonlyArray<OutlinedFunction>
  readonly types: ReadonlyArray<OutlinedType>
  readonly relationships: RelationshipRows
}

/** What a call of it gives one of. */
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
    if (type === undefined) throw new Error(`Type ${oid} is used and not described`)
    return type
  }

  /** Domains looked through. */
  base(oid: TypeOid): OutlinedType {
    const type = this.get(oid)
    return type.kind === "domain" && type.of !== null ? this.base(type.of) : type
  }

  result({ outputs, returns }: OutlinedFunction): FunctionResult {
    const type = this.base(returns)
    if (type.kind === "void") return { _tag: "Void" }
    // One OUT argument alone is the result itself; a table of one column is a row.
    if (outputs.length > 0 && type.sql === "record") return { _tag: "Columns", columns: outputs }
    return { _tag: "Type", type }
  }

  /** The relation of whose rows it is a column or an embed: its only argument is one. */
  computedOf({ arguments: [one, ...others], outputs }: OutlinedFunction) {
    return one === undefined || others.length > 0 || outputs.length > 0 ? null : this.base(one.type).relation
  }
}

/** How its arguments are given: by name, as the body (of its only argument, which has none), or not at all. */
export const callForm = (types: OutlinedTypes, { arguments: all }: OutlinedFunction): "named" | "body" | undefined => {
  const [one, ...others] = all
  if (one?.name === "" && others.length === 0) {
    return /^(json|jsonb|text|bytea|xml)$/.test(types.get(one.type).sql) ? "body" : undefined
  }
  return all.every(({ name, optional }) => name !== "" || optional) ? "named" : undefined
}
