import "./oauth.css"
import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { List, type ListColumn } from "../ui/List.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { SecretOnce } from "../ui/SecretOnce.tsx"
import { toast } from "../ui/toast.ts"
import { Bridge } from "./Bridge.tsx"
import { ClientForm } from "./ClientForm.tsx"
import { type Client, isUnconfigured, kindOf, nameOf, skipsConsent, useClients } from "./queries.ts"
import { SigningKeys } from "./SigningKeys.tsx"
import { Unconfigured } from "./Unconfigured.tsx"

const columns: ReadonlyArray<ListColumn<Client>> = [
  {
    name: "Name",
    cell: (client) => (
      <span className="oauth-name">
        <Link className="row-link" to="/clients/$client" params={{ client: client.client_id }}>
          {nameOf(client)}
        </Link>
        {skipsConsent(client) ? <span className="badge warn">no consent</span> : null}
      </span>
    )
  },
  { name: "Client id", cell: ({ client_id }) => <code className="oauth-id">{client_id}</code> },
  { name: "Kind", cell: kindOf },
  { name: "Scopes", cell: ({ scope }) => <span className="soft">{scope}</span> },
  { name: "Registered", cell: ({ created_at }) => <When at={created_at} none="not known" /> }
]

type Open = { readonly tag: "form" } | { readonly tag: "secret"; readonly secret: string; readonly id: string }

export const ClientsPage = () => {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [open, setOpen] = useState<Open>()
  const clients = useClients()
  const all = clients.data?.pages.flatMap((page) => page.clients) ?? []
  const unconfigured = isUnconfigured(clients.error)
  const register = (
    <Button kind="main" icon="plus" onClick={() => setOpen({ tag: "form" })}>
      Register client
    </Button>
  )
  const show = (id: string) => void navigate({ to: "/clients/$client", params: { client: id } })
  return (
    <div className="page">
      <div className="page-head">
        <h2>OAuth clients</h2>
        <CopyRequest path="/api/oauth2/clients" />
        {unconfigured ? null : register}
      </div>
      {unconfigured ? null : (
        <p className="lead">
          Apps that sign users in with accounts of this service, and programs with tokens of their own.
        </p>
      )}
      {clients.isPending ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : unconfigured ? (
        <Unconfigured />
      ) : clients.isLoadingError ? (
        <Problem error={clients.error} title="The clients could not be read" onRetry={() => void clients.refetch()} />
      ) : all.length === 0 ? (
        <Empty icon="client" title="No clients" action={register}>
          Each app that signs users in is registered with the addresses to which they return.
        </Empty>
      ) : (
        <>
          <List label="OAuth clients" columns={columns} rows={all} keyOf={({ client_id }) => client_id} />
          {clients.hasNextPage ? (
            <Button busy={clients.isFetchingNextPage} onClick={() => void clients.fetchNextPage()}>
              Show more
            </Button>
          ) : null}
        </>
      )}
      {unconfigured ? null : <Bridge />}
      <SigningKeys />
      {open?.tag === "form" ? (
        <ClientForm
          client={undefined}
          onClose={() => setOpen(undefined)}
          onSaved={({ client_id }, secret) => {
            void queries.invalidateQueries({ queryKey: ["oauth2", "clients"] })
            toast("Client registered")
            if (secret === null) show(client_id)
            else setOpen({ tag: "secret", secret, id: client_id })
          }}
        />
      ) : null}
      {open?.tag === "secret" ? (
        <SecretOnce title="The client was registered" secret={open.secret} onClose={() => show(open.id)}>
          Its secret is shown only now. Keep it on the app&apos;s server, never in the app or a repository.
        </SecretOnce>
      ) : null}
    </div>
  )
}
