/** A parse tree in JSON. */
export type Tree = null | boolean | number | string | ReadonlyArray<Tree> | TreeNode
export interface TreeNode {
  readonly [field: string]: Tree
}

export const isNode = (tree: Tree | undefined): tree is TreeNode =>
  typeof tree === "object" && tree !== null && !Array.isArray(tree)

export const treesIn = (tree: Tree | undefined): ReadonlyArray<Tree> => (Array.isArray(tree) ? tree : [])

export const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/**
 * The names in a function's body, each by its last part. Which object a name means depends on types and on the search
 * path, so the proof takes it for all objects of that name.
 */
export interface Names {
  readonly functions: Set<string>
  /** Names after a dot. The value may be of any type, and PostgreSQL calls a function if it has no such column. */
  readonly columns: Set<string>
  readonly operators: Set<string>
  readonly relations: Set<string>
  readonly types: Set<string>
  /** The relations that rows are inserted into, and those whose rows are changed. */
  readonly inserted: Set<string>
  readonly changed: Set<string>
  /** Words of the body outside of what has been read, which may name anything. */
  readonly unread: Set<string>
  /** The names that have no schema, so that the search path decides what they mean. */
  readonly bare: {
    readonly functions: Set<string>
    readonly operators: Set<string>
    readonly relations: Set<string>
    readonly types: Set<string>
  }
}

export const noNames = (): Names => ({
  functions: new Set(),
  columns: new Set(),
  operators: new Set(),
  relations: new Set(),
  types: new Set(),
  inserted: new Set(),
  changed: new Set(),
  unread: new Set(),
  bare: { functions: new Set(), operators: new Set(), relations: new Set(), types: new Set() }
})

/** PostgreSQL's own parser; both methods throw for what it rejects. */
export interface BodyParser {
  /** Statements as libpg_query's JSON: `{"stmts": [{"stmt": {…}}]}`. */
  readonly sql: (text: string) => Tree
  /** A CREATE FUNCTION statement in PL/pgSQL as libpg_query's JSON: `{"plpgsql_funcs": [{…}]}`. */
  readonly plpgsql: (definition: string) => Tree
}
