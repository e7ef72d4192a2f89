import { plural } from "../../ui/format.ts"
import { copy, toast, toastError } from "../../ui/toast.ts"
import { type GridColumn, isMade } from "../grid/columns.ts"
import { valueShown } from "../grid/values.ts"
import type { CellChange } from "../rows/edits.ts"
import { freshRow, isCut, isFresh, isWhole, type Row } from "../rows/identity.ts"
import { formatted } from "./formats.ts"
import { cellChange } from "./given.ts"
import { type CellRange, heightOf, widthOf } from "./range.ts"
import { parseTsv, tsvOf } from "./tsv.ts"
import type { CellCommands, CellsOptions } from "./useCells.ts"

/** Cells that are copied or changed at once. */
const most = 20_000

/** What was copied last: where its text has nothing, there may have been NULL or an empty text. */
let copied: { readonly text: string; readonly cells: ReadonlyArray<ReadonlyArray<string | null>> } | undefined

const textOf = (value: unknown, { type }: GridColumn) =>
  value === null ? null : value === undefined ? "" : valueShown(value, type)

/** What is done with ranges of cells. Values and rows that are not here are read first. */
export const cellCommands = (options: CellsOptions): CellCommands => {
  const { blocks, columns, editOf, fresh, keyed, onRemove, onStage, readOnly } = options

  const rowsOf = async ({ bottom, top }: CellRange): Promise<ReadonlyArray<Row>> => {
    const stored = await blocks.rowsIn(top, bottom + 1)
    const { length } = blocks
    return [...stored, ...fresh.slice(Math.max(0, top - length), Math.max(0, bottom + 1 - length))]
  }
  /** As they are stored, as far as it is needed: all of a row without a key, and the values of some columns. */
  const wholes = async (rows: ReadonlyArray<Row>, of: ReadonlyArray<GridColumn>, all: boolean) => {
    const found: Array<Row> = []
    for (const row of rows) {
      const enough = isFresh(row) || isWhole(row) || (!all && !of.some(({ name }) => isCut(row, name)))
      found.push(enough ? row : await blocks.whole(row))
    }
    return found
  }
  const columnsOf = ({ left, right }: CellRange) => columns.slice(left, right + 1)
  const valueOf = (row: Row, { name }: GridColumn) => {
    const edit = editOf(row)
    const wrong = edit?.wrong?.[name]
    if (wrong !== undefined) return wrong.text
    return edit !== undefined && name in edit.values ? edit.values[name] : row[name]
  }
  const isTooMuch = (cells: number) => {
    if (cells <= most) return false
    toastError(new Error(`These are more than ${most.toLocaleString("en")} cells: take fewer at once, or SQL`))
    return true
  }
  const area = (range: CellRange) => heightOf(range) * widthOf(range)
  const run = (work: () => Promise<void>) => void work().catch(toastError)
  const change = (cells: number, work: () => Promise<void>) => {
    if (readOnly !== undefined) toast(readOnly)
    else if (!isTooMuch(cells)) run(work)
  }
  /** Stages, and says what could not be: the values of a column that the database makes. */
  const stage = (changes: ReadonlyArray<CellChange | undefined>, of: ReadonlyArray<GridColumn>) => {
    const made = of.filter(isMade)
    const staged = changes.filter((one) => one !== undefined)
    if (made.length > 0) toast(`Left alone, because the database makes it: ${made.map(({ name }) => name).join(", ")}`)
    const wrong = staged.filter((one) => "wrong" in one).length
    if (wrong > 0)
      toastError(new Error(`${plural(wrong, "cell")} can't be saved, and ${wrong === 1 ? "is" : "are"} marked`))
    onStage(staged)
  }
  /** Gives each cell of a range a text, by its place in the range. */
  const put = async (range: CellRange, text: (row: number, column: number) => string | null | undefined, more = 0) => {
    const of = columnsOf(range)
    const known = await rowsOf(range)
    if (known.length < heightOf(range))
      throw new Error("There are fewer rows than the planner had estimated: choose the cells again")
    const rows = [...(await wholes(known, of, !keyed)), ...Array.from({ length: more }, freshRow)]
    stage(
      rows.flatMap((row, y) =>
        of.map((column, x) => {
          const given = text(y, x)
          return given === undefined ? undefined : cellChange(row, column, given)
        })
      ),
      of
    )
  }

  return {
    copy: (range, format) => {
      if (isTooMuch(area(range))) return
      run(async () => {
        const of = columnsOf(range)
        const rows = await wholes(await rowsOf(range), of, false)
        const what = area(range) === 1 ? "Cell" : plural(area(range), "cell")
        if (format !== undefined) {
          const values = rows.map((row) => of.map((column) => valueOf(row, column) ?? null))
          return copy(formatted(format, options.name, of, values), what)
        }
        const cells = rows.map((row) => of.map((column) => textOf(valueOf(row, column), column)))
        const text = area(range) === 1 ? (cells[0]?.[0] ?? "") : tsvOf(cells.map((row) => row.map((one) => one ?? "")))
        copied = { text, cells }
        await copy(text, what)
      })
    },
    paste: (text, range, asRows) => {
      const own = copied !== undefined && copied.text === text.replaceAll("\r\n", "\n")
      const cells: ReadonlyArray<ReadonlyArray<string | null>> = own ? (copied?.cells ?? []) : parseTsv(text)
      const [height, width] = [cells.length, Math.max(...cells.map((row) => row.length))]
      if (height === 0 || width === 0) return
      // A range that is a multiple of what is pasted is filled with it.
      const times = asRows || heightOf(range) % height > 0 || widthOf(range) % width > 0 ? undefined : range
      const top = asRows ? blocks.length + fresh.length : range.top
      const target = times ?? {
        top,
        left: range.left,
        bottom: top + height - 1,
        right: Math.min(columns.length, range.left + width) - 1
      }
      const last = blocks.length + fresh.length - 1
      change(area(target), async () => {
        if (range.left + width > columns.length)
          toast(`${plural(range.left + width - columns.length, "column")} beyond the last one left out`)
        await put(
          { ...target, bottom: Math.min(target.bottom, last) },
          (y, x) => cells[y % height]?.[x % width],
          Math.max(0, target.bottom - Math.max(last, top - 1))
        )
      })
    },
    clear: (range) => change(area(range), () => put(range, () => "")),
    repeat: (source, target) =>
      change(area(target), async () => {
        const of = columnsOf(source)
        const from = await wholes(await rowsOf(source), of, false)
        const texts = from.map((row) => of.map((column) => textOf(valueOf(row, column), column)))
        await put(target, (y, x) => {
          const row = (target.top - source.top + y) % heightOf(source)
          return texts[row]?.[(target.left - source.left + x) % widthOf(source)]
        })
      }),
    setAll: (range, text) => change(area(range), () => put(range, () => text)),
    remove: (range) =>
      change(heightOf(range), async () => {
        const rows = await wholes(await rowsOf(range), columns, !keyed)
        // The empty row at the end is not in the table.
        onRemove(rows.filter((row) => !isFresh(row) || editOf(row) !== undefined))
      })
  }
}
