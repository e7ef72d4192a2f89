import { useNavigate } from "@tanstack/react-router"
import { Button } from "../Button.tsx"
import { copy } from "../toast.ts"
import { addQuery } from "./queries.ts"

interface SqlActionsProps {
  /** Of the query in the workbench. */
  readonly name: string
  readonly sql: string
}

/** Takes SQL to the workbench, where it is run by hand, or copies it. */
export const SqlActions = ({ name, sql }: SqlActionsProps) => {
  const navigate = useNavigate()
  return (
    <>
      <Button
        icon="sql"
        onClick={() => {
          addQuery(name, sql)
          void navigate({ to: "/sql" })
        }}
      >
        Open in the workbench
      </Button>
      <Button kind="quiet" icon="copy" onClick={() => void copy(sql, "SQL")}>
        Copy SQL
      </Button>
    </>
  )
}
