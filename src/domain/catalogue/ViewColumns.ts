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
 * The columns of other relations that a view selects unchanged, by the view's own column number. `tree` is the view's
 * query in PostgreSQL's internal format (pg_rewrite.ev_action: nodes in braces, `\` as escape character): the target
 * entries of the outermost query name their relation and column. The relation may be a view too.
 */
export const viewColumns = (tree: string): ReadonlyMap<number, ColumnOf> => {
  const found = new Map<number, ColumnOf>()
  let depth = 0
  let entry = -1
  // Text of the entry itself: nested nodes may contain the same words.
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
