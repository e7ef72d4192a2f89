import { lazy, Suspense } from "react"
import type { Catalogue } from "../catalogue/queries.ts"
import type { GridColumn, Relation } from "./grid/columns.ts"
import type { Blocks } from "./rows/blocks.ts"
import type { Edits } from "./rows/edits.ts"
import type { Row } from "./rows/identity.ts"
import type { Refused } from "./rows/refusals.ts"

// None is needed for the first rows, so each is loaded when it is first opened.
const RowForm = lazy(async () => ({ default: (await import("./panel/RowForm.tsx")).RowForm }))
const Review = lazy(async () => ({ default: (await import("./Review.tsx")).Review }))
const DeleteRows = lazy(async () => ({ default: (await import("./DeleteRows.tsx")).DeleteRows }))
const ImportForm = lazy(async () => ({ default: (await import("./csv/ImportForm.tsx")).ImportForm }))
const TableForm = lazy(async () => ({ default: (await import("./alter/TableForm.tsx")).TableForm }))
const DropTable = lazy(async () => ({ default: (await import("./alter/DropTable.tsx")).DropTable }))
const ExportForm = lazy(async () => ({ default: (await import("./csv/ExportForm.tsx")).ExportForm }))

export type SheetDialog = "review" | "delete" | "insert" | "import" | "export" | "alter" | "drop"

interface SheetDialogsProps {
  readonly open: SheetDialog | undefined
  readonly catalogue: Catalogue
  readonly relation: Relation
  readonly blocks: Blocks
  /** All of the table, and those that are shown. */
  readonly all: ReadonlyArray<GridColumn>
  readonly columns: ReadonlyArray<GridColumn>
  readonly edits: Edits
  /** The rows that are to be deleted. */
  readonly deleted: ReadonlyArray<Row>
  /** The row that a new one begins with. */
  readonly like: Row | undefined
  /** Whether closing the form of a new row would lose something. */
  readonly onTyped: (typed: boolean) => void
  readonly onSaved: () => void
  readonly onRefused: (refused: Refused) => void
  /** Another user has changed what was to be saved. */
  readonly onConflict: () => void
  readonly onInserted: () => void
  readonly onImported: () => void
  readonly onDeleted: () => void
  readonly onClose: () => void
}

/** The one that is open over the rows of a table. */
export const SheetDialogs = (props: SheetDialogsProps) => (
  <Suspense>
    <Opened {...props} />
  </Suspense>
)

const Opened = (props: SheetDialogsProps) => {
  const { all, blocks, catalogue, columns, deleted, edits, like, onClose, open, relation } = props
  const { table } = relation
  switch (open) {
    case "insert":
      return (
        <RowForm
          key={JSON.stringify(like)}
          relation={relation}
          columns={all}
          like={like}
          onTyped={props.onTyped}
          onSaved={props.onInserted}
          onClose={onClose}
        />
      )
    case "review":
      return table === undefined ? null : (
        <Review
          catalogue={catalogue}
          table={table}
          edits={edits}
          onSaved={props.onSaved}
          onRefused={props.onRefused}
          onConflict={props.onConflict}
          onClose={onClose}
        />
      )
    case "delete":
      return table === undefined ? null : (
        <DeleteRows
          catalogue={catalogue}
          table={table}
          rows={deleted}
          blocks={blocks}
          onDeleted={props.onDeleted}
          onClose={onClose}
        />
      )
    case "import":
      return <ImportForm relation={relation} columns={all} onImported={props.onImported} onClose={onClose} />
    case "export":
      return <ExportForm relation={relation} blocks={blocks} columns={columns} onClose={onClose} />
    case "alter":
      return table === undefined ? null : <TableForm catalogue={catalogue} table={table} onClose={onClose} />
    case "drop":
      return table === undefined ? null : <DropTable catalogue={catalogue} table={table} onClose={onClose} />
    default:
      return null
  }
}
