import { Link } from "@tanstack/react-router"
import { Skeleton } from "../ui/Empty.tsx"
import { Facts } from "../ui/page/Facts.tsx"
import { bytes, plural, short } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { Problem } from "../ui/Problem.tsx"
import { type Running, slow, type TableSize, useDatabase, useSizes } from "./database.ts"

const tables: ReadonlyArray<ListColumn<TableSize>> = [
  {
    name: "Table",
    cell: ({ name, schema }) => (
      <Link className="row-link" to="/tables/$schema/$table" params={{ schema, table: name }}>
        {schema === "public" ? name : `${schema}.${name}`}
      </Link>
    )
  },
  { name: "Rows, estimated", end: true, cell: ({ rows }) => short(Number(rows)) },
  { name: "Size with indexes", end: true, cell: (table) => bytes(Number(table.bytes)) }
]

const running: ReadonlyArray<ListColumn<Running>> = [
  { name: "Running for", end: true, cell: ({ seconds }) => `${Number(seconds).toFixed(1)} s` },
  { name: "Session", cell: ({ pid, user }) => `${pid} ${user ?? ""}` },
  {
    name: "Waits for",
    cell: ({ blocked_by, waits }) =>
      blocked_by.length > 0 ? (
        <span className="badge bad">lock of {blocked_by.join(", ")}</span>
      ) : (
        <span className="soft">{waits ?? "–"}</span>
      )
  },
  {
    name: "Statement",
    cell: ({ query }) => (
      <code className="cut" title={query}>
        {query}
      </code>
    )
  }
]

const LargestTables = () => {
  const { data, error, isError, refetch } = useSizes()
  return (
    <section className="part" aria-label="Largest tables">
      <header>
        <h3>Largest tables</h3>
      </header>
      {data === undefined ? (
        isError ? (
          <Problem error={error} title="The tables could not be measured" onRetry={() => void refetch()} />
        ) : (
          <Skeleton lines={[100, 60]} />
        )
      ) : data.length === 0 ? (
        <p className="soft">The database has no tables yet.</p>
      ) : (
        <List
          label="Largest tables"
          columns={tables}
          rows={data}
          keyOf={({ name, schema }) => JSON.stringify([schema, name])}
        />
      )}
    </section>
  )
}

/** Sizes, connections and long statements. */
export const Database = () => {
  const { data, error, isError, refetch } = useDatabase()
  if (data === undefined) {
    return isError ? (
      <Problem error={error} title="The database could not be read" onRetry={() => void refetch()} />
    ) : (
      <Skeleton lines={[100, 60]} />
    )
  }
  const open = data.connections.reduce((sum, { count }) => sum + Number(count), 0)
  return (
    <>
      <section className="part" aria-label="Database">
        <header>
          <h3>Database</h3>
          {isError ? <span className="badge bad">not read since it stopped responding</span> : null}
        </header>
        <Facts
          facts={[
            ["Name", <code key="name">{data.name}</code>],
            ["Size", bytes(Number(data.size))],
            ["Connections", `${open} of ${data.most}`],
            ["Of these", data.connections.map(({ count, state }) => `${count} ${state}`).join(", ") || "none"]
          ]}
        />
      </section>
      <section className="part" aria-label="Statements">
        <header>
          <h3>Statements that take long</h3>
        </header>
        {data.running.length === 0 ? (
          <p className="soft">None runs for more than {plural(slow, "second")}, and none waits for another.</p>
        ) : (
          <List label="Statements that take long" columns={running} rows={data.running} keyOf={({ pid }) => pid} />
        )}
      </section>
      <LargestTables />
    </>
  )
}
