import "./csv.css"
import { useEffect, useId, useRef, useState } from "react"
import { Switch } from "../../ui/Field.tsx"
import { FormDialog } from "../../ui/FormDialog.tsx"
import { bytes, count, plural } from "../../ui/format.ts"
import { toast, toastError } from "../../ui/toast.ts"
import { NoResponse } from "../../wire/ApiError.ts"
import type { GridColumn, Relation } from "../grid/columns.ts"
import { ConflictFields } from "./ConflictFields.tsx"
import { FilePreview } from "./FilePreview.tsx"
import { type Conflict, type Fault, faultOf, type Imported, importRows } from "./importRows.ts"
import { type Format, type Head, readHead, type Targets, targetsOf } from "./source.ts"

interface ImportFormProps {
  readonly relation: Relation
  readonly columns: ReadonlyArray<GridColumn>
  readonly onImported: () => void
  readonly onClose: () => void
}

interface Chosen {
  readonly file: File
  readonly head: Head
  readonly targets: Targets
}

const words = ({ inserted, rows, skipped, updated }: Imported, table: string) =>
  inserted === undefined
    ? `${plural(rows, "row")} imported into ${table}`
    : `${plural(rows, "row")} read: ${count(inserted)} inserted, ${count(updated ?? 0)} updated, ${count(skipped ?? 0)} skipped`

/** Rows of a file: all of them are written, or none. */
export const ImportForm = ({ columns, onClose, onImported, relation }: ImportFormProps) => {
  const id = useId()
  const usable = columns.filter(({ generated }) => generated === null)
  const [chosen, setChosen] = useState<Chosen>()
  const [emptyIsNull, setEmptyIsNull] = useState(true)
  const [wanted, setConflict] = useState<Conflict>()
  const [part, setPart] = useState(0)
  const [fault, setFault] = useState<Fault>()
  const running = useRef<AbortController>(null)
  useEffect(() => () => running.current?.abort(new Error("The import was cancelled")), [])
  const nullText = emptyIsNull ? "" : "NULL"
  // The columns of its key may go to no column of the file any more.
  const conflict =
    wanted?.columns.every((name) => chosen?.targets.includes(name) === true) === true ? wanted : undefined

  const choose = (file: File | undefined, format?: Format) => {
    if (file === undefined) return
    setFault(undefined)
    readHead(file, format).then((head) => {
      const names = usable.map(({ name }) => name)
      setChosen({ file, head, targets: targetsOf(head.names, names) })
    }, toastError)
  }
  const run = (): Promise<unknown> | undefined => {
    if (chosen === undefined) return undefined
    const controller = new AbortController()
    running.current = controller
    setFault(undefined)
    setPart(0)
    const given = {
      ...chosen,
      relation,
      columns: usable,
      nullText,
      conflict,
      signal: controller.signal,
      onProgress: setPart
    }
    return importRows(given).then(
      (imported) => {
        toast(words(imported, relation.name))
        onImported()
        onClose()
      },
      async (error: unknown) => {
        // It may have been written all the same: an import that is cancelled while it is committed, or without a response.
        if (controller.signal.aborted || error instanceof NoResponse) onImported()
        setFault(await faultOf(error, chosen.file, chosen.head))
        throw error
      }
    )
  }
  const aimed = chosen?.targets.filter((target) => target !== undefined).length ?? 0
  return (
    <FormDialog
      title={`Import CSV into ${relation.name}`}
      verb="Import"
      failed="Nothing was imported"
      wide
      disabled={chosen === undefined || aimed === 0 || chosen.head.rows.length === 0}
      run={run}
      onClose={onClose}
    >
      {(busy) => (
        <>
          {/* The label is the target for files that are dropped; the input has the keyboard. */}
          <label
            className="csv-drop"
            htmlFor={id}
            onDragOver={(event) => event.preventDefault()}
            onDrop={(event) => {
              event.preventDefault()
              if (!busy) choose(event.dataTransfer.files[0])
            }}
          >
            <input
              id={id}
              type="file"
              accept=".csv,.tsv,.txt,text/csv"
              aria-label="File"
              disabled={busy}
              onChange={(event) => {
                choose(event.target.files?.[0])
                // The same file can be chosen again after it was corrected.
                event.target.value = ""
              }}
            />
            {chosen === undefined ? (
              <span>
                <b>Choose a file</b> or drop it here. Its first line has the names of the columns.
              </span>
            ) : (
              <span>
                <b>{chosen.file.name}</b>, {bytes(chosen.file.size)}. Choose another…
              </span>
            )}
          </label>
          {chosen === undefined ? null : (
            <>
              <FilePreview
                head={chosen.head}
                columns={usable}
                targets={chosen.targets}
                nullText={nullText}
                onFormat={(format) => choose(chosen.file, format)}
                onTargets={(targets) => setChosen({ ...chosen, targets })}
              />
              <Switch checked={emptyIsNull} onChange={setEmptyIsNull}>
                Empty cells are NULL
              </Switch>
              {relation.table === undefined ? null : (
                <ConflictFields
                  table={relation.table}
                  targets={chosen.targets}
                  conflict={conflict}
                  onChange={setConflict}
                />
              )}
              <p className="hint">
                {emptyIsNull ? "Empty cells in quotes are empty texts." : "The word NULL without quotes is NULL."} All
                rows are written, or none. Columns that are left out get their defaults.
              </p>
            </>
          )}
          {busy ? (
            <div className="progress">
              <progress max={1} value={part} aria-label="Sent" />
              {part < 1 ? `${Math.floor(part * 100)} % sent` : "Sent; PostgreSQL is writing"}
            </div>
          ) : fault === undefined ? null : (
            <div className="csv-fault">
              <p>Line {fault.line} of the file:</p>
              <pre>{fault.text}</pre>
            </div>
          )}
        </>
      )}
    </FormDialog>
  )
}
