import { useQuery, useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { List, type ListColumn } from "../ui/List.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast, toastError } from "../ui/toast.ts"
import { codeOf } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"
import { type Connection, ConnectionForm } from "./ConnectionForm.tsx"

type Check = Wire["POST /api/connections/:id/test"]["success"]

/** What a test has verified: for most types that is less than that the password is right. */
const verified: Readonly<Record<NonNullable<Check["checked"]>, string>> = {
  query: "signed in",
  tls: "TLS connection; password not verified",
  tcp: "a server responds; password not verified"
}

/** The result of a test. */
const Outcome = ({ check }: { check: Check }) =>
  check.ok ? (
    <span className="named">
      <span className="badge good">reachable</span>
      <span className="soft">
        {[
          check.checked === null ? "" : verified[check.checked],
          check.server_version === null ? "" : `PostgreSQL ${check.server_version}`,
          `${check.latency_ms} ms`
        ]
          .filter((part) => part !== "")
          .join(", ")}
      </span>
    </span>
  ) : (
    <span className="named">
      <span className="badge bad">failed</span>
      <span className="failed">{check.error}</span>
      {check.code === null ? null : <code className="faint">{check.code}</code>}
    </span>
  )

type Open =
  | { readonly tag: "form"; readonly connection: Connection | undefined }
  | { readonly tag: "delete"; readonly connection: Connection }

interface Actions {
  readonly open: (open: Open) => void
  readonly test: (connection: Connection) => void
  readonly encrypt: (connection: Connection) => void
  readonly checks: ReadonlyMap<number, Check | "running">
}

const columnsOf = ({ checks, encrypt, open, test }: Actions): ReadonlyArray<ListColumn<Connection>> => [
  {
    name: "Name",
    cell: ({ name, old_key }) => (
      <span className="named">
        <b>{name}</b>
        {old_key ? <span className="badge warn">old key</span> : null}
      </span>
    )
  },
  {
    name: "Type",
    cell: ({ type }) => (type === null ? <span className="faint">–</span> : <span className="badge">{type}</span>)
  },
  {
    name: "Connection string",
    cell: ({ connection_url, error }) =>
      connection_url === null ? (
        <span className="failed">{error}</span>
      ) : (
        <span className="named">
          <code>{connection_url}</code>
        </span>
      )
  },
  { name: "Changed", cell: ({ updated_at }) => <When at={updated_at} /> },
  {
    name: "Test",
    cell: ({ id }) => {
      const check = checks.get(id)
      return check === undefined ? (
        <span className="faint">not yet</span>
      ) : check === "running" ? (
        <span className="soft" role="status">
          testing…
        </span>
      ) : (
        <Outcome check={check} />
      )
    }
  },
  {
    name: "Actions",
    actions: true,
    cell: (connection) => (
      <>
        <Button busy={checks.get(connection.id) === "running"} onClick={() => test(connection)}>
          Test
        </Button>
        {connection.old_key ? (
          <Button kind="quiet" onClick={() => encrypt(connection)}>
            Re-encrypt
          </Button>
        ) : null}
        <Button kind="quiet" onClick={() => open({ tag: "form", connection })}>
          Edit
        </Button>
        <Button kind="quiet" onClick={() => open({ tag: "delete", connection })}>
          Delete
        </Button>
      </>
    )
  }
]

/** Without a key there is nothing to save with: what to set, and where. */
const NoKey = () => (
  <Empty icon="lock" title="No encryption key">
    Connection strings have passwords, so they are stored encrypted only. Set <code>SVC_ENCRYPTION_KEY</code> to the
    output of <code>openssl rand -base64 32</code> and restart the service. Keep a copy of the key: without it the
    strings can&apos;t be read.
  </Empty>
)

export const ConnectionsPage = () => {
  const client = useQueryClient()
  const [open, setOpen] = useState<Open>()
  const [checks, setChecks] = useState<ReadonlyMap<number, Check | "running">>(new Map())
  const connections = useQuery({
    queryKey: ["connections"],
    queryFn: ({ signal }) => call("GET /api/connections/", { signal })
  })
  const read = () => client.invalidateQueries({ queryKey: ["connections"] })
  const setCheck = (id: number, check: Check | "running" | undefined) =>
    setChecks((all) => {
      const next = new Map(all)
      if (check === undefined) next.delete(id)
      else next.set(id, check)
      return next
    })
  const test = ({ id }: Connection) => {
    setCheck(id, "running")
    call("POST /api/connections/:id/test", { params: { id } }).then(
      (check) => setCheck(id, check),
      (error: unknown) => {
        setCheck(id, undefined)
        toastError(error)
      }
    )
  }
  const encrypt = ({ id }: Connection) => {
    call("PATCH /api/connections/:id", { params: { id }, payload: {} })
      .then(async () => {
        await read()
        toast("Encrypted with the current key")
      })
      .catch(toastError)
  }
  const save = (
    <Button kind="main" icon="plus" onClick={() => setOpen({ tag: "form", connection: undefined })}>
      Save connection
    </Button>
  )
  return (
    <div className="page">
      <div className="page-head">
        <h2>Connections</h2>
        <CopyRequest path="/api/connections" />
        {connections.data === undefined || connections.data.length === 0 ? null : save}
      </div>
      <p className="lead">
        Connection strings of other databases, stored encrypted, to be tested and listed without their passwords. To
        read tables of another PostgreSQL here, add it under <Link to="/foreign">Foreign data</Link>.
      </p>
      {connections.isPending ? (
        <Skeleton lines={[100, 100]} />
      ) : codeOf(connections.error) === "NOT_CONFIGURED" ? (
        <NoKey />
      ) : connections.isLoadingError ? (
        <Problem
          error={connections.error}
          title="The connections could not be read"
          onRetry={() => void connections.refetch()}
        />
      ) : connections.data.length === 0 ? (
        <Empty icon="connection" title="No connections" action={save}>
          Save the connection string of another database, and test whether it is reachable from here.
        </Empty>
      ) : (
        <List
          label="Connections"
          columns={columnsOf({ open: setOpen, test, encrypt, checks })}
          rows={connections.data}
          keyOf={({ id }) => id}
        />
      )}
      {open?.tag === "form" ? (
        <ConnectionForm
          connection={open.connection}
          onClose={() => setOpen(undefined)}
          onSaved={({ id }) => {
            toast(open.connection === undefined ? "Connection saved" : "Connection changed")
            setCheck(id, undefined)
            void read()
            setOpen(undefined)
          }}
        />
      ) : null}
      {open?.tag === "delete" ? (
        <Confirm
          title={`Delete ${open.connection.name}?`}
          verb="Delete connection"
          name={open.connection.name}
          onClose={() => setOpen(undefined)}
          run={async () => {
            await call("DELETE /api/connections/:id", { params: { id: open.connection.id } })
            toast("Connection deleted")
            await read()
          }}
        >
          <p>
            The connection string goes with its password; the other database is not affected. This can&apos;t be undone.
          </p>
        </Confirm>
      ) : null}
    </div>
  )
}
