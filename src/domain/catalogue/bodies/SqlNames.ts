import { type Names, type Tree, type TreeNode, isNode, treesIn, words } from "./Names.ts"

/** The fields of a node: values that name nothing, nodes that are visited, and nodes whose kind the grammar fixes. */
interface Shape {
  readonly values: ReadonlySet<string>
  readonly nodes: ReadonlySet<string>
  readonly kinds: Readonly<Record<string, string>>
}

const shape = (values: string, nodes = "", kinds: Readonly<Record<string, string>> = {}): Shape => ({
  values: words(`location ${values}`),
  nodes: words(nodes),
  kinds
})

/**
 * The syntax of SELECT, INSERT, UPDATE and DELETE that is known to be clean, as PostgreSQL's grammar makes it: for each
 * node, its fields. A node or field that is not here is user code: other statements, INTO, locks, WHERE CURRENT OF, USING of
 * a sort, COLLATE, GROUPING SETS, TABLESAMPLE, JSON and XML functions, column definitions, %TYPE.
 */
const syntax: Readonly<Record<string, Shape>> = {
  A_ArrayExpr: shape("list_start list_end", "elements"),
  A_Const: shape("isnull", "", {
    ival: "Integer",
    fval: "Float",
    boolval: "Boolean",
    sval: "String",
    bsval: "BitString"
  }),
  A_Expr: shape("kind rexpr_list_start rexpr_list_end", "name lexpr rexpr"),
  A_Indices: shape("is_slice", "lidx uidx"),
  A_Indirection: shape("", "arg indirection"),
  A_Star: shape(""),
  Alias: shape("aliasname", "colnames"),
  BitString: shape("bsval"),
  BoolExpr: shape("boolop", "args"),
  Boolean: shape("boolval"),
  BooleanTest: shape("booltesttype", "arg"),
  CaseExpr: shape("", "arg args defresult"),
  CaseWhen: shape("", "expr result"),
  CoalesceExpr: shape("", "args"),
  ColumnRef: shape("", "fields"),
  CommonTableExpr: shape("ctename ctematerialized", "aliascolnames ctequery"),
  DeleteStmt: shape("", "usingClause whereClause", {
    relation: "RangeVar",
    returningClause: "ReturningClause",
    withClause: "WithClause"
  }),
  Float: shape("fval"),
  FuncCall: shape(
    "agg_within_group agg_star agg_distinct func_variadic funcformat",
    "funcname args agg_order agg_filter",
    { over: "WindowDef" }
  ),
  IndexElem: shape("name ordering nulls_ordering", "expr"),
  InferClause: shape("conname", "indexElems whereClause"),
  InsertStmt: shape("override", "cols selectStmt", {
    relation: "RangeVar",
    onConflictClause: "OnConflictClause",
    returningClause: "ReturningClause",
    withClause: "WithClause"
  }),
  Integer: shape("ival"),
  JoinExpr: shape("jointype isNatural", "larg rarg usingClause quals", { alias: "Alias", join_using_alias: "Alias" }),
  List: shape("", "items"),
  MinMaxExpr: shape("op", "args"),
  MultiAssignRef: shape("colno ncolumns", "source"),
  NamedArgExpr: shape("name argnumber", "arg"),
  NullTest: shape("nulltesttype argisrow", "arg"),
  OnConflictClause: shape("action", "targetList whereClause", { infer: "InferClause" }),
  ParamRef: shape("number"),
  RangeFunction: shape("lateral ordinality is_rowsfrom", "functions", { alias: "Alias" }),
  RangeSubselect: shape("lateral", "subquery", { alias: "Alias" }),
  RangeVar: shape("schemaname relname inh relpersistence", "", { alias: "Alias" }),
  ResTarget: shape("name", "indirection val"),
  ReturningClause: shape("", "exprs"),
  RowExpr: shape("row_format", "args colnames"),
  SQLValueFunction: shape("op typmod"),
  SelectStmt: shape(
    "limitOption all op groupDistinct",
    "distinctClause targetList fromClause whereClause groupClause havingClause windowClause valuesLists sortClause limitOffset limitCount",
    { larg: "SelectStmt", rarg: "SelectStmt", withClause: "WithClause" }
  ),
  SetToDefault: shape(""),
  SortBy: shape("sortby_dir sortby_nulls", "node"),
  String: shape("sval"),
  SubLink: shape("subLinkType subLinkId", "testexpr operName subselect"),
  TypeCast: shape("", "arg", { typeName: "TypeName" }),
  TypeName: shape("typemod setof", "names typmods arrayBounds"),
  UpdateStmt: shape("", "targetList whereClause fromClause", {
    relation: "RangeVar",
    returningClause: "ReturningClause",
    withClause: "WithClause"
  }),
  WindowDef: shape("name refname frameOptions", "partitionClause orderClause startOffset endOffset")
}

