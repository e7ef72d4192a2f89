import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../../ui/Button.tsx"
import { Empty, Skeleton } from "../../ui/Empty.tsx"
import { count, short } from "../../ui/format.ts"
import { List, type ListColumn } from "../../ui/List.tsx"
import { Problem } from "../../ui/Problem.tsx"
import type { Branch } from "../queries.ts"
import { type BranchTable, type Counts, kinds, kindWords, useBranchTables, useCounts } from "./queries.ts"

const badge = { only_in_branch: "good", changed: "warn", only_in_main: "" } as const

const Badges = ({ of }: { of: Counts }) => {
  const some = kinds.filter((kind) => of[kind].count > 0)
  return some.length === 0 ? (
    <span className="soft">the same</span>
  ) : (
    <span className="compare-counts">
      {some.map((kind) => (
        <span key={kind} className={`badge ${badge[kind]}`}>
          {count(of[kind].count)} {kindWords[kind].toLowerCase()}
        </span>
      ))}
    </span>
  )
}

/** Counted when it is asked for: it reads both tables. */
const TableCounts = ({ all, branch, table }: { all: boolean; branch: number; table: BranchTable }) => {
  const [asked, setAsked] = useState(false)
  const counts = useCounts({ branch, schema: table.schema, table: table.table }, all || asked)
  if (table.refusal !== null) return <span className="soft">{table.refusal.error}</span>
  if (counts.data !== undefined) return <Badges of={counts.data} />
  if (counts.isError) return <span className="failed">{counts.error.message}</span>
  return (
    <Button label={`Count the differences of ${table.table}`} busy={counts.isFetching} onClick={() => setAsked(true)}>
      Count
    </Button>
  )
}

const nameOf = ({ schema, table }: BranchTable) => (schema === "public" ? table : `${schema}.${table}`)

const columnsOf = (branch: Branch, all: boolean): ReadonlyArray<ListColumn<BranchTable>> => [
  {
    name: "Table",
    cell: (table) =>
      table.refusal === null ? (
        <Link
          className="row-link"
          to="/branches/$branch/compare"
          params={{ branch: String(branch.id) }}
          search={{ schema: table.schema, table: table.table }}
        >
          {nameOf(table)}
        </Link>
      ) : (
        nameOf(table)
      )
  },
  {
    name: "Rows in the branch",
    end: true,
    cell: ({ branch_rows }) => (branch_rows === null ? "–" : `≈ ${short(branch_rows)}`)
  },
  { name: "Rows in main", end: true, cell: ({ main_rows }) => (main_rows === null ? "–" : `≈ ${short(main_rows)}`) },
  { name: "Differences", cell: (table) => <TableCounts all={all} branch={branch.id} table={table} /> }
]

export const TableList = ({ branch }: { branch: Branch }) => {
  const tables = useBranchTables(branch.id)
  const [all, setAll] = useState(false)
  if (tables.isPending) return <Skeleton lines={[100, 100, 100]} />
  if (tables.isLoadingError) {
    return <Problem error={tables.error} title="The tables could not be read" onRetry={() => void tables.refetch()} />
  }
  if (tables.data.length === 0) {
    return (
      <Empty icon="table" title="No tables">
        Neither the branch nor the main database has tables of yours.
      </Empty>
    )
  }
  return (
    <>
      <p className="lead">
        Choose a table to see which of its rows differ, and to copy rows of the branch back into the main database. A
        table is compared by its key, with the rights of the service.
      </p>
      <div className="compare-bar">
        <Button disabled={all} onClick={() => setAll(true)}>
          Count all differences
        </Button>
        <span className="hint">Reads every row of both databases.</span>
      </div>
      <List
        label="Tables"
        columns={columnsOf(branch, all)}
        rows={tables.data}
        keyOf={({ schema, table }) => `${schema}.${table}`}
        faded={({ refusal }) => refusal !== null}
      />
    </>
  )
}
