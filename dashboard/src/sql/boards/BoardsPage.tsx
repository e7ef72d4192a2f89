import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../../ui/Button.tsx"
import { Empty, Skeleton } from "../../ui/Empty.tsx"
import { Field, Switch } from "../../ui/Field.tsx"
import { FormDialog } from "../../ui/FormDialog.tsx"
import { List, type ListColumn } from "../../ui/List.tsx"
import { CopyRequest } from "../../ui/page/CopyRequest.tsx"
import { When } from "../../ui/page/When.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { createItem, type Entry, itemsChanged, longestName, useItems } from "../../workspace/items.ts"

const columns: ReadonlyArray<ListColumn<Entry>> = [
  {
    name: "Name",
    cell: ({ id, name }) => (
      <Link to="/boards/$board" params={{ board: String(id) }} className="row-link named">
        {name}
      </Link>
    )
  },
  { name: "Of", cell: ({ mine, owner }) => (mine ? "you" : owner.label === "" ? `a ${owner.type}` : owner.label) },
  { name: "Seen by", cell: ({ shared }) => (shared ? <span className="badge accent">the team</span> : "you") },
  { name: "Changed", cell: ({ updated_at }) => <When at={updated_at} /> }
]

const BoardForm = ({ onClose }: { onClose: () => void }) => {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [name, setName] = useState("")
  const [shared, setShared] = useState(false)
  return (
    <FormDialog
      title="New board"
      verb="Create board"
      failed="The board was not created"
      disabled={name.trim() === ""}
      run={async () => {
        const { id } = await createItem({ name: name.trim(), shared, content: { charts: [] } })
        await itemsChanged(client)
        void navigate({ to: "/boards/$board", params: { board: String(id) } })
      }}
      onClose={onClose}
    >
      <Field label="Name" value={name} maxLength={longestName} autoComplete="off" onText={setName} />
      <Switch checked={shared} onChange={setShared}>
        Share with the team
      </Switch>
    </FormDialog>
  )
}

/** Boards of charts, one's own and those that are shared. */
export const BoardsPage = () => {
  const boards = useItems({ kind: "board" })
  const [making, setMaking] = useState(false)
  const make = (
    <Button kind="main" icon="plus" onClick={() => setMaking(true)}>
      New board
    </Button>
  )
  return (
    <div className="page">
      <div className="page-head">
        <h2>Boards</h2>
        <CopyRequest path="/api/workspace/items?kind=board" />
        {boards.data === undefined || boards.data.length === 0 ? null : make}
      </div>
      <p className="lead">A board shows the results of saved queries, as charts, whenever it is opened.</p>
      {boards.isPending ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : boards.isLoadingError ? (
        <Problem error={boards.error} title="The boards could not be read" onRetry={() => void boards.refetch()} />
      ) : boards.data?.length === 0 ? (
        <Empty icon="board" title="No boards" action={make}>
          Save a query in the SQL workbench with its chart, and put it on a board that the team opens.
        </Empty>
      ) : (
        <List label="Boards" columns={columns} rows={boards.data ?? []} keyOf={({ id }) => id} />
      )}
      {making ? <BoardForm onClose={() => setMaking(false)} /> : null}
    </div>
  )
}
