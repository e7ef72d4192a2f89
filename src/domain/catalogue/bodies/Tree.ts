/** A parse tree in JSON. */
export type Tree = null | boolean | number | string | ReadonlyArray<Tree> | TreeNode
export interface TreeNode {
  readonly [field: string]: Tree
}

export const isNode = (tree: Tree | undefined): tree is TreeNode =>
  typeof tree === "object" && tree !== null && !Array.isArray(tree)

export const treesIn = (tree: Tree | undefined): ReadonlyArray<Tree> => (Array.isArray(tree) ? tree : [])

export const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))
