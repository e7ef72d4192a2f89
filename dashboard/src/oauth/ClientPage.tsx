import "./oauth.css"
import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate, useParams } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Facts } from "../ui/page/Facts.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { SecretOnce } from "../ui/SecretOnce.tsx"
import { toast } from "../ui/toast.ts"
import { codeOf } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import { ClientForm } from "./ClientForm.tsx"
import { type Client, hasSecret, isUnconfigured, kindOf, nameOf, skipsConsent, useClient } from "./queries.ts"
import { Unconfigured } from "./Unconfigured.tsx"
import { useCrumb } from "../ui/page/crumb.ts"

const Items = ({ list }: { list: ReadonlyArray<string> }) =>
  list.length === 0 ? (
    <span className="faint">none</span>
  ) : (
    <ul className="oauth-items">
      {list.map((one) => (
        <li key={one}>
          <code>{one}</code>
        </li>
      ))}
    </ul>
  )

const factsOf = (client: Client) =>
  [
    ["Client id", <code key="id">{client.client_id}</code>],
    ["Kind", kindOf(client)],
    ["Authenticates by", <code key="method">{client.token_endpoint_auth_method}</code>],
    ["Grants", <Items key="grants" list={client.grant_types} />],
    ["Redirect URIs", <Items key="redirects" list={client.redirect_uris} />],
    ["After signing out", <Items key="logouts" list={client.post_logout_redirect_uris} />],
    ["Origins of web pages", <Items key="origins" list={client.allowed_cors_origins} />],
    ["Scopes", client.scope === "" ? <span className="faint">none</span> : client.scope],
    ["Consent", skipsConsent(client) ? "not asked for" : "asked for"],
    ["Registered", <When key="created" at={client.created_at} none="not known" />],
    ["Changed", <When key="updated" at={client.updated_at} none="not known" />]
  ] as const

type Open = { readonly tag: "form" | "rotate" | "delete" } | { readonly tag: "secret"; readonly secret: string }

const Details = ({ client }: { client: Client }) => {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [open, setOpen] = useState<Open>()
  const id = client.client_id
  const name = nameOf(client)
  const read = () => queries.invalidateQueries({ queryKey: ["oauth2"] })
  const close = () => setOpen(undefined)
  return (
    <div className="page">
      <div className="page-head">
        <h2>{name}</h2>
        {skipsConsent(client) ? <span className="badge warn">no consent</span> : null}
        <CopyRequest path={`/api/oauth2/clients/${encodeURIComponent(id)}`} />
        <Button kind="danger" onClick={() => setOpen({ tag: "delete" })}>
          Delete
        </Button>
        {hasSecret(client) ? <Button onClick={() => setOpen({ tag: "rotate" })}>Rotate secret</Button> : null}
        <Button kind="main" onClick={() => setOpen({ tag: "form" })}>
          Edit
        </Button>
      </div>
      <Facts facts={factsOf(client)} />
      {Object.keys(client.metadata).length === 0 ? null : (
        <section className="part" aria-label="Metadata">
          <header>
            <h3>Metadata</h3>
          </header>
          <pre className="oauth-json">{JSON.stringify(client.metadata, null, 2)}</pre>
        </section>
      )}
      {open?.tag === "form" ? (
        <ClientForm
          client={client}
          onClose={close}
          onSaved={() => {
            void read()
            toast("Client changed")
            close()
          }}
        />
      ) : null}
      {open?.tag === "rotate" ? (
        <Confirm
          title={`Rotate the secret of ${name}?`}
          verb="Rotate secret"
          onClose={() => setOpen((now) => (now?.tag === "secret" ? now : undefined))}
          run={async () => {
            const { client_secret } = await call("POST /api/oauth2/clients/:id/rotate-secret", { params: { id } })
            await read()
            setOpen({ tag: "secret", secret: client_secret ?? "" })
          }}
        >
          <p>The app is refused with the old secret at once, until it has the new one. This can&apos;t be undone.</p>
        </Confirm>
      ) : null}
      {open?.tag === "secret" ? (
        <SecretOnce title="The client has a new secret" secret={open.secret} onClose={close}>
          It is shown only now. Keep it on the app&apos;s server, never in the app or a repository.
        </SecretOnce>
      ) : null}
      {open?.tag === "delete" ? (
        <Confirm
          title={`Delete ${name}?`}
          verb="Delete client"
          name={name}
          onClose={close}
          run={async () => {
            await call("DELETE /api/oauth2/clients/:id", { params: { id } })
            toast("Client deleted")
            // The list is read before it is shown.
            await queries.invalidateQueries({ queryKey: ["oauth2", "clients"], refetchType: "all" })
            await navigate({ to: "/clients" })
            queries.removeQueries({ queryKey: ["oauth2", "client", id] })
          }}
        >
          <p>Its tokens are revoked, and its users can no longer sign in there. This can&apos;t be undone.</p>
        </Confirm>
      ) : null}
    </div>
  )
}

export const ClientPage = () => {
  const { client: id = "" } = useParams({ strict: false })
  const client = useClient(id)
  useCrumb(id, client.data === undefined ? undefined : nameOf(client.data))
  if (client.data !== undefined) return <Details client={client.data} />
  return (
    <div className="page">
      {client.isPending ? (
        <Skeleton lines={[40, 100, 100]} />
      ) : isUnconfigured(client.error) ? (
        <Unconfigured />
      ) : codeOf(client.error) === "CLIENT_NOT_FOUND" ? (
        <Empty
          icon="client"
          title="No such client"
          action={
            <Link className="button" to="/clients">
              All clients
            </Link>
          }
        >
          It was deleted, or never existed.
        </Empty>
      ) : (
        <Problem error={client.error} title="The client could not be read" onRetry={() => void client.refetch()} />
      )}
    </div>
  )
}
