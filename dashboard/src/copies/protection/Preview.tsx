import { count, moment, plural } from "../../ui/format.ts"
import { Skeleton } from "../../ui/Empty.tsx"
import { List, type ListColumn } from "../../ui/List.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { type ChangesSince, useChanges } from "./queries.ts"

type Change = ChangesSince["tables"][number]

const shown = 12
const number = (value: number) => (value === 0 ? <span className="faint">0</span> : count(value))

const Event = ({ of: { event, rows_before } }: { readonly of: Change }) => {
  const rows = rows_before === null || rows_before === 0 ? "" : `, had about ${plural(rows_before, "row")}`
  return event === "dropped" ? (
    <span className="badge bad">dropped{rows}</span>
  ) : event === "rewritten" ? (
    <span className="badge warn">truncated or rewritten{rows}</span>
  ) : event === "created" ? (
    <span className="badge">created since</span>
  ) : null
}

const columns: ReadonlyArray<ListColumn<Change>> = [
  {
    name: "Table",
    cell: (change) => (
      <span className="named">
        <code>{change.schema === "public" ? change.table : `${change.schema}.${change.table}`}</code>
        <Event of={change} />
      </span>
    )
  },
  { name: "Inserted", end: true, cell: ({ inserted }) => number(inserted) },
  { name: "Updated", end: true, cell: ({ updated }) => number(updated) },
  { name: "Deleted", end: true, cell: ({ deleted }) => number(deleted) }
]

const Counted = ({ of: { complete, counted_from, since } }: { readonly of: ChangesSince }) => (
  <p className="hint">
    {counted_from !== null && Date.parse(counted_from) > Date.parse(since)
      ? `Changes are known only from ${moment(counted_from)} on: earlier ones are missing here. `
      : counted_from !== null && Date.parse(since) - Date.parse(counted_from) > 1000
        ? `Counted from ${moment(counted_from)} on, when the counters were last read before. `
        : ""}
    {complete ? "" : "PostgreSQL lost its counters meanwhile, as in a crash: at least so many. "}A row that was written
    twice counts twice, and one whose transaction was rolled back counts too.
  </p>
)

/** How many rows of each table a restore to a time would take back. */
export const Preview = ({ since }: { readonly since: number | undefined }) => {
  const changes = useChanges(since)
  const { data } = changes
  return (
    <section className="preview" aria-label="Changed since then" aria-busy={changes.isFetching || undefined}>
      <h3>Changed since then</h3>
      {since === undefined ? (
        <p className="soft">Choose a time that can be restored, to see what has changed since.</p>
      ) : changes.isError ? (
        <Problem
          error={changes.error}
          title="The changes could not be counted"
          onRetry={() => void changes.refetch()}
        />
      ) : data === undefined ? (
        <Skeleton lines={[100, 80]} />
      ) : data.counted_from === null ? (
        <p className="soft">The service has just begun to count changes: look again in a minute.</p>
      ) : (
        <>
          {data.tables.length === 0 ? (
            <p>No table has changed since then.</p>
          ) : (
            <List
              label="Changed tables"
              columns={columns}
              rows={data.tables.slice(0, shown)}
              keyOf={({ event, schema, table }) => `${schema}.${table}.${event}`}
            />
          )}
          {data.table_count > shown ? (
            <p className="soft">and {plural(data.table_count - shown, "more table")}</p>
          ) : null}
          <Counted of={data} />
        </>
      )}
    </section>
  )
}
