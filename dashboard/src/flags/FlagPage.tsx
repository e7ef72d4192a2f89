import "./flags.css"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Skeleton } from "../ui/Empty.tsx"
import { Switch } from "../ui/Field.tsx"
import { Gone } from "../ui/page/Gone.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast, toastError } from "../ui/toast.ts"
import { codeOf } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import { FlagEditor } from "./FlagEditor.tsx"
import { FlagHistory } from "./FlagHistory.tsx"
import { Promote } from "./Promote.tsx"
import { type Environment, environmentOf, environments, type Flag, flagQuery, ifMatch, useSegments } from "./queries.ts"

const EnvironmentTabs = ({ current, flag }: { flag: Flag; current: Environment }) => (
  <nav className="flag-tabs" aria-label="Environments">
    {environments.map((name) => (
      <Link
        key={name}
        to="/flags/$key"
        params={{ key: flag.key }}
        search={{ environment: name }}
        aria-current={name === current ? "page" : undefined}
      >
        {name}
        <span className={`badge ${flag.environments[name].state === "ENABLED" ? "good" : ""}`}>
          {flag.environments[name].state === "ENABLED" ? "enabled" : "disabled"}
        </span>
      </Link>
    ))}
  </nav>
)

const One = ({ environment, flag: read }: { flag: Flag; environment: Environment }) => {
  const client = useQueryClient()
  const navigate = useNavigate()
  const segments = useSegments()
  const [open, setOpen] = useState<"promote" | "delete">()
  /** What this page has saved last: the editor then starts over. What others save does not touch a draft. */
  const [saved, setSaved] = useState<{ readonly flag: Flag; readonly count: number }>()
  // The cache notifies a moment after it was written, when the editor has started already.
  const flag = saved !== undefined && saved.flag.revision >= read.revision ? saved.flag : read
  const became = (next: Flag) => {
    client.setQueryData(flagQuery(flag.key).queryKey, next)
    void client.invalidateQueries({ queryKey: ["flags"] })
    void client.invalidateQueries({ queryKey: ["flag-history", flag.key] })
    setSaved((before) => ({ flag: next, count: (before?.count ?? 0) + 1 }))
  }
  const enabled = flag.environments[environment].state === "ENABLED"
  const toggle = async () => {
    try {
      became(
        await call("PATCH /api/flags/:key/toggle", {
          params: { key: flag.key },
          payload: { environment },
          headers: ifMatch(flag.revision)
        })
      )
      toast(`${flag.key} is ${enabled ? "disabled" : "enabled"} in ${environment}`)
    } catch (error) {
      toastError(error)
      void client.invalidateQueries({ queryKey: ["flag", flag.key] })
    }
  }
  return (
    <div className="page">
      <div className="page-head">
        <h2>
          {flag.key} <span className="badge">{flag.type}</span>
        </h2>
        <CopyRequest path={`/api/flags/${encodeURIComponent(flag.key)}?environment=${environment}`} />
        <Button kind="quiet" icon="trash" onClick={() => setOpen("delete")}>
          Delete
        </Button>
      </div>
      <div className="flag-bar">
        <EnvironmentTabs flag={flag} current={environment} />
        <Switch checked={enabled} onChange={() => void toggle()}>
          {enabled ? "Enabled" : "Disabled"} in {environment}
        </Switch>
        <Button icon="asc" onClick={() => setOpen("promote")}>
          Promote…
        </Button>
      </div>
      <FlagEditor
        key={`${environment} ${saved?.count ?? 0}`}
        flag={flag}
        environment={environment}
        segments={segments.data ?? []}
        onSaved={became}
      />
      <FlagHistory flag={flag} onRestored={became} />
      {open === "promote" ? (
        <Promote flag={flag} from={environment} onClose={() => setOpen(undefined)} onPromoted={became} />
      ) : null}
      {open === "delete" ? (
        <Confirm
          title={`Delete ${flag.key}?`}
          verb="Delete flag"
          name={flag.key}
          onClose={() => setOpen(undefined)}
          run={async () => {
            await call("DELETE /api/flags/:key", { params: { key: flag.key }, headers: ifMatch(flag.revision) })
            toast("Flag deleted")
            client.removeQueries({ queryKey: ["flag", flag.key] })
            void client.invalidateQueries({ queryKey: ["flags"] })
            void navigate({ to: "/flags" })
          }}
        >
          <p>
            It goes from all three environments, and clients that ask for it get their own default. Its history is kept;
            the flag itself can&apos;t be restored.
          </p>
        </Confirm>
      ) : null}
    </div>
  )
}

export const FlagPage = () => {
  const { key } = useParams({ strict: false }) as { readonly key: string }
  const { environment } = useSearch({ strict: false }) as { readonly environment?: unknown }
  const flag = useQuery(flagQuery(key))
  return flag.isPending ? (
    <div className="page">
      <Skeleton lines={[40, 100, 100, 100]} />
    </div>
  ) : flag.isError && codeOf(flag.error) === "FLAG_NOT_FOUND" ? (
    <Gone icon="flag" title="No such flag">
      <Link className="button" to="/flags">
        All flags
      </Link>
    </Gone>
  ) : flag.isLoadingError ? (
    <div className="page">
      <Problem error={flag.error} title="The flag could not be read" onRetry={() => void flag.refetch()} />
    </div>
  ) : (
    <One key={key} flag={flag.data} environment={environmentOf(environment) ?? flag.data.environment} />
  )
}
