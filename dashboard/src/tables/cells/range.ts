export interface GridPlace {
  readonly row: number
  readonly column: number
}

/** A rectangle of cells, with its last row and column. */
export interface CellRange {
  readonly top: number
  readonly bottom: number
  readonly left: number
  readonly right: number
}

export const rangeOf = (one: GridPlace, other: GridPlace): CellRange => ({
  top: Math.min(one.row, other.row),
  bottom: Math.max(one.row, other.row),
  left: Math.min(one.column, other.column),
  right: Math.max(one.column, other.column)
})

export const heightOf = ({ bottom, top }: CellRange) => bottom - top + 1
export const widthOf = ({ left, right }: CellRange) => right - left + 1
export const isOneCell = (range: CellRange) => heightOf(range) === 1 && widthOf(range) === 1

/** The range with what lies between it and a cell, in the direction in which the cell is farther away. */
export const stretched = (range: CellRange, { column, row }: GridPlace): CellRange => {
  const down = row - range.bottom
  const right = column - range.right
  if (down <= 0 && right <= 0) return range
  return down >= right ? { ...range, bottom: row } : { ...range, right: column }
}

/** What a longer range has more than its beginning. */
export const beyond = (source: CellRange, { bottom, right }: CellRange): CellRange =>
  bottom > source.bottom ? { ...source, top: source.bottom + 1, bottom } : { ...source, left: source.right + 1, right }
