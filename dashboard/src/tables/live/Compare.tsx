import { Button } from "../../ui/Button.tsx"
import { Dialog, DialogBody } from "../../ui/Dialog.tsx"
import { maxCell } from "../rows/identity.ts"
import type { GridColumn } from "../grid/columns.ts"
import { valueShown } from "../grid/values.ts"
import { conflictsOf, type Edits } from "../rows/edits.ts"
import { type ConflictChoice, withChoice } from "./choices.ts"
import type { Live } from "./useLive.ts"

interface CompareProps {
  readonly edits: Edits
  readonly columns: ReadonlyArray<GridColumn>
  readonly theirsOf: Live["theirsOf"]
  /** Decides conflicts. */
  readonly onStep: (next: (edits: Edits) => Edits) => void
  readonly onClose: () => void
}

const Value = ({ type, value }: { type: string; value: unknown }) => {
  if (value === null || value === undefined) return <span className="faint">NULL</span>
  const text = valueShown(value, type)
  return <>{text.length > maxCell ? `${text.slice(0, maxCell)}…` : text}</>
}

/** Changes that are not saved, beside what others have made of the same cells. */
export const Compare = ({ columns, edits, onClose, onStep, theirsOf }: CompareProps) => {
  const onChoose = (choices: ReadonlyArray<ConflictChoice>) => onStep((now) => choices.reduce(withChoice, now))
  const conflicts = Array.from(edits).flatMap(([id, edit]) => {
    const theirs = theirsOf(id)
    const names = conflictsOf(edit, theirs)
    return theirs === undefined || names.length === 0 ? [] : [{ id, edit, theirs, names }]
  })
  const all = (keep: ConflictChoice["keep"]) =>
    onChoose(conflicts.map(({ id, names, theirs }) => ({ id, columns: names, theirs, keep })))
  const gone = conflicts.some(({ theirs }) => theirs === null)
  return (
    <Dialog label="Compare changes" className="wide" onClose={onClose}>
      <DialogBody
        title="Changed by others"
        buttons={
          <>
            <Button onClick={onClose}>Decide later</Button>
            {conflicts.length === 0 ? null : <Button onClick={() => all("theirs")}>Take all of theirs</Button>}
            {conflicts.length === 0 || gone ? null : (
              <Button kind="main" onClick={() => all("mine")}>
                Keep all of mine
              </Button>
            )}
          </>
        }
      >
        {conflicts.length === 0 ? (
          <p>None of your changes has a conflict any more.</p>
        ) : (
          <>
            <p>These cells have changed since you read them. What you keep is saved over theirs.</p>
            {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls */}
            <div className="compare" role="region" aria-label="Conflicts" tabIndex={0}>
              <table>
                <thead>
                  <tr>
                    <th scope="col">Row</th>
                    <th scope="col">Column</th>
                    <th scope="col">Was</th>
                    <th scope="col">Theirs</th>
                    <th scope="col">Mine</th>
                    <th scope="col">Keep</th>
                  </tr>
                </thead>
                <tbody>
                  {conflicts.flatMap(({ edit, id, names, theirs }) =>
                    names.map((name) => {
                      const type = columns.find((column) => column.name === name)?.type ?? ""
                      const choose = (keep: ConflictChoice["keep"]) =>
                        onChoose([{ id, columns: edit.deleted === true ? names : [name], theirs, keep }])
                      const where = `${name} of row ${id}`
                      return (
                        <tr key={`${id} ${name}`}>
                          <td>
                            <code>{id}</code>
                          </td>
                          <th scope="row">{name}</th>
                          <td>
                            <Value type={type} value={edit.row[name]} />
                          </td>
                          <td>{theirs === null ? <i>deleted</i> : <Value type={type} value={theirs[name]} />}</td>
                          <td>
                            {edit.deleted === true ? <i>delete</i> : <Value type={type} value={edit.values[name]} />}
                          </td>
                          <td className="choices">
                            {theirs === null ? null : (
                              <Button label={`Keep mine: ${where}`} icon="check" onClick={() => choose("mine")}>
                                Mine
                              </Button>
                            )}
                            <Button label={`Take theirs: ${where}`} onClick={() => choose("theirs")}>
                              Theirs
                            </Button>
                          </td>
                        </tr>
                      )
                    })
                  )}
                </tbody>
              </table>
            </div>
          </>
        )}
      </DialogBody>
    </Dialog>
  )
}
