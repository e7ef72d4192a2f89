import { useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { bytes, moment } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { Problem } from "../ui/Problem.tsx"
import { SecretOnce } from "../ui/SecretOnce.tsx"
import { toast } from "../ui/toast.ts"
import { When } from "../ui/page/When.tsx"
import { call } from "../wire/call.ts"
import { goToPlace, place } from "../wire/place.ts"
import { BranchForm } from "./BranchForm.tsx"
import { Filling, useOutcome } from "./Filling.tsx"
import { type Branch, useBranches } from "./queries.ts"

type Open =
  | { readonly tag: "form"; readonly branch: Branch | undefined }
  | { readonly tag: "secret"; readonly branch: Branch }
  | { readonly tag: "drop"; readonly branch: Branch }

interface Actions {
  readonly open: (open: Open) => void
  readonly work: (branch: Branch | undefined) => void
}

const isHere = ({ id }: Branch) => String(id) === place.branch

const columnsOf = ({ open, work }: Actions): ReadonlyArray<ListColumn<Branch>> => [
  {
    name: "Label",
    cell: (branch) => (
      <span className="named">
        <b>{branch.label}</b>
        <code className="faint">{branch.id}</code>
        {isHere(branch) ? <span className="badge warn">you work on it</span> : null}
        {branch.status === "active" ? null : <Filling branch={branch} />}
      </span>
    )
  },
  {
    name: "Copy of",
    cell: ({ objects_at, source_backup_id }) =>
      source_backup_id === null ? (
        objects_at === null ? (
          "main"
        ) : (
          <Link to="/protection">main, {moment(objects_at)}</Link>
        )
      ) : (
        <Link to="/backups/$backup" params={{ backup: String(source_backup_id) }}>
          backup {source_backup_id}
        </Link>
      )
  },
  { name: "Size", end: true, cell: ({ size_bytes }) => bytes(size_bytes) },
  { name: "Created", cell: ({ created_at }) => <When at={created_at} /> },
  { name: "Expires", cell: ({ expires_at }) => <When at={expires_at} /> },
  {
    name: "Open to",
    cell: ({ access }) =>
      access === "clients" ? (
        <span className="badge accent">all clients</span>
      ) : (
        <span className="soft">service keys</span>
      )
  },
  {
    name: "Actions",
    actions: true,
    cell: (branch) => (
      <>
        {branch.status !== "active" ? null : isHere(branch) ? (
          <Button onClick={() => work(undefined)}>Back to main</Button>
        ) : (
          <Button onClick={() => work(branch)}>Work on it</Button>
        )}
        {branch.status === "active" ? (
          <Link className="button" to="/branches/$branch/compare" params={{ branch: String(branch.id) }} search={{}}>
            Compare with main
          </Link>
        ) : null}
        {branch.status === "active" ? (
          <Link className="button" to="/branches/$branch/schema" params={{ branch: String(branch.id) }}>
            Changes of the schema
          </Link>
        ) : null}
        <Button kind="quiet" onClick={() => open({ tag: "form", branch })}>
          Edit
        </Button>
        <Button kind="quiet" onClick={() => open({ tag: "drop", branch })}>
          Drop
        </Button>
      </>
    )
  }
]

export const BranchesPage = () => {
  const client = useQueryClient()
  const branches = useBranches()
  const [open, setOpen] = useState<Open>()
  useOutcome(branches.data)
  const read = () => client.invalidateQueries({ queryKey: ["branches"] })
  const work = (next: Branch | undefined) =>
    goToPlace({ ...place.here, branch: next === undefined ? undefined : String(next.id) })
  const create = (
    <Button kind="main" icon="plus" onClick={() => setOpen({ tag: "form", branch: undefined })}>
      Create branch
    </Button>
  )
  const empty = branches.data?.length === 0
  return (
    <div className="page">
      <div className="page-head">
        <h2>Branches</h2>
        <CopyRequest path="/api/branches" />
        {empty ? null : create}
      </div>
      <p className="lead">
        A branch is a full copy of the database, to try a migration, a policy or a deletion on. “Work on it” shows it in
        Tables and the SQL workbench of this tab; apps send its number as <code>X-Svc-Branch</code>. Keys, webhooks and
        flags remain those of the main database.
      </p>
      {branches.isPending ? (
        <Skeleton lines={[100, 100]} />
      ) : branches.isLoadingError ? (
        <Problem
          error={branches.error}
          title="The branches could not be read"
          onRetry={() => void branches.refetch()}
        />
      ) : empty ? (
        <Empty icon="branch" title="No branches" action={create}>
          Try on a copy what you would not dare on the original. The main database stays as it is.
        </Empty>
      ) : (
        <List
          label="Branches"
          columns={columnsOf({ open: setOpen, work })}
          rows={branches.data}
          keyOf={({ id }) => id}
        />
      )}
      {open?.tag === "form" ? (
        <BranchForm
          branch={open.branch}
          onClose={() => setOpen(undefined)}
          onSaved={(branch) => {
            void read()
            if (open.branch === undefined) return setOpen({ tag: "secret", branch })
            toast("Branch changed")
            setOpen(undefined)
          }}
        />
      ) : null}
      {open?.tag === "secret" ? (
        <SecretOnce
          title="The branch is being created"
          secret={open.branch.connection}
          onClose={() => setOpen(undefined)}
        >
          The list shows when it can be used. Connect psql, an ORM or a migration tool with this address. Its password
          is shown only now; the dashboard and the API do not need it.
        </SecretOnce>
      ) : null}
      {open?.tag === "drop" ? (
        <Confirm
          title={`Drop ${open.branch.label}?`}
          verb="Drop branch"
          name={open.branch.label}
          onClose={() => setOpen(undefined)}
          run={async () => {
            await call("DELETE /api/branches/:id", { params: { id: open.branch.id } })
            toast("Branch dropped")
            if (isHere(open.branch)) work(undefined)
            else await read()
          }}
        >
          <p>
            The copy ({bytes(open.branch.size_bytes)}) goes with everything that was changed in it, and its sessions
            end. The main database is not affected. This can&apos;t be undone.
          </p>
        </Confirm>
      ) : null}
    </div>
  )
}
