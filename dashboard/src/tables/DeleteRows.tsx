import type { Catalogue, Table } from "../catalogue/queries.ts"
import { Confirm } from "../ui/Confirm.tsx"
import { plural } from "../ui/format.ts"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import type { Blocks } from "./rows/blocks.ts"
import { deleteStatement, isConflict } from "./rows/statements.ts"
import { isPlaced, type Row } from "./rows/identity.ts"

interface DeleteRowsProps {
  readonly catalogue: Catalogue
  readonly table: Table
  readonly rows: ReadonlyArray<Row>
  readonly blocks: Blocks
  readonly onDeleted: () => void
  readonly onClose: () => void
}

/** Rows that are deleted without their table's name: they can be seen at once. */
const fewRows = 20

const changedOf = (error: Error) => {
  if (!isConflict(error.message)) throw error
  throw new Error("Nothing was deleted: one of the rows was changed or deleted since it was read. Read the table again")
}

/** The tables whose rows go with those of another one. */
export const cascadesOf = (catalogue: Catalogue, table: Table) =>
  catalogue.tables.filter((other) =>
    other.foreign_keys.some(
      ({ on_delete, references }) =>
        /cascade/i.test(on_delete) && references.schema === table.schema && references.table === table.name
    )
  )

/** Says what goes with the rows: those of tables whose references delete in cascade. */
export const DeleteRows = ({ blocks, catalogue, onClose, onDeleted, rows, table }: DeleteRowsProps) => {
  const cascades = cascadesOf(catalogue, table)
  const what = plural(rows.length, "row")
  const run = async () => {
    const whole = isPlaced(table) ? await Promise.all(rows.map((row) => blocks.whole(row))) : rows
    const { rowCount } = await call("POST /v1/sql", { payload: deleteStatement(table, whole) }).catch(changedOf)
    toast(`${plural(isPlaced(table) ? rows.length : (rowCount ?? 0), "row")} deleted`)
    onDeleted()
  }
  return (
    <Confirm
      title={`Delete ${what} of ${table.name}?`}
      verb={`Delete ${what}`}
      name={rows.length > fewRows || cascades.length > 0 ? table.name : undefined}
      run={run}
      onClose={onClose}
    >
      <p>This can&apos;t be undone.</p>
      {cascades.length === 0 ? null : (
        <p>
          Their rows in <b>{cascades.map(({ name }) => name).join(", ")}</b> are deleted as well: these tables refer to{" "}
          {table.name} with <code>on delete cascade</code>.
        </p>
      )}
    </Confirm>
  )
}
