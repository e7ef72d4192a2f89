import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate, useParams } from "@tanstack/react-router"
import { useRef, useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { Skeleton } from "../ui/Empty.tsx"
import { bytes, count } from "../ui/format.ts"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Facts } from "../ui/page/Facts.tsx"
import { Gone } from "../ui/page/Gone.tsx"
import { MainOnly } from "../ui/page/MainOnly.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import { Code, type CodeHandle } from "./Code.tsx"
import { Logs } from "./Logs.tsx"
import { type FunctionEntry, isName, stateOf, useFiles, useFunctions } from "./queries.ts"
import { Try } from "./Try.tsx"
import { Versions } from "./Versions.tsx"
import "./functions.css"

const factsOf = ({ calls, created_by, errors, size, updated_at, verify_jwt }: FunctionEntry) =>
  [
    ["Calls", count(calls)],
    ["Errors", count(errors)],
    ["Deployed", <When key="deployed" at={updated_at} none="of the folder" />],
    ["By", created_by ?? "–"],
    ["Size, with imports", size === null ? "–" : bytes(size)],
    [
      "At /functions/v1",
      verify_jwt === null ? "as SVC_FUNCTIONS_VERIFY_JWT says" : verify_jwt ? "with a key or JWT" : "open"
    ]
  ] as const

const Details = ({ entry }: { entry: FunctionEntry }) => {
  const client = useQueryClient()
  const navigate = useNavigate()
  const code = useRef<CodeHandle>(null)
  const [deleting, setDeleting] = useState(false)
  const { entrypoint, name, problem, source, verify_jwt, version } = entry
  const files = useFiles(name, version)
  const [kind, words] = stateOf(entry)
  const deployed = source === "api"
  return (
    <div className="page">
      <div className="page-head">
        <h2>{name}</h2>
        <span className={`badge ${kind}`}>{words}</span>
        <span className="badge">{deployed ? `v${version}` : "of the folder"}</span>
        <CopyRequest path={`/api/functions/${name}/logs`} />
        {deployed ? (
          <Button kind="danger" onClick={() => setDeleting(true)}>
            Delete
          </Button>
        ) : null}
      </div>
      <MainOnly>Functions are those of the service, and use its main database.</MainOnly>
      {problem === null ? null : <p className="note">Its process ended: {problem}</p>}
      <Facts facts={factsOf(entry)} />
      {!deployed ? (
        <p className="note">
          Its code is in the folder of <code>SVC_FUNCTIONS_DIR</code>: a change is read within a second.
        </p>
      ) : files.data !== undefined ? (
        <Code
          ref={code}
          name={name}
          deployed={files.data}
          options={{ entrypoint, ...(verify_jwt === null ? {} : { verify_jwt }) }}
        />
      ) : files.isError ? (
        <Problem error={files.error} title="The code could not be read" onRetry={() => void files.refetch()} />
      ) : (
        <Skeleton lines={[60, 80, 40]} />
      )}
      <div className="function-halves">
        <Try name={name} />
        <Logs
          name={name}
          version={version}
          paths={Object.keys(files.data ?? {})}
          onPlace={(place) => code.current?.show(place)}
        />
      </div>
      {deployed ? <Versions name={name} current={version} /> : null}
      {deleting ? (
        <Confirm
          title={`Delete ${name}?`}
          verb="Delete function"
          name={name}
          onClose={() => setDeleting(false)}
          run={async () => {
            await call("DELETE /api/functions/:name", { params: { name } })
            toast("Function deleted")
            await navigate({ to: "/functions" })
            client.removeQueries({ queryKey: ["functions", name] })
            await client.invalidateQueries({ queryKey: ["functions"], exact: true })
          }}
        >
          <p>All its versions go with it, and calls are 404 from then on. This can&apos;t be undone.</p>
        </Confirm>
      ) : null}
    </div>
  )
}

export const FunctionPage = () => {
  const { function: name = "" } = useParams({ strict: false }) as { readonly function?: string }
  const functions = useFunctions()
  const entry = functions.data?.find((one) => one.name === name)
  if (entry !== undefined) return <Details key={name} entry={entry} />
  if (!isName(name) || functions.isSuccess) {
    return (
      <Gone icon="code" title="No such function">
        <Link className="button" to="/functions">
          All functions
        </Link>
      </Gone>
    )
  }
  return (
    <div className="page">
      {functions.isError ? (
        <Problem
          error={functions.error}
          title="The function could not be read"
          onRetry={() => void functions.refetch()}
        />
      ) : (
        <Skeleton lines={[40, 100, 100]} />
      )}
    </div>
  )
}
