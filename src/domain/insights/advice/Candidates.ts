import { isNode, type Tree, type TreeNode, treesIn } from "../../catalogue/bodies/Names.ts"

/** A table as a statement names it. */
export interface NamedTable {
  /** Null: the search path decides. */
  readonly schema: string | null
  readonly name: string
}

/** What is known of a table that a statement names. */
export interface TableFacts {
  readonly schema: string
  readonly name: string
  /** Of the columns that a B-tree can order. */
  readonly columns: ReadonlyArray<ColumnFacts>
  /** Columns of its B-tree indexes over all rows, in order. */
  readonly indexes: ReadonlyArray<ReadonlyArray<string>>
}

interface ColumnFacts {
  readonly name: string
  /** How many different values there are, as far as the statistics say; 0: unknown. */
  readonly distinct: number
}

/** An index that may help a statement. */
export interface Candidate {
  readonly schema: string
  readonly table: string
  readonly columns: ReadonlyArray<string>
  /** Of these, those that the statement compares for equality. */
  readonly equal: ReadonlyArray<string>
  /** Whether the order of the index is downwards, as that of the result. */
  readonly descending: boolean
}

/** Columns of an index at most, and candidates of a statement. */
const [maxColumns, maxCandidates] = [4, 8]

/** The only statement of a parsed text, if it reads, updates or deletes rows; else what it is. */
export const adviceStatement = (tree: Tree): TreeNode | string => {
  const [only, ...others] = treesIn(isNode(tree) ? tree["stmts"] : undefined)
  const statement = isNode(only) ? only["stmt"] : undefined
  if (others.length > 0 || !isNode(statement)) return "Several statements"
  const [kind = ""] = Object.keys(statement)
  const inside = statement[kind]
  // SELECT INTO makes a table.
  if (kind === "SelectStmt" && isNode(inside) && inside["intoClause"] === undefined) return statement
  if (kind === "UpdateStmt" || kind === "DeleteStmt") return statement
  return kind === "SelectStmt" ? "SELECT INTO" : kind.replace(/Stmt$/, "")
}

const textOf = (tree: Tree | undefined) => (typeof tree === "string" ? tree : "")
const child = (node: TreeNode, name: string): TreeNode | undefined => {
  const found = node[name]
  return isNode(found) ? found : undefined
}

const fieldsOf = (node: Tree | undefined): ReadonlyArray<string> => {
  const reference = isNode(node) ? child(node, "ColumnRef") : undefined
  return treesIn(reference?.["fields"]).map((field) => (isNode(field) ? textOf(child(field, "String")?.["sval"]) : ""))
}

/** Every node of a tree. */
const nodesOf = (tree: Tree | undefined): ReadonlyArray<TreeNode> => {
  const found: Array<TreeNode> = []
  const left: Array<Tree | undefined> = [tree]
  while (left.length > 0) {
    const next = left.pop()
    if (isNode(next)) {
      found.push(next)
      left.push(...Object.values(next))
    } else left.push(...treesIn(next))
  }
  return found
}

const namedTable = (range: TreeNode): NamedTable => ({
  schema: typeof range["schemaname"] === "string" ? range["schemaname"] : null,
  name: textOf(range["relname"])
})

/** The highest number of a parameter, such as 3 for `$3`. */
export const parametersOf = (statement: Tree): number =>
  nodesOf(statement).reduce((most, node) => Math.max(most, Number(child(node, "ParamRef")?.["number"] ?? 0)), 0)

/** All tables that a statement names; some may be names of its own, of a WITH. */
export const tablesOf = (statement: Tree): ReadonlyArray<NamedTable> => {
  const found = new Map<string, NamedTable>()
  for (const node of nodesOf(statement)) {
    for (const range of [child(node, "RangeVar"), child(node, "relation")]) {
      if (range === undefined || textOf(range["relname"]) === "") continue
      const table = namedTable(range)
      found.set(JSON.stringify([table.schema, table.name]), table)
    }
  }
  return Array.from(found.values())
}

/** A table in one part of a statement, and how its columns are used there. */
interface Used {
  readonly table: TableFacts
  readonly equal: Set<string>
  readonly joined: Set<string>
  readonly ranged: Set<string>
  ordered: ReadonlyArray<string>
  descending: boolean
}

type Scope = Map<string, Used | undefined>

