import { Link } from "@tanstack/react-router"
import { Button } from "../ui/Button.tsx"
import { Empty } from "../ui/Empty.tsx"
import { type Viewer, viewerName } from "../wire/viewer.ts"
import type { Relation } from "./grid/columns.ts"
import type { SheetDialog } from "./SheetDialogs.tsx"

interface NoRowsProps {
  readonly relation: Relation
  readonly filtered: boolean
  readonly viewer: Viewer
  readonly onClear: () => void
  readonly onOpen: (dialog: SheetDialog) => void
}

/** Why there are no rows, and what to do about it. */
export const NoRows = ({ filtered, onClear, onOpen, relation: { name, schema, table }, viewer }: NoRowsProps) => {
  if (filtered) {
    return (
      <Empty icon="table" title="No row matches" action={<Button onClick={onClear}>Clear filters</Button>}>
        Remove a filter to see more rows.
      </Empty>
    )
  }
  if (viewer.role !== "service_role") {
    return (
      <Empty
        icon="policy"
        title={`As ${viewerName(viewer)} there are no rows`}
        action={
          <Link className="button" to="/policies/$schema/$table" params={{ schema, table: name }}>
            Policies of {name}
          </Link>
        }
      >
        Either there are none, or no policy allows this caller to read any.
      </Empty>
    )
  }
  return (
    <Empty
      icon="table"
      title="No rows yet"
      action={
        table === undefined ? undefined : (
          <div className="next-steps">
            <Button kind="main" icon="plus" onClick={() => onOpen("insert")}>
              Insert a row
            </Button>
            <Button icon="upload" onClick={() => onOpen("import")}>
              Import CSV
            </Button>
          </div>
        )
      }
    >
      Type or paste rows into the first line above, or POST them to /v1/db/{name}.
    </Empty>
  )
}
