/** A column of a relation, by oid and number. */
export interface ColumnOf {
  readonly of: number
  readonly column: number
}

const numberAfter = (text: string, key: string): number => {
  const at = text.indexOf(` :${key} `)
  return at < 0 ? 0 : Number.parseInt(text.slice(at + key.length + 3), 10)
}

/**
 * Which columns of other relations a view shows as they are, by the view's own column number. `tree` is the view's
 * query as PostgreSQL keeps it (pg_rewrite.ev_action, nodes in braces, `\` before what is no syntax): the outermost
 * query's target entries name the relation and column that they are of. The relation may be a view again.
 */
export const viewColumns = (tree: string): ReadonlyMap<number, ColumnOf> => {
  const found = new Map<number, ColumnOf>()
  let depth = 0
  let entry = -1
  // What is deeper inside of an entry may have the same words, so only the entry's own are kept.
  let own = ""
  let from = 0
  for (let i = 0; i < tree.length; i++) {
    const char = tree[i]
    if (char === "\\") i++
    else if (char === "{") {
      if (entry >= 0 && depth === entry) own += tree.slice(from, i)
      depth++
      if (depth === 2 && tree.startsWith("{TARGETENTRY ", i)) {
        entry = depth
        own = ""
        from = i
      }
    } else if (char === "}") {
      if (entry >= 0 && depth === entry) {
        own += tree.slice(from, i)
        const [of, column] = [numberAfter(own, "resorigtbl"), numberAfter(own, "resorigcol")]
        if (of > 0 && column > 0 && !own.includes(" :resjunk true"))
          found.set(numberAfter(own, "resno"), { of, column })
        entry = -1
      }
      depth--
      if (depth === entry) from = i + 1
    }
  }
  return found
}