/** The tables that a FROM clause names itself, by the names that columns have them by. */
const enter = (scope: Scope, item: Tree | undefined, known: (table: NamedTable) => TableFacts | undefined): void => {
  if (!isNode(item)) return
  const range = child(item, "RangeVar") ?? (textOf(item["relname"]) === "" ? undefined : item)
  if (range !== undefined) {
    const alias = child(range, "alias")
    const table = known(namedTable(range))
    scope.set(
      textOf(alias?.["aliasname"]) || textOf(range["relname"]),
      table && {
        table,
        equal: new Set(),
        joined: new Set(),
        ranged: new Set(),
        ordered: [],
        descending: false
      }
    )
  }
  const join = child(item, "JoinExpr")
  if (join !== undefined) for (const side of ["larg", "rarg"]) enter(scope, join[side], known)
  const other = child(item, "RangeSubselect") ?? child(item, "RangeFunction")
  if (other !== undefined) scope.set(textOf(child(other, "alias")?.["aliasname"]), undefined)
}

/** The conditions that all must hold. */
const conditionsOf = (tree: Tree | undefined): ReadonlyArray<Tree> => {
  const every = isNode(tree) ? child(tree, "BoolExpr") : undefined
  if (every?.["boolop"] === "AND_EXPR") return treesIn(every["args"]).flatMap(conditionsOf)
  return tree === undefined ? [] : [tree]
}

const joinConditions = (item: Tree | undefined): ReadonlyArray<Tree> => {
  const join = isNode(item) ? child(item, "JoinExpr") : undefined
  if (join === undefined) return []
  return [...conditionsOf(join["quals"]), ...joinConditions(join["larg"]), ...joinConditions(join["rarg"])]
}

interface Column {
  readonly used: Used
  readonly name: string
}

const columnIn = (scope: Scope, tree: Tree | undefined): Column | undefined => {
  const fields = fieldsOf(tree)
  const name = fields.at(-1) ?? ""
  const has = (used: Used | undefined): used is Used =>
    used !== undefined && used.table.columns.some((column) => column.name === name)
  if (fields.length > 1) {
    const used = scope.get(fields.at(-2) ?? "")
    return has(used) ? { used, name } : undefined
  }
  // Without the name of a table, it must be of only one, and every table must be known.
  const all = Array.from(scope.values())
  const [used, ...others] = all.filter(has)
  return used === undefined || others.length > 0 || all.includes(undefined) ? undefined : { used, name }
}

/** Whether a value can be known before the rows of the table are read. */
const isKnownBefore = (scope: Scope, tree: Tree | undefined, of: Used) =>
  !nodesOf(tree).some((node) => {
    if (node["ColumnRef"] === undefined) return false
    const fields = fieldsOf(node)
    return fields.length > 1 ? scope.get(fields.at(-2) ?? "") === of : columnIn(scope, node)?.used === of
  })

const ranges = new Set(["<", "<=", ">", ">="])

const note = (scope: Scope, condition: Tree) => {
  if (!isNode(condition)) return
  const isNull = child(condition, "NullTest")
  if (isNull?.["nulltesttype"] === "IS_NULL") {
    const column = columnIn(scope, isNull["arg"])
    column?.used.equal.add(column.name)
  }
  const expression = child(condition, "A_Expr")
  if (expression === undefined) return
  const kind = textOf(expression["kind"])
  const [first] = treesIn(expression["name"])
  const operator = isNode(first) ? textOf(child(first, "String")?.["sval"]) : ""
  const { lexpr, rexpr } = expression
  const [left, right] = [columnIn(scope, lexpr), columnIn(scope, rexpr)]
  const one = (column: Column | undefined, other: Tree | undefined, otherColumn: Column | undefined) => {
    if (column === undefined || !isKnownBefore(scope, other, column.used)) return
    const { name, used } = column
    if (kind === "AEXPR_BETWEEN" || (kind === "AEXPR_OP" && ranges.has(operator))) used.ranged.add(name)
    else if (operator === "=" && ["AEXPR_OP", "AEXPR_OP_ANY", "AEXPR_IN"].includes(kind))
      (otherColumn === undefined ? used.equal : used.joined).add(name)
  }
  one(left, rexpr, right)
  if (kind === "AEXPR_OP") one(right, lexpr, left)
}

