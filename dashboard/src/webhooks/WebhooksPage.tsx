import "./webhooks.css"
import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { count } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { MainOnly } from "../ui/page/MainOnly.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast } from "../ui/toast.ts"
import { When } from "../ui/page/When.tsx"
import { healthOf, nameOf, outcomeOf, succeeded, tableOf } from "./health.ts"
import { useWebhooks, type Webhook } from "./queries.ts"
import { WebhookForm } from "./WebhookForm.tsx"

/** More are not counted by the service. */
const mostWaiting = 10_000

const columns: ReadonlyArray<ListColumn<Webhook>> = [
  {
    name: "Name",
    cell: (webhook) => (
      <Link className="row-link" to="/webhooks/$webhook" params={{ webhook: String(webhook.id) }}>
        {nameOf(webhook)}
      </Link>
    )
  },
  {
    name: "Health",
    cell: (webhook) => {
      const { kind, why, words } = healthOf(webhook)
      return (
        <span className={`badge ${kind}`} title={why}>
          {words}
        </span>
      )
    }
  },
  { name: "Table", cell: (webhook) => <code>{tableOf(webhook)}</code> },
  { name: "Events", cell: ({ events }) => <span className="soft">{events.join(", ").toLowerCase()}</span> },
  {
    name: "Receiver",
    cell: ({ url }) => (
      <code className="cut" title={url}>
        {url.replace(/^https?:\/\//, "")}
      </code>
    )
  },
  {
    name: "Waiting",
    end: true,
    cell: ({ waiting }) =>
      waiting === 0 ? <span className="faint">0</span> : `${count(waiting)}${waiting >= mostWaiting ? "+" : ""}`
  },
  {
    name: "Last attempt",
    cell: ({ last_attempt }) =>
      last_attempt === null ? (
        <span className="faint">none</span>
      ) : (
        <span>
          <span className={succeeded(last_attempt) ? "" : "failed"}>{outcomeOf(last_attempt)}</span>{" "}
          <span className="soft">
            <When at={last_attempt.created_at} />
          </span>
        </span>
      )
  }
]

export const WebhooksPage = () => {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [creating, setCreating] = useState(false)
  const webhooks = useWebhooks()
  const create = (
    <Button kind="main" icon="plus" onClick={() => setCreating(true)}>
      Create webhook
    </Button>
  )
  const empty = webhooks.data?.length === 0
  return (
    <div className="page">
      <div className="page-head">
        <h2>Webhooks</h2>
        <CopyRequest path="/api/webhooks" />
        {empty ? null : create}
      </div>
      <p className="lead">
        A webhook sends every row change of one table to an HTTP receiver. Changes are recorded in the transaction that
        makes them: no event is lost while the receiver or the service is down.
      </p>
      <MainOnly>Webhooks watch the main database; a write to a branch sends nothing.</MainOnly>
      {webhooks.isPending ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : webhooks.isLoadingError ? (
        <Problem
          error={webhooks.error}
          title="The webhooks could not be read"
          onRetry={() => void webhooks.refetch()}
        />
      ) : empty ? (
        <Empty icon="webhook" title="No webhooks" action={create}>
          Have another system notified of each new order, changed address or deleted file, signed and with retries.
        </Empty>
      ) : (
        <List
          label="Webhooks"
          columns={columns}
          rows={webhooks.data}
          keyOf={({ id }) => id}
          faded={({ active }) => !active}
        />
      )}
      {creating ? (
        <WebhookForm
          webhook={undefined}
          onClose={() => setCreating(false)}
          onSaved={({ id }) => {
            toast("Webhook created")
            void client.invalidateQueries({ queryKey: ["webhooks"] })
            void navigate({ to: "/webhooks/$webhook", params: { webhook: String(id) } })
          }}
        />
      ) : null}
    </div>
  )
}
