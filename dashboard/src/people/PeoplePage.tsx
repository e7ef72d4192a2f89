import "./people.css"
import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { List, type ListColumn } from "../ui/List.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { MainOnly } from "../ui/page/MainOnly.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { SecretOnce } from "../ui/SecretOnce.tsx"
import { toast } from "../ui/toast.ts"
import { AddressSearch } from "./AddressSearch.tsx"
import { ImportPeople } from "./ImportPeople.tsx"
import { Elsewhere } from "./Elsewhere.tsx"
import { PersonForm } from "./PersonForm.tsx"
import { isElsewhere, type Listed, nameOf, useMethods, usePeople } from "./queries.ts"

const columns: ReadonlyArray<ListColumn<Listed>> = [
  {
    name: "Person",
    cell: (person) => (
      <span className="named">
        <Link className="row-link" to="/people/$id" params={{ id: person.id }}>
          {nameOf(person)}
        </Link>
        {person.state === "inactive" ? <span className="badge bad">disabled</span> : null}
      </span>
    )
  },
  {
    name: "Address",
    cell: ({ addresses }) =>
      addresses.length === 0 ? (
        <span className="faint">none</span>
      ) : addresses.every(({ verified }) => verified) ? (
        <span className="badge good">verified</span>
      ) : (
        <span className="badge warn">not verified</span>
      )
  },
  { name: "Id", cell: ({ id }) => <code className="cut">{id}</code> },
  { name: "Created", cell: ({ created_at }) => <When at={created_at} none="not known" /> }
]

type Open = { readonly tag: "form" | "import" } | { readonly tag: "link"; readonly link: string; readonly id: string }

export const PeoplePage = () => {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const search = useSearch({ strict: false }) as { readonly address?: unknown }
  const address = typeof search.address === "string" ? search.address : ""
  const [open, setOpen] = useState<Open>()
  const methods = useMethods()
  const elsewhere = isElsewhere(methods.error)
  const people = usePeople(address, methods.isSuccess)
  const all = people.data?.pages.flatMap(({ identities }) => identities) ?? []
  const failure =
    (methods.data === undefined ? methods.error : null) ?? (people.data === undefined ? people.error : null)
  const find = (text: string) =>
    void navigate({ to: "/people", search: text === "" ? {} : { address: text }, replace: true })
  const show = (id: string) => void navigate({ to: "/people/$id", params: { id } })
  const create = (
    <Button kind="main" icon="plus" onClick={() => setOpen({ tag: "form" })}>
      Create person
    </Button>
  )
  const path = address === "" ? "" : `?contains=${encodeURIComponent(address)}`
  return (
    <div className="page">
      <div className="page-head">
        <h2>People</h2>
        <CopyRequest path={`/api/identities${path}`} />
        {elsewhere ? null : (
          <>
            <Button onClick={() => setOpen({ tag: "import" })}>Import</Button>
            {create}
          </>
        )}
      </div>
      {elsewhere ? null : (
        <>
          <p className="lead">
            Who has an account here, and signs in to your apps. Policies know them as <code>auth.uid()</code>.
          </p>
          <MainOnly>People have accounts with the service; a branch has no others.</MainOnly>
        </>
      )}
      {!methods.isSuccess || (people.isSuccess && all.length === 0 && address === "") ? null : (
        <AddressSearch label="Part of an e-mail address" address={address} onSearch={find} />
      )}
      {elsewhere ? (
        <Elsewhere error={methods.error} />
      ) : failure !== null ? (
        <Problem
          error={failure}
          title="The people could not be read"
          onRetry={() => void (methods.isError ? methods : people).refetch()}
        />
      ) : people.isPending ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : all.length > 0 ? (
        <>
          <List
            label="People"
            columns={columns}
            rows={all}
            keyOf={({ id }) => id}
            faded={({ state }) => state === "inactive"}
          />
          {people.hasNextPage ? (
            <p className="list-foot">
              <Button busy={people.isFetchingNextPage} onClick={() => void people.fetchNextPage()}>
                Show more
              </Button>
            </p>
          ) : null}
        </>
      ) : address === "" ? (
        <Empty icon="person" title="No people" action={create}>
          Accounts of those who use your apps.{" "}
          {methods.data?.registration === false ? (
            <>
              Registration is off (<code>SVC_AUTH_REGISTRATION=false</code>): create accounts here.
            </>
          ) : (
            <>
              They sign up at <a href="/auth/register">/auth/register</a> or by <code>POST /api/auth/register</code>, or
              you create them here.
            </>
          )}
        </Empty>
      ) : (
        <Empty icon="search" title="No person found" action={<Button onClick={() => find("")}>Show everyone</Button>}>
          No address contains “{address}”.
        </Empty>
      )}
      {open?.tag === "form" ? (
        <PersonForm
          onClose={() => setOpen(undefined)}
          onCreated={({ id }, link) => {
            void queries.invalidateQueries({ queryKey: ["people", "list"] })
            toast("Person created")
            if (link === null) show(id)
            else setOpen({ tag: "link", link, id })
          }}
        />
      ) : null}
      {open?.tag === "import" ? <ImportPeople onClose={() => setOpen(undefined)} /> : null}
      {open?.tag === "link" ? (
        <SecretOnce title="The person was created" secret={open.link} onClose={() => show(open.id)}>
          Send them this link, which is shown only now. It works once, within an hour, for any person who opens it.
        </SecretOnce>
      ) : null}
    </div>
  )
}
