import { type Names } from "./Names.ts"
import { isNode, listOf, type Tree, type TreeNode, words } from "./Tree.ts"

/**
 * Nodes and fields of SELECT, INSERT, UPDATE and DELETE, as PostgreSQL's grammar makes them. Whatever is not on the list is
 * not clean: other statements, INTO, locks, WHERE CURRENT OF, USING of a sort, JSON and XML functions, column definitions.
 */
const nodes = words(`
  A_ArrayExpr A_Const A_Expr A_Indices A_Indirection A_Star BitString BoolExpr Boolean BooleanTest CaseExpr CaseWhen
  CoalesceExpr ColumnRef CommonTableExpr DeleteStmt Float FuncCall IndexElem InsertStmt Integer JoinExpr List MinMaxExpr
  MultiAssignRef NamedArgExpr NullTest ParamRef RangeFunction RangeSubselect RangeVar ResTarget RowExpr SQLValueFunction
  SelectStmt SetToDefault SortBy String SubLink TypeCast UpdateStmt WindowDef`)
const fields = words(`
  action agg_distinct agg_filter agg_order agg_star agg_within_group alias aliascolnames aliasname all arg args argisrow argname
  argnumber arrayBounds boolop booltesttype boolval bsval colnames colno cols conname ctecolnames ctematerialized ctename ctequery
  cterecursive ctes defresult distinctClause elements endOffset expr exprs fields frameOptions fromClause func_variadic funcname
  funcformat functions fval groupClause groupDistinct havingClause indexElems indirection infer inh is_rowsfrom is_slice isNatural isnull
  items join_using_alias ival jointype kind larg lateral lexpr lidx limitCount limitOffset limitOption list_end
  list_start location name names ncolumns node nulls_ordering nulltesttype number onConflictClause op operName ordering
  ordinality orderClause over override partitionClause
  quals rarg recursive refname relation relname relpersistence result returningClause rexpr rexpr_list_end rexpr_list_start row_format
  schemaname selectStmt setof sortClause sortby_dir sortby_nulls source startOffset subLinkId subLinkType subquery subselect sval
  targetList testexpr typeName typemod typmods uidx usingClause val valuesLists whereClause windowClause`)

/** The settings that the clean path sets as any other does. */
export const cleanSettings: ReadonlyArray<string> = ["request.jwt.claims", "request.jwt.sub", "role"]

/** What an expression compares with, where the grammar does not say it by an operator. */
const implied: Readonly<Record<string, ReadonlyArray<string>>> = {
  AEXPR_BETWEEN: [">=", "<="],
  AEXPR_NOT_BETWEEN: ["<", ">"],
  AEXPR_BETWEEN_SYM: [">=", "<="],
  AEXPR_NOT_BETWEEN_SYM: ["<", ">"]
}

const textOf = (tree: Tree | undefined): string | undefined => {
  const string = isNode(tree) ? tree["String"] : undefined
  const text = isNode(string) ? string["sval"] : undefined
  return typeof text === "string" ? text : undefined
}

const add = (names: Names, kind: "functions" | "operators" | "types", parts: Tree | undefined): string | undefined => {
  const path = listOf(parts)
  const last = textOf(path.at(-1))
  if (last === undefined) return undefined
  names[kind].add(last)
  if (path.length === 1) names.bare[kind].add(last)
  return last
}

/** Whether a call of current_setting names a setting that is the same on every path. */
const readsCleanSetting = (args: Tree | undefined): boolean => {
  const [first] = listOf(args)
  const constant = isNode(first) ? first["A_Const"] : undefined
  const value = isNode(constant) ? constant["sval"] : undefined
  const text = isNode(value) ? value["sval"] : undefined
  return typeof text === "string" && cleanSettings.includes(text)
}

/** Adds the relation that a statement writes to. */
const addWritten = (names: Names, kind: "inserted" | "changed", relation: Tree | undefined): boolean => {
  if (!isNode(relation)) return false
  const { relname, schemaname } = relation
  if (typeof relname !== "string") return false
  names[kind].add(relname)
  names.relations.add(relname)
  if (schemaname === undefined) names.bare.relations.add(relname)
  return true
}

/** Names that WITH gives to queries, which hide relations of the same name. */
type Withs = ReadonlySet<string>

