import { type Tree, type TreeNode, isNode, treesIn, words } from "../catalogue/bodies/Names.ts"
import { catalogueRelations, shownSettings } from "./ReadLists.ts"

/** A name in a statement, as a row of the JSON array for `refusedSql`; `schema` is null if the name has none. */
interface ReadName {
  /** `attribute`: `f` in `x.f`, which calls `f(x)` if `x` has no such column. */
  readonly kind: "function" | "operator" | "type" | "attribute"
  readonly schema: string | null
  readonly name: string
}

/** The names of a statement that reads; or what in it is not allowed. */
export type ReadStatement = { readonly names: ReadonlyArray<ReadName> } | { readonly refused: string }

/**
 * Nodes of SELECT, VALUES, TABLE and WITH, as PostgreSQL's grammar makes them, and their fields. What is not on the lists is
 * refused: writes in WITH, INTO, locks of rows, operators of ORDER BY … USING, JSON_TABLE, XML syntax, other statements.
 */
const nodes = words(`
  A_ArrayExpr A_Const A_Expr A_Indices A_Indirection A_Star BitString BoolExpr Boolean BooleanTest CaseExpr CaseWhen CoalesceExpr
  CollateClause ColumnDef ColumnRef CommonTableExpr Float FuncCall GroupingFunc GroupingSet Integer JoinExpr
  JsonArrayConstructor JsonIsPredicate JsonKeyValue JsonObjectConstructor JsonValueExpr List MinMaxExpr NamedArgExpr NullTest ParamRef
  RangeFunction RangeSubselect RangeVar ResTarget RowExpr SQLValueFunction SelectStmt SortBy String SubLink TypeCast WindowDef`)
const fields = words(`
  absent_on_null agg_distinct agg_filter agg_order agg_star agg_within_group alias aliascolnames aliasname all arg args argisrow argname
  argnumber arrayBounds boolop booltesttype boolval bsval coldeflist collname colname colnames cols content ctecolnames ctematerialized
  ctename ctequery cterecursive ctes defresult distinctClause elements encoding endOffset expr exprs fields format format_type
  formatted_expr frameOptions fromClause func_variadic funcname funcformat functions fval groupByAll groupClause groupDistinct
  havingClause indirection inh is_local is_rowsfrom is_slice isNatural isnull item_type items ival join_using_alias jointype key kind
  larg lateral lexpr lidx limitCount limitOffset limitOption list_end list_start location name names node nulltesttype number op
  operName ordinality orderClause over partitionClause quals rarg raw_expr recursive refname relname relpersistence result rexpr
  rexpr_list_end rexpr_list_start row_format schemaname setof sortClause sortby_dir sortby_nulls startOffset subLinkId subLinkType
  subquery subselect sval targetList testexpr typeName typemod typmods typmod uidx unique unique_keys usingClause val value
  valuesLists whereClause windowClause withClause xpr`)

/** Operators that an expression uses without naming them. */
const implied: Readonly<Record<string, ReadonlyArray<string>>> = {
  AEXPR_BETWEEN: [">=", "<="],
  AEXPR_NOT_BETWEEN: ["<", ">"],
  AEXPR_BETWEEN_SYM: [">=", "<="],
  AEXPR_NOT_BETWEEN_SYM: ["<", ">"]
}

class Refusal extends Error {}

const refuse = (what: string): never => {
  throw new Refusal(what)
}

const textOf = (tree: Tree | undefined): string | undefined => {
  const string = isNode(tree) ? tree["String"] : undefined
  const text = isNode(string) ? string["sval"] : undefined
  return typeof text === "string" ? text : undefined
}

const nameOf = (sval: string): Tree => [{ String: { sval } }]

type Add = (kind: ReadName["kind"], path: Tree | undefined) => void

