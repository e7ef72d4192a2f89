import { useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { plural } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { MainOnly } from "../ui/page/MainOnly.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast, toastError } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import { EnvironmentForm } from "./EnvironmentForm.tsx"
import { type Environment, type Project, useEnvironments } from "./queries.ts"

type Open =
  | { readonly tag: "form"; readonly environment: Environment | undefined }
  | { readonly tag: "delete"; readonly environment: Environment }

interface Actions {
  readonly project: Project
  readonly open: (open: Open) => void
  readonly makeDefault: (environment: Environment) => void
}

const columnsOf = ({ makeDefault, open, project }: Actions): ReadonlyArray<ListColumn<Environment>> => [
  {
    name: "Name",
    cell: ({ deleted_at, is_default, name }) => (
      <span className="named">
        <b>{name}</b>
        {is_default ? <span className="badge accent">default</span> : null}
        {deleted_at === null ? null : <span className="badge bad">deleted</span>}
      </span>
    )
  },
  {
    name: "Schema",
    cell: ({ deleted_at, schema_name }) => (
      <span className="named">
        <code>{schema_name}</code>
        {deleted_at !== null || project.served.includes(schema_name) ? null : (
          <span className="badge" title="Add it to SVC_DB_SCHEMAS and restart, so that /v1/db serves its tables">
            SQL only
          </span>
        )}
      </span>
    )
  },
  {
    name: "Bucket",
    cell: ({ bucket_name }) => (
      <Link to="/storage/$bucket" params={{ bucket: bucket_name }} search={{}}>
        {bucket_name}
      </Link>
    )
  },
  {
    name: "Config",
    cell: ({ config }) => {
      const keys = Object.keys(config)
      return keys.length === 0 ? (
        <span className="faint">none</span>
      ) : (
        <span className="cut" title={JSON.stringify(config, null, 2)}>
          {keys.join(", ")}
        </span>
      )
    }
  },
  {
    name: "Created",
    cell: ({ created_at }) => <When at={created_at} />
  },
  {
    name: "Actions",
    actions: true,
    cell: (environment) =>
      environment.deleted_at !== null ? null : (
        <>
          {environment.is_default ? null : (
            <Button kind="quiet" onClick={() => makeDefault(environment)}>
              Make default
            </Button>
          )}
          <Button kind="quiet" onClick={() => open({ tag: "form", environment })}>
            Edit
          </Button>
          {environment.is_default ? null : (
            <Button kind="quiet" onClick={() => open({ tag: "delete", environment })}>
              Delete
            </Button>
          )}
        </>
      )
  }
]

export const EnvironmentsPage = () => {
  const client = useQueryClient()
  const { environments, project, settings } = useEnvironments()
  const [open, setOpen] = useState<Open>()
  const [deleted, setDeleted] = useState(false)
  const read = () => client.invalidateQueries({ queryKey: ["environments"] })
  const all = environments.data ?? []
  const live = all.filter(({ deleted_at }) => deleted_at === null)
  const shown = deleted ? all : live
  const full = project !== undefined && live.length >= project.limit
  const failed = [settings, environments].find(({ isLoadingError }) => isLoadingError)
  const makeDefault = ({ id, name }: Environment) => {
    call("PATCH /api/environments/:id", { params: { id }, payload: { is_default: true } })
      .then(async () => {
        await read()
        toast(`${name} is the default`)
      })
      .catch(toastError)
  }
  const create = (
    <Button kind="main" icon="plus" onClick={() => setOpen({ tag: "form", environment: undefined })}>
      Create environment
    </Button>
  )
  return (
    <div className="page">
      <div className="page-head">
        <h2>Environments</h2>
        {project === undefined ? null : <CopyRequest path={`/api/projects/${project.id}/environments`} />}
        {all.length > live.length ? (
          <Button kind="quiet" onClick={() => setDeleted(!deleted)}>
            {deleted ? "Hide deleted" : `Show deleted (${all.length - live.length})`}
          </Button>
        ) : null}
        {environments.data === undefined || full || shown.length === 0 ? null : create}
      </div>
      <p className="lead">
        An environment is a schema and a bucket that belong together, so that development and tests have tables and
        files of their own. Flags have environments of their own.
      </p>
      <MainOnly>The list is of the main database; the branch has a copy of the schemas, and the same buckets.</MainOnly>
      {failed !== undefined ? (
        <Problem
          error={failed.error}
          title="The environments could not be read"
          onRetry={() => void failed.refetch()}
        />
      ) : project === undefined || environments.data === undefined ? (
        <Skeleton lines={[100, 100]} />
      ) : shown.length === 0 ? (
        <Empty icon="env" title="No environments" action={create}>
          The first one is the default. Its tables and files are separate from those in <code>public</code>.
        </Empty>
      ) : (
        <>
          <List
            label="Environments"
            columns={columnsOf({ project, open: setOpen, makeDefault })}
            rows={shown}
            keyOf={({ id }) => id}
            faded={({ deleted_at }) => deleted_at !== null}
          />
          {full ? (
            <p className="list-foot hint">
              {plural(live.length, "environment")} of at most {project.limit}: <code>SVC_MAX_ENVIRONMENTS</code> allows
              more after a restart.
            </p>
          ) : null}
        </>
      )}
      {open?.tag === "form" && project !== undefined ? (
        <EnvironmentForm
          project={project}
          environment={open.environment}
          onClose={() => setOpen(undefined)}
          onSaved={() => {
            toast(open.environment === undefined ? "Environment created" : "Environment changed")
            void read()
            setOpen(undefined)
          }}
        />
      ) : null}
      {open?.tag === "delete" ? (
        <Confirm
          title={`Delete ${open.environment.name}?`}
          verb="Delete environment"
          name={open.environment.name}
          onClose={() => setOpen(undefined)}
          run={async () => {
            await call("DELETE /api/environments/:id", { params: { id: open.environment.id } })
            toast("Environment deleted")
            await read()
          }}
        >
          <p>Only the record goes, which can&apos;t be undone.</p>
          <p>
            The schema <code>{open.environment.schema_name}</code> and the bucket{" "}
            <code>{open.environment.bucket_name}</code> stay with everything in them, and reserve the slug until both
            are removed.
          </p>
        </Confirm>
      ) : null}
    </div>
  )
}
