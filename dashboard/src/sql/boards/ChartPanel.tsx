import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { Skeleton } from "../../ui/Empty.tsx"
import { plural } from "../../ui/format.ts"
import { List } from "../../ui/List.tsx"
import { Menu, MenuItem, Popover } from "../../ui/Popover.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { codeOf } from "../../wire/ApiError.ts"
import { place } from "../../wire/place.ts"
import { type QueryContent, readItem } from "../../workspace/items.ts"
import { axesOf } from "../chart/columns.ts"
import { Chart } from "../chart/Chart.tsx"
import { valueText } from "../result/copies.ts"
import type { Result } from "../result/rows.ts"
import { runStatements } from "../run.ts"

interface PanelActions {
  readonly wide: boolean
  readonly onWide: () => void
  readonly onEarlier: (() => void) | undefined
  readonly onLater: (() => void) | undefined
  readonly onRemove: () => void
}

interface ChartPanelProps {
  /** Of the query. */
  readonly id: number
  /** Whether the board is. */
  readonly shared: boolean
  /** Undefined: the board can't be changed. */
  readonly actions: PanelActions | undefined
}

const rowLimit = 1000
/** Rows of a result that has no chart. */
const shownRows = 50

const run = async ({ sql, values = {} }: QueryContent, signal: AbortSignal): Promise<Result | undefined> => {
  const parameters = Object.keys(values)
    .map(Number)
    .toSorted((a, b) => a - b)
  const statement = { text: sql.trim().replace(/;$/, ""), from: 0, parameters }
  // Read-only, also for a query that a colleague saved.
  const { results } = await runStatements([statement], {
    values,
    writes: false,
    rowLimit,
    viewer: place.viewer,
    signal
  })
  return results[0]
}

const Shown = ({ chart, result }: { chart: QueryContent["chart"]; result: Result }) => {
  if (axesOf(result, chart ?? {}).y !== undefined && chart?.on !== false)
    return <Chart result={result} choice={{ ...chart, on: true }} />
  const names = Array.from(new Set(result.columns.map(({ name }) => name)))
  return (
    <div className="board-rows">
      <List
        label="Rows"
        columns={names.map((name) => ({
          name,
          cell: (row: Readonly<Record<string, unknown>>) => valueText(row[name])
        }))}
        rows={Array.from(result.rows.slice(0, shownRows))}
        keyOf={(row) => JSON.stringify(row)}
      />
      {result.rows.length > shownRows ? <p className="hint">The first {plural(shownRows, "row")}.</p> : null}
    </div>
  )
}

/** The result of a saved query, read when the board is opened. */
export const ChartPanel = ({ actions, id, shared }: ChartPanelProps) => {
  const query = useQuery({
    queryKey: ["workspace", "item", id],
    queryFn: ({ signal }) => readItem(id, signal)
  })
  const content = query.data !== undefined && "sql" in query.data.content ? query.data.content : undefined
  const result = useQuery({
    queryKey: ["boards", id, query.data?.revision],
    queryFn: async ({ signal }) => (content === undefined ? null : ((await run(content, signal)) ?? null)),
    enabled: content !== undefined,
    staleTime: 60_000,
    retry: false
  })
  const name = query.data?.name ?? `Query ${id}`
  return (
    <section className="part board-chart" aria-label={name}>
      <header>
        <h3>{name}</h3>
        {shared && query.data?.shared === false ? <span className="badge warn">only you see this chart</span> : null}
        <span className="grow" />
        {content === undefined ? null : (
          <Link to="/sql" search={{ saved: String(id) }} className="button quiet">
            Open query
          </Link>
        )}
        {actions === undefined ? null : (
          <Popover icon="more" label={`Change the chart ${name}`} kind="quiet" align="end">
            {(close) => {
              const item = (words: string, go: (() => void) | undefined, danger = false) =>
                go === undefined ? null : (
                  <MenuItem
                    danger={danger}
                    onClick={() => {
                      close()
                      go()
                    }}
                  >
                    {words}
                  </MenuItem>
                )
              return (
                <Menu>
                  {item(actions.wide ? "Half width" : "Full width", actions.onWide)}
                  {item("Move before the chart before", actions.onEarlier)}
                  {item("Move behind the next chart", actions.onLater)}
                  {item("Remove from the board", actions.onRemove, true)}
                </Menu>
              )
            }}
          </Popover>
        )}
      </header>
      {query.data === undefined && query.isError ? (
        codeOf(query.error) === "WORKSPACE_ITEM_NOT_FOUND" ? (
          <p className="hint">The query of this chart was removed, or its owner does not share it.</p>
        ) : (
          <Problem error={query.error} title="The query could not be read" onRetry={() => void query.refetch()} />
        )
      ) : result.isError ? (
        <Problem error={result.error} title="PostgreSQL refused the query" onRetry={() => void result.refetch()} />
      ) : result.data == null ? (
        <Skeleton lines={[100, 80, 90]} />
      ) : (
        <Shown chart={content?.chart} result={result.data} />
      )}
    </section>
  )
}
