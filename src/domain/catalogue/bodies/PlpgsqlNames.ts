import { quoteLiteral } from "../../sql/Names.ts"
import { matchAt, skipBlock, skipDollar, skipEscaped, skipLine, skipQuoted } from "../../sql/Statements.ts"
import { type BodyParser, type Names, type Tree, type TreeNode, isNode, treesIn, words } from "./Names.ts"
import { addSqlNames } from "./SqlNames.ts"

const word = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y
const number = /[0-9][0-9A-Za-z_.]*/y
const operator = /(?:(?!--|\/\*)[+\-*/<>=~!@#%^&|`?])+/y
const quoted = /"(?:[^"]|"")*"/y
const dollarTag = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y

/** PostgreSQL folds only ASCII letters of names in UTF8. */
const folded = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

/** The words and operators of SQL or PL/pgSQL, each as often as it stands there, outside of comments and strings. */
interface Lexemes {
  readonly names: ReadonlyArray<string>
  readonly operators: ReadonlyArray<string>
}

/**
 * Reads text as PostgreSQL's scanner does with `standard_conforming_strings` on. Names are folded and without quotes.
 * Undefined for a name in Unicode escapes, one longer than PostgreSQL keeps, and text that ends in a comment or name.
 */
const lexemesOf = (text: string): Lexemes | undefined => {
  const names: Array<string> = []
  const operators: Array<string> = []
  for (let at = 0; at < text.length;) {
    if (text.startsWith("--", at)) at = skipLine(text, at)
    else if (text.startsWith("/*", at)) {
      at = skipBlock(text, at)
      if (at < 0) return undefined
    } else if (text[at] === "'") at = skipQuoted(text, at + 1, "'")
    else if (text[at] === '"') {
      const name = matchAt(quoted, text, at)
      if (name === "" || Buffer.byteLength(name) > 63) return undefined
      names.push(name.slice(1, -1).replaceAll('""', '"'))
      at += name.length
    } else {
      const name = matchAt(word, text, at)
      const tag = name === "" ? matchAt(dollarTag, text, at) : ""
      const sign = name === "" && tag === "" ? matchAt(operator, text, at) : ""
      if (name !== "") {
        at += name.length
        if (/^e$/i.test(name) && text[at] === "'") at = skipEscaped(text, at + 1)
        else if (/^u$/i.test(name) && /^&["']/.test(text.slice(at, at + 2))) return undefined
        else if (Buffer.byteLength(name) > 63) return undefined
        else names.push(folded(name))
      } else if (tag !== "") at = skipDollar(text, at, tag)
      else if (sign !== "") {
        operators.push(sign)
        at += sign.length
      } else at += matchAt(number, text, at).length || 1
    }
  }
  return { names, operators }
}

const shape = (values: string, nodes = "") => ({ values: words(`lineno ${values}`), nodes: words(nodes) })

/**
 * The nodes of a compiled function whose only effects are on its own variables, or errors, each with its fields: values,
 * and what is visited. A node or field that is not here is user code: EXECUTE, exception handlers, cursors, FOREACH,
 * transaction control, GET DIAGNOSTICS.
 */
const syntax: Readonly<Record<string, ReturnType<typeof shape>>> = {
  PLpgSQL_case_when: shape("", "expr stmts"),
  PLpgSQL_function: shape("out_param_varno", "datums action"),
  PLpgSQL_if_elsif: shape("", "cond stmts"),
  PLpgSQL_raise_option: shape("opt_type", "expr"),
  PLpgSQL_rec: shape("refname dno", "datatype"),
  PLpgSQL_recfield: shape("fieldname recparentno"),
  // The variables of an INTO.
  PLpgSQL_row: shape("refname fields"),
  PLpgSQL_stmt_assign: shape("varno", "expr"),
  PLpgSQL_stmt_block: shape("label n_initvars initvarnos", "body"),
  PLpgSQL_stmt_case: shape("t_varno have_else", "t_expr case_when_list else_stmts"),
  PLpgSQL_stmt_execsql: shape("into strict", "sqlstmt target"),
  PLpgSQL_stmt_exit: shape("is_exit label", "cond"),
  PLpgSQL_stmt_fori: shape("label reverse", "var lower upper step body"),
  PLpgSQL_stmt_fors: shape("label", "var query body"),
  PLpgSQL_stmt_if: shape("", "cond then_body elsif_list else_body"),
  PLpgSQL_stmt_loop: shape("label", "body"),
  PLpgSQL_stmt_perform: shape("", "expr"),
  PLpgSQL_stmt_raise: shape("elog_level condname message", "params options"),
  PLpgSQL_stmt_return: shape("retvarno", "expr"),
  PLpgSQL_stmt_return_next: shape("retvarno", "expr"),
  PLpgSQL_stmt_return_query: shape("", "query"),
  PLpgSQL_stmt_while: shape("label", "cond body"),
  PLpgSQL_var: shape("refname isconst notnull", "datatype default_val")
}

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

/** The body of a function, and what has been read of it. */
interface Reading {
  readonly names: Names
  readonly parser: BodyParser
  /** The texts that were read. */
  readonly texts: Array<string>
}

/** Adds the type of a variable, which is parsed as that of a cast. */
const addType = ({ names, parser }: Reading, { typname }: TreeNode): boolean =>
  typeof typname === "string" &&
  (typname === "record" || (type.test(typname) && addSqlNames(names, parser.sql(`select null::${typname}`))))

const addExpression = ({ names, parser, texts }: Reading, node: TreeNode): boolean => {
  const statement = statementOf(node)
  if (statement === undefined) return false
  texts.push(String(node["query"]))
  return addSqlNames(names, parser.sql(statement))
}

const visitNode = (reading: Reading, kind: string, node: Tree): boolean => {
  if (!isNode(node)) return false
  if (kind === "PLpgSQL_type") return addType(reading, node)
  if (kind === "PLpgSQL_expr") return addExpression(reading, node)
  const known = Object.hasOwn(syntax, kind) ? syntax[kind] : undefined
  return (
    known !== undefined &&
    Object.entries(node).every(
      ([field, value]) => known.values.has(field) || (known.nodes.has(field) && visit(reading, value))
    )
  )
}

const visit = (reading: Reading, tree: Tree): boolean =>
  Array.isArray(tree)
    ? tree.every((item) => visit(reading, item))
    : isNode(tree) && Object.entries(tree).every(([kind, node]) => visitNode(reading, kind, node))

/**
 * The words of declarations that were read, as text: names and types of variables that have a line, which arguments and
 * FOUND lack. The type of a loop's variable, `integer`, does not stand in the body.
 */
const declaredIn = (datums: Tree | undefined): ReadonlyArray<string> =>
  treesIn(datums).flatMap((datum) => {
    const node = isNode(datum) ? (datum["PLpgSQL_var"] ?? datum["PLpgSQL_rec"]) : undefined
    if (!isNode(node) || node["lineno"] === undefined) return []
    const { datatype, refname } = node
    const type = isNode(datatype) ? datatype["PLpgSQL_type"] : undefined
    const typname = isNode(type) ? type["typname"] : undefined
    const name = `"${String(refname).replaceAll('"', '""')}"`
    return typname === "integer" ? [name] : [name, String(typname)]
  })

/** The name of the value that CASE compares, in the texts of its expressions. */
const caseVariable = /^__Case__Variable_/i

const without = (all: ReadonlyArray<string>, some: ReadonlyArray<string>) => {
  const counts = new Map<string, number>()
  for (const one of some) counts.set(one, (counts.get(one) ?? 0) + 1)
  return all.filter((one) => {
    const left = counts.get(one) ?? 0
    counts.set(one, left - 1)
    return left <= 0
  })
}

/**
 * Adds the words that stand in the body and in nothing that was read. The compiled function lacks some of its text, such
 * as the default of a variable of a row type, so what it lacks may name anything.
 */
const addUnread = ({ names, texts }: Reading, source: string): boolean => {
  const all = lexemesOf(source)
  const read = texts.map(lexemesOf)
  if (all === undefined || !read.every((some): some is Lexemes => some !== undefined)) return false
  if (all.names.some((name) => caseVariable.test(name))) return false
  for (const name of without(
    all.names,
    read.flatMap((some) => some.names)
  ))
    names.unread.add(name)
  for (const operator of without(
    all.operators,
    read.flatMap((some) => some.operators)
  )) {
    // PostgreSQL takes a sign behind an operator for the sign of a number.
    for (let end = operator.length; end > 0; end--) names.operators.add(operator.slice(0, end))
  }
  return true
}

/** Adds the names of a PL/pgSQL function. False unless all of it is proven to be clean. */
export const addPlpgsqlNames = (names: Names, parser: BodyParser, head: string, source: string): boolean => {
  const parsed = parser.plpgsql(`${head} ${quoteLiteral(source)}`)
  const functions = isNode(parsed) ? treesIn(parsed["plpgsql_funcs"]) : []
  const [compiled] = functions
  const fn = isNode(compiled) ? compiled["PLpgSQL_function"] : undefined
  if (functions.length !== 1 || !isNode(fn)) return false
  const reading = { names, parser, texts: [...declaredIn(fn["datums"])] }
  return visit(reading, functions) && addUnread(reading, source)
}
