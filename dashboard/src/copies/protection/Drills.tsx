import { useQueryClient } from "@tanstack/react-query"
import { Button } from "../../ui/Button.tsx"
import { count, moment } from "../../ui/format.ts"
import { useAction } from "../../ui/FormDialog.tsx"
import { List, type ListColumn } from "../../ui/List.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { toast } from "../../ui/toast.ts"
import { When } from "../../ui/page/When.tsx"
import { request } from "../../wire/request.ts"
import { lagOf } from "./moments.ts"
import { type Drill, drillsPath } from "./queries.ts"

const columns: ReadonlyArray<ListColumn<Drill>> = [
  {
    name: "Result",
    cell: ({ error, status }) =>
      status === "running" ? (
        <span className="progress" role="status">
          <progress aria-label="Trial restore" /> running
        </span>
      ) : (
        <span>
          <span className={status === "passed" ? "badge good" : "badge bad"}>{status}</span>{" "}
          {error === null ? null : <span className="failed">{error}</span>}
        </span>
      )
  },
  { name: "Restored to", cell: ({ target_time }) => moment(target_time) },
  { name: "Took", end: true, cell: ({ seconds }) => (seconds === null ? "–" : lagOf(seconds)) },
  { name: "Tables", end: true, cell: ({ tables }) => (tables === null ? "–" : count(tables)) },
  { name: "Rows", end: true, cell: ({ rows }) => (rows === null ? "–" : count(rows)) },
  { name: "Started", cell: ({ started_at }) => <When at={started_at} /> }
]

/** The button that runs a trial restore now. */
export const RunDrill = ({ running, main = false }: { readonly running: boolean; readonly main?: boolean }) => {
  const client = useQueryClient()
  const { busy, failure, go } = useAction(async () => {
    await request(drillsPath, { method: "POST", payload: {} })
    toast("The trial restore has started")
    await client.invalidateQueries({ queryKey: ["protection", "drills"] })
  })
  return (
    <>
      <Button icon="play" kind={main ? "main" : "plain"} busy={busy} disabled={running} onClick={go}>
        Run a trial restore
      </Button>
      {failure === undefined ? null : <Problem error={failure} title="The trial restore was not started" />}
    </>
  )
}

/** The latest trial restores. */
export const Drills = ({ drills }: { readonly drills: ReadonlyArray<Drill> }) => (
  <section className="part" aria-label="Trial restores">
    <header>
      <h3>Trial restores</h3>
      <RunDrill running={drills[0]?.status === "running"} />
    </header>
    {drills.length === 0 ? (
      <p className="soft">
        None yet. A trial restore proves that the archive can be restored, and is removed afterwards.
      </p>
    ) : (
      <List label="Trial restores" columns={columns} rows={drills.slice(0, 5)} keyOf={({ id }) => id} />
    )}
  </section>
)
