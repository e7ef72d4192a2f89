import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { count } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { MainOnly } from "../ui/page/MainOnly.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast } from "../ui/toast.ts"
import { NewFunction } from "./NewFunction.tsx"
import { type FunctionEntry, stateOf, useFeatures, useFunctions } from "./queries.ts"
import { Secrets } from "./Secrets.tsx"
import "./functions.css"

const columns: ReadonlyArray<ListColumn<FunctionEntry>> = [
  {
    name: "Name",
    cell: ({ name }) => (
      <Link className="row-link" to="/functions/$function" params={{ function: name }}>
        {name}
      </Link>
    )
  },
  {
    name: "State",
    cell: (entry) => {
      const [kind, words] = stateOf(entry)
      return (
        <span className={`badge ${kind}`} title={entry.problem ?? undefined}>
          {words}
        </span>
      )
    }
  },
  {
    name: "Version",
    cell: ({ source, version }) => (source === "folder" ? <span className="soft">of the folder</span> : `v${version}`)
  },
  { name: "Calls", end: true, cell: ({ calls }) => count(calls) },
  {
    name: "Errors",
    end: true,
    cell: ({ errors }) => (errors > 0 ? <span className="badge bad">{count(errors)}</span> : count(errors))
  },
  { name: "Deployed", cell: ({ updated_at }) => <When at={updated_at} none="–" /> },
  { name: "By", cell: ({ created_by }) => <span className="soft">{created_by ?? "–"}</span> }
]

const NoDeno = () => (
  <Empty icon="code" title="Deno is not installed">
    Functions are code of yours in TypeScript, which Deno runs beside the service. Install it in the directory of the
    service and restart: <code className="install">npm install deno</code> Or set <code>SVC_FUNCTIONS_DENO</code> to the
    program.
  </Empty>
)

export const FunctionsPage = () => {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [creating, setCreating] = useState(false)
  const functions = useFunctions()
  const installed = useFeatures()?.functions !== false
  const create = (
    <Button kind="main" icon="plus" onClick={() => setCreating(true)}>
      Create function
    </Button>
  )
  const rows = functions.data ?? []
  return (
    <div className="page">
      <div className="page-head">
        <h2>Functions</h2>
        <CopyRequest path="/api/functions" />
        {rows.length === 0 || !installed ? null : create}
      </div>
      <p className="lead">
        A function is code of yours that answers HTTP requests, schedules and webhooks, within limits of its own.
      </p>
      <MainOnly>Functions are those of the service, and use its main database.</MainOnly>
      {installed ? null : <NoDeno />}
      {functions.isPending ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : functions.isLoadingError ? (
        <Problem
          error={functions.error}
          title="The functions could not be read"
          onRetry={() => void functions.refetch()}
        />
      ) : rows.length > 0 ? (
        <>
          <List label="Functions" columns={columns} rows={rows} keyOf={({ name }) => name} />
          <p className="hint function-note">Calls and errors are counted since the service has started.</p>
        </>
      ) : installed ? (
        <Empty icon="code" title="No functions" action={create}>
          Send a mail when an order is paid, receive a payment provider&apos;s webhook, call another API with a secret.
        </Empty>
      ) : null}
      <Secrets />
      {creating ? (
        <NewFunction
          taken={rows.map(({ name }) => name)}
          onClose={() => setCreating(false)}
          onCreated={(name) => {
            toast("Function created")
            void client.invalidateQueries({ queryKey: ["functions"] })
            void navigate({ to: "/functions/$function", params: { function: name } })
          }}
        />
      ) : null}
    </div>
  )
}