const noteOrder = (scope: Scope, statement: TreeNode) => {
  // Without a limit, all rows are read anyway.
  if (statement["limitCount"] === undefined) return
  const sorts = treesIn(statement["sortClause"])
    .map((sort) => (isNode(sort) ? child(sort, "SortBy") : undefined))
    .filter((sort) => sort !== undefined)
  const columns = sorts.map((sort) => columnIn(scope, sort["node"]))
  const down = sorts.map((sort) => sort["sortby_dir"] === "SORTBY_DESC")
  const [first] = columns
  if (first === undefined || columns.some((column) => column?.used !== first.used) || new Set(down).size > 1) return
  // An order of NULLs that is not the direction's needs an index of its own.
  if (sorts.some((sort) => (sort["sortby_nulls"] ?? "SORTBY_NULLS_DEFAULT") !== "SORTBY_NULLS_DEFAULT")) return
  first.used.ordered = columns.flatMap((column) => column?.name ?? [])
  first.used.descending = down[0] === true
}

/** How the tables of each part of a statement are used. */
const usesOf = (
  tree: Tree | undefined,
  known: (table: NamedTable) => TableFacts | undefined,
  outer: ReadonlySet<string>
): ReadonlyArray<Used> => {
  const all: Array<Used> = []
  const visit = (inside: Tree | undefined, names: ReadonlySet<string>): void => {
    if (!isNode(inside)) {
      for (const one of treesIn(inside)) visit(one, names)
      return
    }
    for (const [kind, part] of Object.entries(inside)) {
      if (!isNode(part) || !["SelectStmt", "UpdateStmt", "DeleteStmt"].includes(kind)) {
        visit(part, names)
        continue
      }
      // A name of WITH hides the table of that name.
      const own = treesIn(child(part, "withClause")?.["ctes"]).flatMap((cte) =>
        isNode(cte) ? textOf(child(cte, "CommonTableExpr")?.["ctename"]) : []
      )
      const hidden = new Set([...names, ...own])
      const lookUp = (table: NamedTable) => (table.schema === null && hidden.has(table.name) ? undefined : known(table))
      const from = [...treesIn(part["fromClause"]), ...treesIn(part["usingClause"])]
      const scope: Scope = new Map()
      for (const item of [part["relation"], ...from]) enter(scope, item, lookUp)
      for (const condition of [...conditionsOf(part["whereClause"]), ...from.flatMap(joinConditions)])
        note(scope, condition)
      noteOrder(scope, part)
      all.push(...Array.from(scope.values()).filter((used) => used !== undefined))
      visit(Object.values(part), hidden)
    }
  }
  visit(tree, outer)
  return all
}

const begins = (index: ReadonlyArray<string>, columns: ReadonlyArray<string>, equal: ReadonlyArray<string>) => {
  const [first, rest] = [index.slice(0, equal.length), index.slice(equal.length)]
  return (
    equal.every((name) => first.includes(name)) && columns.slice(equal.length).every((name, at) => rest[at] === name)
  )
}

/** Indexes that may help a statement and that are not there, the likeliest first. */
export const candidatesOf = (
  statement: Tree,
  known: (table: NamedTable) => TableFacts | undefined
): ReadonlyArray<Candidate> => {
  const found = new Map<string, Candidate>()
  const add = (used: Used, equal: ReadonlyArray<string>, rest: ReadonlyArray<string>, descending = false) => {
    const { indexes, name: table, schema } = used.table
    const columns = Array.from(new Set([...equal, ...rest])).slice(0, maxColumns)
    if (columns.length === 0) return
    const compared = equal.filter((name) => columns.includes(name))
    if (indexes.some((index) => begins(index, columns, compared))) return
    const key = JSON.stringify([schema, table, columns, descending])
    if (!found.has(key)) found.set(key, { schema, table, columns, equal: compared, descending })
  }
  for (const used of usesOf(statement, known, new Set())) {
    const distinct = (name: string) => used.table.columns.find((column) => column.name === name)?.distinct ?? 0
    const most = (names: Iterable<string>) => Array.from(names).toSorted((a, b) => distinct(b) - distinct(a))
    const equal = most(used.equal)
    const ranged = most(used.ranged).slice(0, 1)
    add(used, equal, ranged)
    if (used.ordered.length > 0) add(used, equal, used.ordered, used.descending)
    for (const joined of most(used.joined)) add(used, [joined, ...equal.filter((name) => name !== joined)], [])
    if (equal.length > 1) add(used, equal.slice(0, 1), [])
    if (equal.length > 0 && ranged.length > 0) add(used, [], ranged)
  }
  return Array.from(found.values()).slice(0, maxCandidates)
}
