import { Result } from "effect"
import { InvalidRequest } from "../../errors.ts"
import {
  type AtPath,
  type Condition,
  type Embed,
  type OrderTerm,
  type RowQuery,
  type Selected
} from "../parse/Query.ts"

/** The query as a tree of embeds, each with the clauses of its path. */
export interface RowTree {
  /** Undefined for the table itself. */
  readonly embed: Embed | undefined
  /** The name that filters and orders use. */
  readonly name: string
  readonly select: ReadonlyArray<Exclude<Selected, Embed>>
  readonly children: ReadonlyArray<RowTree>
  readonly filters: Array<Condition>
  order: ReadonlyArray<OrderTerm>
  limit: string | undefined
  offset: string | undefined
}

const treeOf = (select: ReadonlyArray<Selected>, embed: Embed | undefined, name: string): RowTree => ({
  embed,
  name,
  select: select.filter((item) => item._tag !== "Embed"),
  children: select
    .filter((item) => item._tag === "Embed")
    .map((item) => treeOf(item.select, item, item.alias ?? item.relation)),
  filters: [],
  order: [],
  limit: undefined,
  offset: undefined
})

/** Embeds are found by alias and by relation name; the first match applies. */
const childOf = ({ children }: RowTree, name: string) =>
  children.find((child) => child.name === name || child.embed?.relation === name)

export const notEmbedded = (name: string) =>
  new InvalidRequest({
    error: `'${name}' is not an embedded resource in this request`,
    code: "PGRST108",
    hint: `Verify that '${name}' is included in the 'select' query parameter.`
  })

/** `ownFilters`: whether to keep the filters of the table itself. A write has already applied them. */
export const rowTree = (
  query: RowQuery,
  table: string,
  ownFilters: boolean
): Result.Result<RowTree, InvalidRequest> => {
  const root = treeOf(query.select, undefined, table)
  let missing: string | undefined
  const place = <A>(all: ReadonlyArray<AtPath<A>>, put: (tree: RowTree, value: A) => void) => {
    for (const { path, value } of all) {
      let tree: RowTree | undefined = root
      for (const name of path) {
        tree = childOf(tree, name)
        if (tree === undefined) {
          missing ??= name
          break
        }
      }
      if (tree !== undefined) put(tree, value)
    }
  }
  const filters = ownFilters ? query.filters : query.filters.filter(({ path }) => path.length > 0)
  place(filters, (tree, value) => tree.filters.push(value))
  place(query.order, (tree, value) => {
    tree.order = value
  })
  place(query.limit, (tree, value) => {
    tree.limit = value
  })
  place(query.offset, (tree, value) => {
    tree.offset = value
  })
  return missing === undefined ? Result.succeed(root) : Result.fail(notEmbedded(missing))
}