/** The settings that the clean path sets as any other does. */
export const cleanSettings: ReadonlyArray<string> = ["request.jwt.claims", "request.jwt.sub", "role"]

/** The operators of expressions whose syntax names none. */
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
  const path = treesIn(parts)
  const last = textOf(path.at(-1))
  if (last === undefined) return undefined
  names[kind].add(last)
  if (path.length === 1) names.bare[kind].add(last)
  return last
}

/** Adds names behind a dot: of a column, or of a function of one argument, which PostgreSQL calls if there is no such column. */
const addAttributes = (names: Names, path: ReadonlyArray<Tree>) => {
  for (const step of path) {
    const name = textOf(step)
    if (name !== undefined) names.columns.add(name)
  }
}

/** Whether a call of current_setting names a setting that is the same on every path. */
const readsCleanSetting = (args: Tree | undefined): boolean => {
  const [first] = treesIn(args)
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

/** Adds the names of a node; false if it is not clean. Its fields are visited separately. */
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
    addAttributes(names, treesIn(fields).slice(1))
    return true
  },
  A_Indirection: (names, { indirection }) => {
    addAttributes(names, treesIn(indirection))
    return true
  },
  TypeName: (names, node) => add(names, "types", node["names"]) !== undefined,
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
  // CURRENT_SCHEMA depends on the search path; the others are the caller's or the moment's, as CURRENT_USER is.
  SQLValueFunction: (names, { op }) => {
    names.functions.add("current_user")
    return op !== "SVFOP_CURRENT_SCHEMA"
  }
}

const withFields = words("ctes recursive location")

/**
 * Visits the queries of WITH, each of which can refer to those before it, or to all if it is recursive. Undefined if
 * not clean.
 */
const withsOf = (names: Names, clause: Tree, outer: Withs): Withs | undefined => {
  if (!isNode(clause) || !Object.keys(clause).every((field) => withFields.has(field))) return undefined
  const queries = treesIn(clause["ctes"]).map((query) => (isNode(query) ? query["CommonTableExpr"] : undefined))
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

const visitNode = (names: Names, kind: string, node: Tree, outer: Withs): boolean => {
  const known = Object.hasOwn(syntax, kind) ? syntax[kind] : undefined
  if (known === undefined || !isNode(node)) return false
  const withs = "withClause" in node ? withsOf(names, node["withClause"] ?? null, outer) : outer
  if (withs === undefined) return false
  const visitor = visitors[kind]
  if (visitor !== undefined && !visitor(names, node, withs)) return false
  return Object.entries(node).every(([field, value]) => {
    if (known.values.has(field)) return typeof value !== "object"
    if (known.nodes.has(field)) return visit(names, value, withs)
    const fixed = known.kinds[field]
    // The queries of WITH have been visited, each with the names that it can refer to.
    return fixed === "WithClause" || (fixed !== undefined && visitNode(names, fixed, value, withs))
  })
}

/** Visits a list, a node with its kind around it, or nothing. */
const visit = (names: Names, tree: Tree, withs: Withs): boolean => {
  if (Array.isArray(tree)) return tree.every((item) => visit(names, item, withs))
  return isNode(tree) && Object.entries(tree).every(([kind, node]) => visitNode(names, kind, node, withs))
}

const known = ["SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt"]

/** Adds the names of statements that read or write rows. False unless all of them are proven to be clean. */
export const addSqlNames = (names: Names, parsed: Tree): boolean => {
  const statements = isNode(parsed) ? treesIn(parsed["stmts"]) : []
  return (
    statements.length > 0 &&
    statements.every((statement) => {
      const node = isNode(statement) ? statement["stmt"] : undefined
      return isNode(node) && known.some((kind) => kind in node) && visit(names, node, new Set())
    })
  )
}