/** What a node adds to the names; false if it is not clean. Its fields are visited besides. */
const visitors: Readonly<Record<string, (names: Names, node: TreeNode, withs: Withs) => boolean>> = {
  FuncCall: (names, { args, funcname }) => {
    const name = add(names, "functions", funcname)
    return name !== undefined && (name !== "current_setting" || readsCleanSetting(args))
  },
  A_Expr: (names, { kind, name }) => {
    const operators = implied[String(kind)]
    if (operators === undefined) return add(names, "operators", name) !== undefined
    for (const operator of operators) {
      names.operators.add(operator)
      names.bare.operators.add(operator)
    }
    return true
  },
  SubLink: (names, { operName }) => operName === undefined || add(names, "operators", operName) !== undefined,
  ColumnRef: (names, { fields }) => {
    const path = listOf(fields)
    const last = textOf(path.at(-1))
    if (path.length > 1 && last !== undefined) names.columns.add(last)
    return true
  },
  A_Indirection: (names, { indirection }) => {
    for (const step of listOf(indirection)) {
      const name = textOf(step)
      if (name !== undefined) names.columns.add(name)
    }
    return true
  },
  RangeVar: (names, { relname, schemaname }, withs) => {
    if (typeof relname !== "string") return false
    if (schemaname === undefined && withs.has(relname)) return true
    names.relations.add(relname)
    if (schemaname === undefined) names.bare.relations.add(relname)
    return true
  },
  InsertStmt: (names, { onConflictClause, relation }) => {
    const changes = isNode(onConflictClause) && onConflictClause["action"] !== "ONCONFLICT_NOTHING"
    return addWritten(names, changes ? "changed" : "inserted", relation)
  },
  UpdateStmt: (names, { relation }) => addWritten(names, "changed", relation),
  DeleteStmt: (names, { relation }) => addWritten(names, "changed", relation),
  // It depends on the search path.
  SQLValueFunction: (_, { op }) => op !== "SVFOP_CURRENT_SCHEMA"
}

/** Visits the queries of WITH, each of which sees those before it, or all if it is recursive. Undefined if not clean. */
const withsOf = (names: Names, clause: Tree, outer: Withs): Withs | undefined => {
  if (!isNode(clause)) return undefined
  const queries = listOf(clause["ctes"]).map((query) => (isNode(query) ? query["CommonTableExpr"] : undefined))
  const namesOf = queries.flatMap((query) =>
    isNode(query) && typeof query["ctename"] === "string" ? [query["ctename"]] : []
  )
  if (namesOf.length < queries.length) return undefined
  const all = new Set([...outer, ...namesOf])
  const areClean = queries.every((query, at) => {
    const withs = clause["recursive"] === true ? all : new Set([...outer, ...namesOf.slice(0, at)])
    return visit(names, { CommonTableExpr: query ?? null }, withs)
  })
  return areClean ? all : undefined
}

const visit = (names: Names, tree: Tree, outer: Withs): boolean => {
  if (Array.isArray(tree)) return tree.every((item) => visit(names, item, outer))
  if (!isNode(tree)) return true
  const { withClause, ...others } = tree
  const withs = withClause === undefined ? outer : withsOf(names, withClause, outer)
  if (withs === undefined) return false
  return Object.entries(others).every(([field, value]) => {
    const isListed = /^[A-Z]/.test(field) ? nodes.has(field) : fields.has(field)
    if (!isListed) return false
    const visitor = visitors[field]
    if (visitor !== undefined && !(isNode(value) && visitor(names, value, withs))) return false
    // The grammar does not wrap the name of a type in a node.
    if (field === "typeName" && !(isNode(value) && add(names, "types", value["names"]) !== undefined)) return false
    return visit(names, value, withs)
  })
}

const known = ["SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt"]

/** Adds the names of statements that read or write rows. False if they are, or contain, anything that is not known to be clean. */
export const addSqlNames = (names: Names, parsed: Tree): boolean => {
  const statements = isNode(parsed) ? listOf(parsed["stmts"]) : []
  return (
    statements.length > 0 &&
    statements.every((statement) => {
      const node = isNode(statement) ? statement["stmt"] : undefined
      return isNode(node) && known.some((kind) => kind in node) && visit(names, node, new Set())
    })
  )
}
