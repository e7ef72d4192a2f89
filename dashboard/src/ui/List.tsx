import type { Key, ReactNode } from "react"

export interface ListColumn<Row> {
  readonly name: string
  readonly cell: (row: Row) => ReactNode
  /** Numbers stand right. */
  readonly end?: boolean
  /** Buttons have no visible heading. */
  readonly actions?: boolean
}

interface ListProps<Row> {
  readonly label: string
  readonly columns: ReadonlyArray<ListColumn<Row>>
  readonly rows: ReadonlyArray<Row>
  readonly keyOf: (row: Row) => Key
  readonly faded?: (row: Row) => boolean
}

/** A table of records. On a phone each row becomes a card, whose values stand behind the names of their columns. */
export const List = <Row,>({ columns, faded, keyOf, label, rows }: ListProps<Row>) => (
  <table className="list" aria-label={label}>
    <thead>
      <tr>
        {columns.map(({ actions = false, end = false, name }) => (
          <th key={name} scope="col" className={end ? "end" : ""}>
            {actions ? <span className="sr">{name}</span> : name}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr key={keyOf(row)} className={faded?.(row) === true ? "faded" : ""}>
          {columns.map(({ actions = false, cell, end = false, name }) => (
            <td
              key={name}
              data-name={actions ? "" : name}
              className={`${end ? "end" : ""} ${actions ? "actions" : ""}`}
            >
              {cell(row)}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
)
