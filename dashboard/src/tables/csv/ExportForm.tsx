import "./csv.css"
import { useEffect, useRef, useState } from "react"
import { Switch } from "../../ui/Field.tsx"
import { FormDialog } from "../../ui/FormDialog.tsx"
import { bytes, plural } from "../../ui/format.ts"
import { toast } from "../../ui/toast.ts"
import type { GridColumn, Relation } from "../grid/columns.ts"
import type { Blocks } from "../rows/blocks.ts"
import { save } from "../../wire/save.ts"
import { exportRows } from "./exportRows.ts"

interface ExportFormProps {
  readonly relation: Relation
  readonly blocks: Blocks
  /** Those that are shown. */
  readonly columns: ReadonlyArray<GridColumn>
  readonly onClose: () => void
}

/** The rows that the page shows, as a file. */
export const ExportForm = ({ blocks, columns, onClose, relation }: ExportFormProps) => {
  const [forSpreadsheets, setForSpreadsheets] = useState(false)
  const [arrived, setArrived] = useState(0)
  const running = useRef<AbortController>(null)
  useEffect(() => () => running.current?.abort(), [])
  const run = async () => {
    const controller = new AbortController()
    running.current = controller
    setArrived(0)
    const file = await exportRows({
      source: blocks.source,
      columns: columns.map(({ name }) => name),
      forSpreadsheets,
      signal: controller.signal,
      onProgress: setArrived
    })
    save(file, `${relation.name}.csv`)
    toast(`${relation.name}.csv, ${bytes(file.size)}`)
    onClose()
  }
  const filters = blocks.source.filters.length
  return (
    <FormDialog
      title={`Export ${relation.name} as CSV`}
      verb="Export"
      failed="No file was made"
      disabled={columns.length === 0}
      run={run}
      onClose={onClose}
    >
      {(busy) => (
        <>
          <p>
            {filters === 0 ? "All rows" : `The rows that match ${plural(filters, "filter")}`}, with the{" "}
            {plural(columns.length, "column")} that {columns.length === 1 ? "is" : "are"} shown, in the order of the
            page.
          </p>
          <Switch checked={forSpreadsheets} onChange={setForSpreadsheets}>
            For a spreadsheet program
          </Switch>
          <p className="hint">
            {forSpreadsheets
              ? "Cells that begin like a formula (= + - @) get an apostrophe, so that opening the file runs none."
              : "Cells are exactly as in the database, so that the file can be imported again."}
          </p>
          {busy ? (
            <div className="progress">
              <progress aria-label="Reading" /> {bytes(arrived)}
            </div>
          ) : null}
        </>
      )}
    </FormDialog>
  )
}
