import { useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { runDdl } from "../../catalogue/ddl.ts"
import type { Catalogue, Table } from "../../catalogue/queries.ts"
import { Confirm } from "../../ui/Confirm.tsx"
import { Switch } from "../../ui/Field.tsx"
import { count } from "../../ui/format.ts"
import { toast } from "../../ui/toast.ts"
import { dropSql } from "./statements.ts"

interface DropTableProps {
  readonly catalogue: Catalogue
  readonly table: Table
  readonly onClose: () => void
}

export const DropTable = ({ catalogue, onClose, table }: DropTableProps) => {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [cascade, setCascade] = useState(false)
  const referring = catalogue.tables.filter(
    (other) =>
      other !== table &&
      other.foreign_keys.some(({ references: to }) => to.schema === table.schema && to.table === table.name)
  )
  return (
    <Confirm
      title={`Drop ${table.name}?`}
      verb="Drop table"
      name={table.name}
      onClose={onClose}
      run={async () => {
        await runDdl([dropSql(table, cascade)])
        toast(`${table.name} dropped`)
        await navigate({ to: "/tables", search: {} })
        await client.invalidateQueries({ queryKey: ["catalogue"] })
      }}
    >
      <p>
        {table.estimated_rows === null ? "All of its rows go" : `About ${count(table.estimated_rows)} rows go`}, with
        its indexes, triggers and policies. This can&apos;t be undone; a backup or a branch has it still.
      </p>
      {referring.length === 0 ? null : (
        <p>
          <b>{referring.map(({ name }) => name).join(", ")}</b> {referring.length === 1 ? "refers" : "refer"} to it.
        </p>
      )}
      <Switch attention checked={cascade} onChange={setCascade}>
        Drop what depends on it, too (cascade)
      </Switch>
      <pre>{dropSql(table, cascade)}</pre>
    </Confirm>
  )
}
