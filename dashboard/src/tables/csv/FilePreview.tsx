import { Choose } from "../../ui/Field.tsx"
import { plural } from "../../ui/format.ts"
import type { GridColumn } from "../grid/columns.ts"
import { cellProblem } from "./check.ts"
import { encodings, type Format, type Head, separators, type Targets } from "./source.ts"

interface FilePreviewProps {
  readonly head: Head
  readonly columns: ReadonlyArray<GridColumn>
  readonly targets: Targets
  readonly nullText: string
  readonly onFormat: (format: Format) => void
  readonly onTargets: (targets: Targets) => void
}

const formatChoices = (
  list: ReadonlyArray<readonly [value: string, words: string]>
): ReadonlyArray<readonly [string, string]> => list

/** The first rows of a file, under the columns that they go to. */
export const FilePreview = ({ columns, head, nullText, onFormat, onTargets, targets }: FilePreviewProps) => {
  const columnOf = (at: number) => columns.find(({ name }) => name === targets[at])
  const problems = head.rows.flatMap(({ cells, line }) =>
    cells.flatMap((cell, at) => {
      const column = columnOf(at)
      const problem = column === undefined ? undefined : cellProblem(cell, column, nullText)
      return problem === undefined ? [] : [`Line ${line}, column ${head.names[at] ?? ""}: ${problem}`]
    })
  )
  const aim = (at: number, target: string | undefined) =>
    // A column is filled once: from the one that was chosen last.
    onTargets(targets.map((old, other) => (other === at ? target : old === target ? undefined : old)))
  const missing = columns.filter(
    ({ default: standard, identity, name, nullable }) =>
      !nullable && standard === null && identity === null && !targets.includes(name)
  )
  return (
    <>
      <div className="csv-format">
        <Choose
          label="Separator"
          value={head.separator}
          options={formatChoices(separators)}
          onValue={(separator) => onFormat({ encoding: head.encoding, separator })}
        />
        <Choose
          label="Encoding"
          value={head.encoding}
          options={formatChoices(encodings)}
          onValue={(encoding) => onFormat({ encoding, separator: head.separator })}
        />
      </div>
      {/* It scrolls by itself, so it must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className="csv-preview" tabIndex={0} role="region" aria-label="First rows of the file">
        <table>
          <thead>
            <tr>
              {head.names.map((name, at) => (
                <th key={at} scope="col">
                  <span>{name === "" ? `(column ${at + 1})` : name}</span>
                  <select
                    className="field"
                    aria-label={`Column for ${name === "" ? `column ${at + 1}` : name}`}
                    value={targets[at] ?? ""}
                    onChange={({ target: { value } }) => aim(at, value === "" ? undefined : value)}
                  >
                    <option value="">Leave out</option>
                    {columns.map((column) => (
                      <option key={column.name}>{column.name}</option>
                    ))}
                  </select>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {head.rows.map(({ cells, line }) => (
              <tr key={line}>
                {head.names.map((_, at) => {
                  const cell = cells[at]
                  const column = columnOf(at)
                  const isNull = cell !== undefined && !cell.quoted && cell.text === nullText
                  const problem =
                    cell === undefined || column === undefined ? undefined : cellProblem(cell, column, nullText)
                  return (
                    <td key={at} className={column === undefined ? "out" : problem === undefined ? "" : "wrong"}>
                      {isNull ? <span className="null">NULL</span> : cell?.text}
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {problems.length === 0 && missing.length === 0 ? null : (
        <div role="status">
          <ul className="csv-problems">
            {problems.slice(0, 5).map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
            {problems.length > 5 ? <li>and {plural(problems.length - 5, "more cell")}</li> : null}
            {missing.map(({ name }) => (
              <li key={name}>No column of the file goes to {name}, which accepts no NULL and has no default.</li>
            ))}
          </ul>
        </div>
      )}
    </>
  )
}
