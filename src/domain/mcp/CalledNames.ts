import { isNode, listOf, type Tree, type TreeNode } from "../catalogue/bodies/Tree.ts"

/** What a statement may call, by name. */
export interface CalledNames {
  readonly functions: ReadonlySet<string>
  /** Names after a dot: `t.f` calls `f(t)` if `t` has no column `f`. */
  readonly attributes: ReadonlySet<string>
}

/** The only statement of a parse tree, as the name of its node and the node. */
const onlyStatement = (tree: Tree): readonly [string, TreeNode] | undefined => {
  const [first, ...others] = isNode(tree) ? listOf(tree["stmts"]) : []
  if (first === undefined || others.length > 0 || !isNode(first) || !isNode(first["stmt"])) return undefined
  const [entry] = Object.entries(first["stmt"])
  return entry !== undefined && isNode(entry[1]) ? [entry[0], entry[1]] : undefined
}

/** The kind of a statement, such as `SelectStmt`; of an EXPLAIN, that of the explained one. Undefined unless it is one. */
export const statementKind = (tree: Tree): string | undefined => {
  const [kind, node] = onlyStatement(tree) ?? []
  if (kind !== "ExplainStmt" || node === undefined) return kind
  return isNode(node["query"]) ? Object.keys(node["query"])[0] : undefined
}

const textOf = (tree: Tree | undefined) => {
  const text = isNode(tree) && isNode(tree["String"]) ? tree["String"]["sval"] : undefined
  return typeof text === "string" ? text : undefined
}

/** Reads all names that a parse tree calls. Without recursion: the tree is as deep as the text makes it. */
export const calledNames = (tree: Tree): CalledNames => {
  const functions = new Set<string>()
  const attributes = new Set<string>()
  const open: Array<Tree> = [tree]
  const add = (to: Set<string>, names: ReadonlyArray<Tree>) => {
    for (const name of names.map(textOf)) if (name !== undefined) to.add(name)
  }
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (Array.isArray(next)) {
      for (const one of next as ReadonlyArray<Tree>) open.push(one)
      continue
    }
    if (!isNode(next)) continue
    add(functions, listOf(next["funcname"]).slice(-1))
    add(attributes, listOf(next["fields"]).slice(1))
    add(attributes, listOf(next["indirection"]))
    for (const one of Object.values(next)) open.push(one)
  }
  return { functions, attributes }
}
