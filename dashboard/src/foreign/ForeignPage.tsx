import "./foreign.css"
import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { quoteName } from "../catalogue/names.ts"
import { useSettings, valuesOf } from "../catalogue/settings.ts"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { plural } from "../ui/format.ts"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { MainOnly } from "../ui/page/MainOnly.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import { ImportForm } from "./ImportForm.tsx"
import { MappingForm } from "./MappingForm.tsx"
import { useForeign } from "./queries.ts"
import { type ServerAct, ServerCard } from "./ServerCard.tsx"
import { ServerForm } from "./ServerForm.tsx"

type Open = { readonly tag: "server" } | ServerAct

export const ForeignPage = () => {
  const client = useQueryClient()
  const foreign = useForeign()
  const settings = useSettings()
  const served = valuesOf(settings.data ?? [], "SVC_DB_SCHEMAS")
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const read = () =>
    Promise.all(["foreign", "catalogue"].map((queryKey) => client.invalidateQueries({ queryKey: [queryKey] })))
  const done = (words: string, next?: Open) => {
    toast(words)
    void read()
    setOpen(next)
  }
  const add = (
    <Button kind="main" icon="plus" onClick={() => setOpen({ tag: "server" })}>
      Add server
    </Button>
  )
  const servers = foreign.data?.wrappers ?? []
  return (
    <div className="page">
      <div className="page-head">
        <h2>Foreign data</h2>
        <CopyRequest path="/api/sql/fdw" />
        {servers.length === 0 ? null : add}
      </div>
      <p className="lead">
        Tables of another PostgreSQL, used here as if they were local: joined in SQL, read and written by{" "}
        <code>/v1/db</code>. They have no row-level security, so imported ones are closed to anon keys and signed-in
        users.
      </p>
      <MainOnly>
        The list is of the main database. On the branch, foreign tables write to the very same server.
      </MainOnly>
      {foreign.isPending ? (
        <Skeleton lines={[100, 100]} />
      ) : foreign.isLoadingError ? (
        <Problem
          error={foreign.error}
          title="The foreign servers could not be read"
          onRetry={() => void foreign.refetch()}
        />
      ) : servers.length === 0 ? (
        <Empty icon="fdw" title="No foreign servers" action={add}>
          Three steps: where the other database is, a login, and the schema to import.
        </Empty>
      ) : (
        <div className="foreign-servers">
          {servers.map((server) => (
            <ServerCard
              key={server.server_name}
              server={server}
              tables={foreign.data.foreignTables.filter(({ server_name }) => server_name === server.server_name)}
              served={served}
              act={setOpen}
            />
          ))}
        </div>
      )}
      {open?.tag === "server" ? (
        <ServerForm
          onClose={close}
          onSaved={({ server_name: server }) => done("Server added", { tag: "mapping", server, step: true })}
        />
      ) : null}
      {open?.tag === "mapping" ? (
        <MappingForm
          server={open.server}
          step={open.step}
          onClose={close}
          onSaved={() =>
            done("Login added", open.step ? { tag: "import", server: open.server, step: true } : undefined)
          }
        />
      ) : null}
      {open?.tag === "import" ? (
        <ImportForm
          server={open.server}
          step={open.step}
          served={served}
          onClose={close}
          onSaved={(tables) => done(`${plural(tables, "table")} imported`)}
        />
      ) : null}
      {open?.tag === "unmap" ? (
        <Confirm
          title={`Remove the login of ${open.role}?`}
          verb="Remove login"
          onClose={close}
          run={async () => {
            await call("DELETE /api/fdw/server/:server/user-mapping/:local_user", {
              params: { server: open.server, local_user: open.role }
            })
            toast("Login removed")
            await read()
          }}
        >
          <p>
            <b>{open.role}</b> can no longer use the tables of {open.server}. To change a password, remove the login and
            add it again.
          </p>
        </Confirm>
      ) : null}
      {open?.tag === "drop" ? (
        <Confirm
          title={`Drop ${open.server}?`}
          verb="Drop server"
          name={open.server}
          onClose={close}
          run={async () => {
            await call("DELETE /api/fdw/server/:server", {
              params: { server: open.server },
              query: open.tables === 0 ? {} : { cascade: "true" }
            })
            toast("Server dropped")
            await read()
          }}
        >
          <p>
            Its logins{open.tables === 0 ? "" : `, its ${plural(open.tables, "foreign table")} and the views on them`}{" "}
            go with it. The other database keeps its rows. This can&apos;t be undone.
          </p>
          <pre>
            drop server {quoteName(open.server)}
            {open.tables === 0 ? "" : " cascade"}
          </pre>
        </Confirm>
      ) : null}
    </div>
  )
}
