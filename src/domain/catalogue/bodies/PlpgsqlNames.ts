import { type BodyParser, type Names } from "./Names.ts"
import { addSqlNames } from "./SqlNames.ts"
import { isNode, listOf, type Tree, type TreeNode, words } from "./Tree.ts"

/**
 * Nodes and fields of a compiled function whose only effects are on its own variables, or errors. Not here: EXECUTE,
 * exception handlers, cursors, FOREACH, transaction control, GET DIAGNOSTICS.
 */
const nodes = words(`
  PLpgSQL_case_when PLpgSQL_expr PLpgSQL_function PLpgSQL_if_elsif PLpgSQL_raise_option PLpgSQL_rec PLpgSQL_recfield
  PLpgSQL_row PLpgSQL_stmt_assign PLpgSQL_stmt_block PLpgSQL_stmt_case PLpgSQL_stmt_execsql PLpgSQL_stmt_exit
  PLpgSQL_stmt_fori PLpgSQL_stmt_fors PLpgSQL_stmt_if PLpgSQL_stmt_loop PLpgSQL_stmt_perform PLpgSQL_stmt_raise
  PLpgSQL_stmt_return PLpgSQL_stmt_return_next PLpgSQL_stmt_return_query PLpgSQL_stmt_while PLpgSQL_type PLpgSQL_var`)
const fields = words(`
  action body case_when_list cond condname datatype datums default_val dno elog_level else_body else_stmts elsif_list expr
  fieldname fields have_else initvarnos into is_exit isconst label lineno lower message n_initvars name notnull opt_type
  options out_param_varno params parseMode query recparentno refname result retvarno reverse sqlstmt step stmts strict
  t_expr t_varno target then_body typname upper var varno`)

/** `RawParseMode` of PostgreSQL: a statement, an expression, an assignment to a variable or a field of one. */
const statementMode = 0
const expressionMode = 2
const assignmentModes = new Set<Tree>([3, 4, 5])

const assignment = /^\s*[\w$"]+(?:\s*\.\s*[\w$"]+)*\s*:?=/

/** The text of an expression as a SELECT statement, which is how PL/pgSQL parses it. */
const statementOf = ({ parseMode = statementMode, query }: TreeNode): string | undefined => {
  if (typeof query !== "string") return undefined
  if (parseMode === statementMode) return query
  if (parseMode === expressionMode) return `select ${query}`
  if (!assignmentModes.has(parseMode) || !assignment.test(query)) return undefined
  return `select ${query.replace(assignment, "")}`
}

/** A type as text, without %TYPE and %ROWTYPE. */
const type = /^[\w$."()[\], ]+$/

/** Adds the type of a variable, which is parsed as that of a cast. */
const addType = (names: Names, parser: BodyParser, { typname }: TreeNode): boolean =>
  typeof typname === "string" &&
  (typname === "record" || (type.test(typname) && addSqlNames(names, parser.sql(`select null::${typname}`))))

const visit = (names: Names, parser: BodyParser, tree: Tree): boolean => {
  if (Array.isArray(tree)) return tree.every((item) => visit(names, parser, item))
  if (!isNode(tree)) return true
  return Object.entries(tree).every(([field, value]) => {
    if (!nodes.has(field) && !fields.has(field)) return false
    if (field === "PLpgSQL_type") return isNode(value) && addType(names, parser, value)
    if (field === "PLpgSQL_expr") {
      const statement = isNode(value) ? statementOf(value) : undefined
      return statement !== undefined && addSqlNames(names, parser.sql(statement))
    }
    return visit(names, parser, value)
  })
}

/** Adds the names of a PL/pgSQL function. False if it is, or contains, anything that is not known to be clean. */
export const addPlpgsqlNames = (names: Names, parser: BodyParser, definition: string): boolean => {
  const parsed = parser.plpgsql(definition)
  const functions = isNode(parsed) ? listOf(parsed["plpgsql_funcs"]) : []
  return functions.length === 1 && visit(names, parser, functions)
}
