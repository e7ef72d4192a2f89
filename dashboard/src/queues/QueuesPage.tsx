import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { count } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { MainOnly } from "../ui/page/MainOnly.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast } from "../ui/toast.ts"
import { QueueForm } from "./QueueForm.tsx"
import { ageOf, type Queue, useQueues } from "./queries.ts"

const number = (value: number) => (value === 0 ? <span className="faint">0</span> : count(value))

const columns: ReadonlyArray<ListColumn<Queue>> = [
  {
    name: "Name",
    cell: ({ name }) => (
      <Link className="row-link" to="/queues/$queue" params={{ queue: name }}>
        {name}
      </Link>
    )
  },
  { name: "Messages", end: true, cell: ({ depth }) => number(depth) },
  { name: "In flight", end: true, cell: ({ in_flight }) => number(in_flight) },
  { name: "Oldest", end: true, cell: ({ oldest_age }) => ageOf(oldest_age) },
  {
    name: "Dead letters",
    end: true,
    cell: ({ dead }) => (dead === 0 ? number(dead) : <span className="badge warn">{count(dead)} dead</span>)
  },
  {
    name: "Function",
    cell: ({ consumer }) => (consumer === null ? <span className="faint">–</span> : <code>{consumer.function}</code>)
  },
  { name: "Kind", cell: ({ unlogged }) => <span className="soft">{unlogged ? "unlogged" : "durable"}</span> }
]

export const QueuesPage = () => {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [creating, setCreating] = useState(false)
  const queues = useQueues()
  const create = (
    <Button kind="main" icon="plus" onClick={() => setCreating(true)}>
      Create queue
    </Button>
  )
  const empty = queues.data?.length === 0
  return (
    <div className="page">
      <div className="page-head">
        <h2>Queues</h2>
        <CopyRequest path="/api/queues" />
        {empty ? null : create}
      </div>
      <p className="lead">
        A queue keeps messages in PostgreSQL until a consumer acknowledges them. They are sent in the transaction of the
        rows that they are about.
      </p>
      <MainOnly>These are the queues of the main database; those of a branch are its own.</MainOnly>
      {queues.isPending ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : queues.isLoadingError ? (
        <Problem error={queues.error} title="The queues could not be read" onRetry={() => void queues.refetch()} />
      ) : empty ? (
        <Empty icon="queue" title="No queues" action={create}>
          Have mails sent, pictures resized or orders passed on after a request, by a worker that may fail and try
          again.
        </Empty>
      ) : (
        <List label="Queues" columns={columns} rows={queues.data} keyOf={({ name }) => name} />
      )}
      {creating ? (
        <QueueForm
          queue={undefined}
          onClose={() => setCreating(false)}
          onSaved={({ name }) => {
            toast("Queue created")
            void client.invalidateQueries({ queryKey: ["queues"] })
            void navigate({ to: "/queues/$queue", params: { queue: name } })
          }}
        />
      ) : null}
    </div>
  )
}
