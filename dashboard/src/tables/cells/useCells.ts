import { useRef } from "react"
import { toastError } from "../../ui/toast.ts"
import type { GridColumn } from "../grid/columns.ts"
import type { Blocks } from "../rows/blocks.ts"
import type { CellChange, RowEdit } from "../rows/edits.ts"
import type { Row } from "../rows/identity.ts"
import type { TextFormat } from "./formats.ts"
import type { CellRange } from "./range.ts"

export interface CellsOptions {
  readonly blocks: Blocks
  readonly columns: ReadonlyArray<GridColumn>
  /** The new rows, which follow the others. The last one is empty, and becomes one when something is put into it. */
  readonly fresh: ReadonlyArray<Row>
  /** `"shop"."orders"`, for the statements that are copied. */
  readonly name: string
  readonly keyed: boolean
  /** Why cells can't be edited; undefined if they can. */
  readonly readOnly: string | undefined
  readonly editOf: (row: Row) => RowEdit | undefined
  readonly onStage: (changes: ReadonlyArray<CellChange>) => void
  readonly onRemove: (rows: ReadonlyArray<Row>) => void
}

export interface CellCommands {
  readonly copy: (range: CellRange, format?: TextFormat) => void
  /** `asRows`: as new rows. */
  readonly paste: (text: string, range: CellRange, asRows: boolean) => void
  readonly clear: (range: CellRange) => void
  /** Repeats the cells of a range in another one. */
  readonly repeat: (source: CellRange, target: CellRange) => void
  /** Gives all cells the value of one. */
  readonly setAll: (range: CellRange, text: string | null) => void
  /** Stages the deletion of the rows of a range. */
  readonly remove: (range: CellRange) => void
}

/** The commands, which are loaded when the first one is used. */
export const useCells = (options: CellsOptions): CellCommands => {
  const current = useRef(options)
  current.current = options
  const use = (run: (commands: CellCommands) => void) =>
    void import("./commands.ts").then(({ cellCommands }) => run(cellCommands(current.current))).catch(toastError)
  return {
    copy: (...given) => use(({ copy }) => copy(...given)),
    paste: (...given) => use(({ paste }) => paste(...given)),
    clear: (...given) => use(({ clear }) => clear(...given)),
    repeat: (...given) => use(({ repeat }) => repeat(...given)),
    setAll: (...given) => use(({ setAll }) => setAll(...given)),
    remove: (...given) => use(({ remove }) => remove(...given))
  }
}