/** Relations of PostgreSQL's own schemas are allowed by name, those of users by the rights of the role. */
const checkRelation = ({ relname, schemaname }: TreeNode) => {
  const [schema, name] = [schemaname ?? null, String(relname)]
  const isOwn = schema === null ? name.startsWith("pg_") : /^(pg_|information_schema$)/.test(String(schema))
  if (!isOwn) return
  const path = schema === "information_schema" ? `information_schema.${name}` : name
  const isListed =
    (schema === null || !String(schema).startsWith("pg_") || schema === "pg_catalog") && catalogueRelations.has(path)
  if (!isListed) refuse(`the relation ${schema === null ? name : `${String(schema)}.${name}`}`)
}

const visitors: Readonly<Record<string, (node: TreeNode, add: Add) => void>> = {
  FuncCall: ({ funcname }, add) => {
    // A call of a type's name is a cast.
    add("function", funcname)
    add("type", funcname)
  },
  A_Expr: ({ kind, name }, add) => {
    const operators = implied[String(kind)]
    if (operators === undefined) add("operator", name)
    else for (const operator of operators) add("operator", nameOf(operator))
  },
  // IN, CASE x WHEN, USING and NATURAL compare with an equality that they do not name.
  SubLink: ({ operName, subLinkType }, add) => {
    if (operName !== undefined) add("operator", operName)
    else if (subLinkType === "ANY_SUBLINK") add("operator", nameOf("="))
  },
  CaseExpr: ({ arg }, add) => {
    if (arg !== undefined) add("operator", nameOf("="))
  },
  JoinExpr: ({ isNatural, usingClause }, add) => {
    if (isNatural !== undefined || usingClause !== undefined) add("operator", nameOf("="))
  },
  ColumnRef: ({ fields }, add) => {
    for (const part of treesIn(fields).slice(1)) if (textOf(part) !== undefined) add("attribute", [part])
  },
  A_Indirection: ({ indirection }, add) => {
    for (const part of treesIn(indirection)) if (textOf(part) !== undefined) add("attribute", [part])
  },
  RangeVar: checkRelation
}

const visit = (tree: Tree, add: Add): void => {
  if (Array.isArray(tree)) for (const item of tree) visit(item, add)
  if (!isNode(tree)) return
  for (const [field, value] of Object.entries(tree)) {
    const isListed = /^[A-Z]/.test(field) ? nodes.has(field) : fields.has(field)
    if (!isListed) refuse(field)
    if (isNode(value)) visitors[field]?.(value, add)
    // The grammar does not wrap the name of a type in a node.
    if (field === "typeName") add("type", isNode(value) ? value["names"] : undefined)
    visit(value, add)
  }
}

/** Judges a parsed text by an allow list of syntax. */
export const readStatement = (parsed: Tree): ReadStatement => {
  const [only, second] = isNode(parsed) ? treesIn(parsed["stmts"]) : []
  const statement = isNode(only) ? only["stmt"] : undefined
  if (!isNode(statement) || second !== undefined) return { refused: "anything but one statement" }
  const show = statement["VariableShowStmt"]
  if (isNode(show))
    return shownSettings.has(String(show["name"])) ? { names: [] } : { refused: `SHOW ${String(show["name"])}` }
  if (statement["SelectStmt"] === undefined) return { refused: Object.keys(statement)[0] ?? "an empty statement" }
  const names = new Map<string, ReadName>()
  const add: Add = (kind, path) => {
    const parts = treesIn(path).map((part) => textOf(part) ?? refuse("a name"))
    const [name = refuse("a name"), schema = null, third] = parts.toReversed()
    if (third !== undefined) refuse(`the name ${parts.join(".")}`)
    names.set(JSON.stringify([kind, schema, name]), { kind, schema, name })
  }
  try {
    visit(statement, add)
    return { names: [...names.values()] }
  } catch (error) {
    // The recursion exceeded the stack: a deep tree is not read.
    if (error instanceof RangeError) return { refused: "an expression this deep" }
    if (error instanceof Refusal) return { refused: error.message }
    throw error
  }
}
