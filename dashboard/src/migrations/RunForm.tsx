import { useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { plural } from "../ui/format.ts"
import { FormDialog } from "../ui/FormDialog.tsx"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import { failedAt, useStatus } from "./queries.ts"

interface RunFormProps {
  /** Names in the order in which they run. */
  readonly pending: ReadonlyArray<string>
  readonly onClose: () => void
}

/** How many of them a run has applied so far. */
const Applied = ({ pending }: Pick<RunFormProps, "pending">) => {
  const status = useStatus(1000)
  const left = status.data?.migrations.filter((one) => one.status === "pending" && pending.includes(one.name)).length
  const applied = pending.length - (left ?? pending.length)
  return (
    <p role="status">
      {applied} of {pending.length} applied. The run goes on if this page is closed.
    </p>
  )
}

/** A failure names the file and the line: a link shows them. */
const Where = ({ error }: { error: unknown }) => {
  const at = failedAt(error)
  return at === undefined ? null : (
    <p>
      <Link
        to="/migrations/$name"
        params={{ name: at.name }}
        search={at.line === undefined ? {} : { line: String(at.line) }}
      >
        {at.line === undefined ? `Show ${at.name}` : `Show line ${at.line} of ${at.name}`}
      </Link>
    </p>
  )
}

export const RunForm = ({ onClose, pending }: RunFormProps) => {
  const client = useQueryClient()
  const run = async () => {
    try {
      const { ran } = await call("POST /api/migrations/idempotent/run")
      toast(ran.length === 0 ? "There was nothing to run" : `${plural(ran.length, "migration")} applied`)
      onClose()
    } finally {
      // A failed run keeps the files before the one that failed.
      for (const queryKey of ["migrations", "catalogue"]) {
        void client.invalidateQueries({ queryKey: [queryKey] })
      }
    }
  }
  return (
    <FormDialog
      title={`Run ${plural(pending.length, "migration")}?`}
      verb="Run"
      failed="The run stopped"
      explain={(error) => <Where error={error} />}
      waits
      run={run}
      onClose={onClose}
    >
      {(busy) => (
        <>
          <p>
            In this order, each as the tool of the history would run it. A file that fails is rolled back if it runs in
            a transaction; what else it has done stays, as do the files before it.
          </p>
          <ol className="migration-names">
            {pending.map((name) => (
              <li key={name}>
                <code>{name}</code>
              </li>
            ))}
          </ol>
          {busy ? <Applied pending={pending} /> : null}
        </>
      )}
    </FormDialog>
  )
}
