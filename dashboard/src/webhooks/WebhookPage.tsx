import "./webhooks.css"
import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate, useParams } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Skeleton } from "../ui/Empty.tsx"
import { Facts } from "../ui/page/Facts.tsx"
import { Gone } from "../ui/page/Gone.tsx"
import { plural } from "../ui/format.ts"
import { MainOnly } from "../ui/page/MainOnly.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast, toastError } from "../ui/toast.ts"
import { When } from "../ui/page/When.tsx"
import { call } from "../wire/call.ts"
import { codeOf } from "../wire/ApiError.ts"
import { Deliveries } from "./Deliveries.tsx"
import { healthOf, nameOf, tableOf } from "./health.ts"
import { type Sent, useWebhook, type Webhook } from "./queries.ts"
import { Result } from "./Result.tsx"
import { Signature } from "./Signature.tsx"
import { WebhookForm } from "./WebhookForm.tsx"
import { useCrumb } from "../ui/page/crumb.ts"

const NoWebhook = () => (
  <Gone icon="webhook" title="No such webhook">
    <Link className="button" to="/webhooks">
      All webhooks
    </Link>
  </Gone>
)

const factsOf = (webhook: Webhook) =>
  [
    ["Table", <code key="table">{tableOf(webhook)}</code>],
    ["Events", webhook.events.join(", ")],
    ["Receiver", <code key="url">{webhook.url}</code>],
    ["Body", webhook.format === "svc" ? "of this service" : "of Supabase's database webhooks"],
    ["Signed", webhook.has_secret ? "yes" : "no: set a secret, so that the receiver can verify deliveries"],
    // Values are often credentials: the form has them.
    ["Headers", Object.keys(webhook.headers).length === 0 ? "none" : Object.keys(webhook.headers).join(", ")],
    ["Waiting", plural(webhook.waiting, "message")],
    ["Created", <When key="created" at={webhook.created_at} />]
  ] as const

const Details = ({ webhook }: { webhook: Webhook }) => {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [open, setOpen] = useState<"form" | "delete">()
  const [busy, setBusy] = useState<"test" | "active">()
  const [sent, setSent] = useState<Sent>()
  const { active, id } = webhook
  const { kind, why, words } = healthOf(webhook)
  const read = () => client.invalidateQueries({ queryKey: ["webhooks"] })
  const during = async (what: "test" | "active", run: () => Promise<unknown>) => {
    setBusy(what)
    await run().catch(toastError)
    await read()
    setBusy(undefined)
  }
  const test = () => during("test", async () => setSent(await call("POST /api/webhooks/:id/test", { params: { id } })))
  const activate = () =>
    during("active", async () => {
      await call("PATCH /api/webhooks/:id", { params: { id }, payload: { active: !active } })
      toast(active ? "Webhook paused" : "Webhook enabled")
    })
  return (
    <div className="page">
      <div className="page-head">
        <h2>{nameOf(webhook)}</h2>
        <span className={`badge ${kind}`}>{words}</span>
        <CopyRequest path={`/api/webhooks/${id}/logs`} />
        <Button onClick={() => setOpen("delete")} kind="danger">
          Delete
        </Button>
        <Button busy={busy === "active"} onClick={() => void activate()}>
          {active ? "Pause" : "Enable"}
        </Button>
        <Button onClick={() => setOpen("form")}>Edit</Button>
        <Button kind="main" icon="play" busy={busy === "test"} onClick={() => void test()}>
          Send test
        </Button>
      </div>
      <MainOnly>Webhooks watch the main database; a write to a branch sends nothing.</MainOnly>
      {why === undefined ? null : <p className="note">{why}</p>}
      {sent === undefined ? null : <Result what="The test was sent" sent={sent} />}
      <Facts facts={factsOf(webhook)} />
      {webhook.has_secret ? <Signature /> : null}
      <Deliveries webhook={id} watched={active} />
      {open === "form" ? (
        <WebhookForm
          webhook={webhook}
          onClose={() => setOpen(undefined)}
          onSaved={() => {
            toast("Webhook changed")
            void read()
            setOpen(undefined)
          }}
        />
      ) : null}
      {open === "delete" ? (
        <Confirm
          title={`Delete ${nameOf(webhook)}?`}
          verb="Delete webhook"
          name={webhook.name === "" ? undefined : webhook.name}
          onClose={() => setOpen(undefined)}
          run={async () => {
            await call("DELETE /api/webhooks/:id", { params: { id } })
            toast("Webhook deleted")
            await navigate({ to: "/webhooks" })
            client.removeQueries({ queryKey: ["webhooks", id] })
            await client.invalidateQueries({ queryKey: ["webhooks"], exact: true })
          }}
        >
          <p>
            Its log and {plural(webhook.waiting, "message")} that wait for delivery go with it. This can&apos;t be
            undone.
          </p>
        </Confirm>
      ) : null}
    </div>
  )
}

export const WebhookPage = () => {
  const params = useParams({ strict: false }) as { readonly webhook?: string }
  const valid = /^[1-9]\d{0,9}$/.test(params.webhook ?? "")
  return valid ? <Existing key={params.webhook} id={Number(params.webhook)} /> : <NoWebhook />
}

const Existing = ({ id }: { id: number }) => {
  const webhook = useWebhook(id)
  useCrumb(id, webhook.data === undefined ? undefined : nameOf(webhook.data))
  if (codeOf(webhook.error) === "WEBHOOK_NOT_FOUND") return <NoWebhook />
  if (webhook.data !== undefined) return <Details webhook={webhook.data} />
  return (
    <div className="page">
      {webhook.isError ? (
        <Problem error={webhook.error} title="The webhook could not be read" onRetry={() => void webhook.refetch()} />
      ) : (
        <Skeleton lines={[40, 100, 100]} />
      )}
    </div>
  )
}
