import { type Choice, isChosen, keyText, mayChoose } from "./choice.ts"
import { type Difference, type DifferencePage, type Kind, kindWords } from "./queries.ts"

interface RowTableProps {
  readonly page: Pick<DifferencePage, "columns" | "key">
  readonly rows: ReadonlyArray<Difference>
  readonly choice: Choice
  readonly onRow: (row: Difference) => void
}

/** The sides of a difference that have the row. */
const sidesOf = { only_in_branch: ["branch"], changed: ["branch", "main"], only_in_main: ["main"] } as const
const mark: Readonly<Record<Kind, string>> = { only_in_branch: "good", changed: "warn", only_in_main: "" }

const Value = ({ cut, text }: { text: string | null; cut: boolean }) =>
  text === null ? (
    <span className="faint">null</span>
  ) : (
    <>
      <span className="compare-value">{text}</span>
      {cut ? <span className="faint">…</span> : null}
    </>
  )

const Row = ({ choice, onRow, page, row }: Omit<RowTableProps, "rows"> & { readonly row: Difference }) => {
  const sides = sidesOf[row.kind]
  const differs = new Set(row.differs)
  const cut = new Set(row.cut)
  const chosen = isChosen(choice, row)
  const name = row.key.join(", ")
  return (
    <tbody className={`compare-row ${row.kind} ${chosen ? "chosen" : ""}`}>
      {sides.map((side, at) => (
        <tr key={side} className={side}>
          {at > 0 ? null : (
            <td className="compare-pick" rowSpan={sides.length}>
              <input
                type="checkbox"
                aria-label={`${row.kind === "only_in_main" ? "Delete" : "Copy"} row ${name}`}
                checked={chosen}
                disabled={!mayChoose(choice, row.kind)}
                onChange={() => onRow(row)}
              />
            </td>
          )}
          <th scope="row">
            <span className={`badge ${at === 0 ? mark[row.kind] : ""}`}>
              {row.kind === "changed" ? (side === "branch" ? "branch" : "main now") : kindWords[row.kind].toLowerCase()}
            </span>
          </th>
          {page.columns.map((column) => (
            <td key={column} className={differs.has(column) ? "differs" : ""}>
              {differs.has(column) ? <span className="sr">differs: </span> : null}
              <Value text={row[side]?.[column] ?? null} cut={cut.has(column)} />
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  )
}

/** Rows side by side: a changed row has a line of the branch and one of the main database. */
export const RowTable = ({ rows, ...rest }: RowTableProps) => {
  const { columns, key } = rest.page
  return (
    // It scrolls by itself, so it must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className="compare-rows" role="region" aria-label="Differences" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <td>
              <span className="sr">Choose</span>
            </td>
            <th scope="col">Row</th>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
                {key.columns.includes(column) ? <span className="badge">key</span> : null}
              </th>
            ))}
          </tr>
        </thead>
        {rows.map((row) => (
          <Row key={keyText(row)} row={row} {...rest} />
        ))}
      </table>
    </div>
  )
}
